"""A compiled model as MuJoCo's MjModel: every field is the compiled one, and MuJoCo runs it to the bit as its own."""

import sys
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from kinema.bridge import to_mjmodel
from kinema.compile import compile_model
from kinema.compile.host_model import KINDS, HostModel
from kinema.compile.join import join
from kinema.errors import BuildError, MissingExtra
from kinema.model.mujoco_fields import model_arrays, model_fields, model_sizes
from kinema.simulation.source import names_of
from tests.conformance.models import SHARED, corpus
from tests.simulation.models import ARM, LIMBS, REMEMBERING

OWN_MEMORY = ("narena", "nbuffer", "signature", "npaths", "paths")
SAMPLE = (
    "dm_control/suite/humanoid.xml", "dm_control/suite/quadruped.xml", "dm_control/suite/manipulator.xml",
    "gymnasium/envs/mujoco/assets/ant.xml", "mujoco_warp/test_data/constraints.xml",
    "shared/menagerie/agility_cassie/scene.xml", "shared/menagerie/wonik_allegro/right_hand.xml",
    "shared/menagerie/google_barkour_vb/scene.xml",
)  # fmt: skip


def differing(m, host) -> list[str]:
    """Fields of an MjModel that are not those of a compiled model."""
    wrong = []
    for name, field in model_fields().items():
        owner = {"option": "opt", "statistic": "stat"}.get(field.group)
        theirs, ours = (getattr(x, owner) if owner else x for x in (m, host))
        if name in OWN_MEMORY or name.endswith("pathadr") or not hasattr(theirs, name):
            continue
        value = getattr(theirs, name)
        want = host.arrays[name] if name in host.arrays else getattr(ours, name)
        if isinstance(value, bytes):
            same = value == np.asarray(want).tobytes()
        else:
            same = np.array_equal(np.asarray(value, float), np.asarray(want, float), equal_nan=True)
        if not same:
            wrong.append(name)
    return wrong


@pytest.mark.parametrize("name", SAMPLE)
def test_every_field_is_the_compiled_one(name):
    path = next((model.path for model in corpus() if model.name == name), None)
    if path is None:
        pytest.skip(f"{name} is not here ({SHARED})")
    host = compile_model(path)
    m = to_mjmodel(host)
    assert differing(m, host) == []
    theirs = mujoco.MjModel.from_xml_path(str(path))
    again = to_mjmodel(as_compiled(theirs))
    judge, ours = mujoco.MjData(theirs), mujoco.MjData(again)
    mujoco.mj_step(theirs, judge, nstep=10)
    mujoco.mj_step(again, ours, nstep=10)
    for field in ("qpos", "qvel", "sensordata", "xpos", "actuator_force"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(judge, field), err_msg=field)


def as_compiled(m: mujoco.MjModel) -> HostModel:
    """MuJoCo's own model as if Kinema had compiled it."""
    arrays = {}
    for field in model_arrays():
        value = getattr(m, field.name)
        arrays[field.name] = np.frombuffer(value, "S1") if isinstance(value, bytes) else np.asarray(value)
    sizes = {field.name: int(getattr(m, field.name)) for field in model_sizes()}
    names = {kind: names_of(m, kind) for kind in KINDS}
    arrays = {name: a.reshape(model_fields()[name].extents(sizes)) for name, a in arrays.items()}
    return HostModel(arrays, sizes, m.opt, m.stat, SimpleNamespace(), m.names.split(b"\0")[0].decode(), [], names)


def test_names_can_be_looked_up():
    m = to_mjmodel(compile_model(LIMBS))
    theirs = mujoco.MjModel.from_xml_string(LIMBS)
    for kind, name in (("body", "shank"), ("joint", "knee"), ("sensor", "imu"), ("tendon", "cord"), ("key", "up")):
        assert getattr(m, kind)(name).id == getattr(theirs, kind)(name).id
    assert m.names == theirs.names


def test_two_documents_in_one_world():
    """MuJoCo takes joined models, and moves each part as it moves alone."""
    without_keyframes = ARM[: ARM.index("<keyframe>")] + "</mujoco>"
    m = to_mjmodel(join(compile_model(LIMBS), compile_model(without_keyframes)))
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, nstep=20)
    alone = [mujoco.MjModel.from_xml_string(xml) for xml in (LIMBS, ARM)]
    alone[1].opt.timestep = alone[0].opt.timestep
    parts = [mujoco.MjData(model) for model in alone]
    for model, part in zip(alone, parts, strict=True):
        mujoco.mj_step(model, part, nstep=20)
    np.testing.assert_allclose(d.qpos, np.concatenate([part.qpos for part in parts]), atol=1e-9)


def test_what_mujoco_has_is_given_back_and_plugins_are_refused():
    m = mujoco.MjModel.from_xml_string(ARM)
    assert to_mjmodel(m) is m
    with pytest.raises(BuildError, match="plugins"):
        to_mjmodel(compile_model(REMEMBERING))


def test_broken_models_are_refused_by_mujoco():
    host = compile_model(ARM)
    host.arrays["body_parentid"] = host.arrays["body_parentid"] + 7
    with pytest.raises(BuildError, match="does not take the model"):
        to_mjmodel(host)
    host.arrays["body_parentid"] = host.arrays["body_parentid"][:1]
    with pytest.raises(BuildError, match="body_parentid has the shape"):
        to_mjmodel(host)


def test_without_mujoco_the_extra_is_named(monkeypatch):
    host = compile_model(ARM)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtra, match=r"kinema\[mujoco\]"):
        to_mjmodel(host)
