"""Documents come back from a finalized model as they were compiled, alone and beside what was built by hand."""

from __future__ import annotations

import pathlib

import gymnasium
import mujoco
import numpy as np
import pytest

from kinema.adapter.view import view
from kinema.compile import compile_model, register_mujoco_attributes
from kinema.compile.world_rows import LiveRows
from kinema.convex.engine import Engine
from kinema.errors import BuildError
from kinema.model import Model, ModelBuilder
from kinema.model.mujoco_fields import model_arrays

SHARED = pathlib.Path(__file__).parents[3] / "shared" / "models"
GYM = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"


def _class_view(source, worlds=3, ground=False, **more):
    template = ModelBuilder()
    template.add_mjcf(source)
    main = ModelBuilder()
    register_mujoco_attributes(main)
    if ground:
        main.add_ground_plane()
    main.replicate(template, worlds, **more)
    model = main.finalize(device="cpu")
    assert len(model.world_classes) == 1
    return model, view(model, model.world_classes[0])


def _same(a, b):
    return [f.name for f in model_arrays() if not np.array_equal(a.arrays[f.name], b.arrays[f.name])]


@pytest.mark.parametrize("name", ["acrobot", "cheetah", "humanoid", "manipulator", "quadruped", "swimmer"])
def test_dm_control(name, dm_control_assets):
    path = dm_control_assets / "suite" / f"{name}.xml"
    model, source = _class_view(path)
    expect = compile_model(path)
    assert _same(source.host, expect) == []
    assert {k: int(v) for k, v in source.host.sizes.items()} == {k: int(v) for k, v in expect.sizes.items()}
    assert source.host.names("joint") == expect.names("joint")
    for part in ("opt", "stat"):
        ours, theirs = vars(getattr(source.host, part)), vars(getattr(expect, part))
        assert all(np.array_equal(ours[key], theirs[key]) for key in theirs)
    # every body, joint and geom has its row among the core arrays, each once
    assert sorted(source.bodies[1:]) == list(range(model.body_count // 3))
    assert (source.joints >= 0).all() and len(set(source.joints[:, 2])) == source.host.njnt
    assert (source.geoms >= 0).all()


@pytest.mark.parametrize("name", ["ant", "half_cheetah", "humanoidstandup", "pusher", "reacher"])
def test_gymnasium(name):
    assert _same(_class_view(GYM / f"{name}.xml")[1].host, compile_model(GYM / f"{name}.xml")) == []


@pytest.mark.parametrize("name", ["agility_cassie/cassie.xml", "robotiq_2f85/2f85.xml", "shadow_hand/right_hand.xml"])
def test_public_robots(name):
    path = next(iter(SHARED.rglob(name)), None)
    if path is None:
        pytest.skip(f"no {name} beside the repository")
    assert _same(_class_view(path)[1].host, compile_model(path)) == []


PENDULUM = """<mujoco><option timestep=".01"/><worldbody><geom name="post" size=".05" pos="0 0 3"/>
  <body name="arm" pos="0 0 1"><joint name="swing" axis="0 1 0" ref="20"/><geom name="bob" size=".1" pos="0 0 -.5"/>
  </body></worldbody><actuator><motor joint="swing"/></actuator>
  <keyframe><key name="up" qpos="1"/></keyframe></mujoco>"""
SLIDER = """<mujoco><worldbody><geom name="rail" size=".02" pos="0 2 0"/><body name="cart" pos="0 1 0"><joint
  name="slide" type="slide" axis="1 0 0"/><geom name="box" type="box" size=".1 .1 .1"/><site name="top"/></body>
  <body name="bar" pos="0 3 0"><joint name="hinge"/><geom size=".1"/></body></worldbody>
  <contact><exclude body1="cart" body2="bar"/></contact>
  <actuator><motor joint="slide"/></actuator><sensor><framepos objtype="site" objname="top"/></sensor></mujoco>"""


def test_shared_ground_joins_a_document():
    """A plane of no world becomes a static geom; everything of the document keeps its number."""
    model, source = _class_view(PENDULUM, ground=True)
    alone = compile_model(PENDULUM)
    host = source.host
    assert host.ngeom == alone.ngeom + 1 and source.geoms[-1] == -2
    assert host.body_weldid[host.geom_bodyid[-1]] == 0
    assert host.geom_type[-1] == mujoco.mjtGeom.mjGEOM_PLANE
    for name in ("body_mass", "jnt_axis", "dof_invweight0", "body_invweight0", "qpos0", "M_colind", "key_qpos"):
        np.testing.assert_allclose(getattr(host, name)[: len(getattr(alone, name))], getattr(alone, name), atol=1e-12)
    assert model.world_count == 3


def test_two_documents_in_one_world():
    """The joined model is the model of both documents side by side, up to the body that stands for the second world."""
    builder = ModelBuilder()
    builder.add_mjcf(PENDULUM)
    builder.add_mjcf(SLIDER)
    model = builder.finalize(device="cpu")
    host = view(model, model.world_classes[0]).host
    both = PENDULUM.replace("</worldbody>", SLIDER.split("<worldbody>")[1].split("</worldbody>")[0] + "</worldbody>")
    tail = SLIDER.split("</worldbody>")[1].replace("</mujoco>", "")
    theirs = mujoco.MjModel.from_xml_string(both.replace("</mujoco>", tail + "</mujoco>").replace('qpos="1"', ""))
    for name in ("nq", "nv", "nu", "njnt", "ngeom", "nsite", "nsensor", "nC", "nD", "nM", "nexclude", "ntree"):
        assert getattr(host, name) == getattr(theirs, name), name
    assert host.nbody == theirs.nbody + 1
    for name in ("qpos0", "dof_M0", "dof_invweight0", "jnt_qposadr", "jnt_dofadr", "jnt_axis", "M_rowadr", "M_colind",
                 "mapM2D", "mapD2M", "actuator_trnid", "tree_dofadr", "dof_treeid"):  # fmt: skip
        np.testing.assert_allclose(getattr(host, name), getattr(theirs, name), rtol=1e-6, atol=1e-9, err_msg=name)
    assert host.stat.meaninertia == pytest.approx(theirs.stat.meaninertia, rel=1e-6)
    ours = {host.names("geom")[g]: host.names("body")[host.geom_bodyid[g]] for g in range(host.ngeom)}
    assert ours["box"] == "cart" and ours["bob"] == "arm"
    held = host.geom_bodyid[host.id("geom", "rail")]  # on a body of no name, since the world's is taken
    assert host.body_weldid[held] == host.body_parentid[held] == 0 and ours["rail"] == ""
    signature = int(host.exclude_signature[0])
    assert {host.names("body")[signature >> 16], host.names("body")[signature & 0xFFFF]} == {"cart", "bar"}
    assert host.names("site")[host.sensor_objid[0]] == "top"


def test_a_model_from_a_file(tmp_path):
    """What was saved gives the same view, also of the arrays as they are now, whose hooks a file cannot hold."""
    model, source = _class_view(PENDULUM, ground=True)
    model.save(tmp_path / "model.npz", model.state())
    loaded, _ = Model.load(tmp_path / "model.npz", device="cpu")
    classes = loaded.world_classes[0]
    for rows in (None, LiveRows(loaded, 2)):
        again = view(loaded, classes, rows)
        assert _same(again.host, source.host) == []
        assert np.array_equal(again.joints, source.joints) and np.array_equal(again.geoms, source.geoms)


def test_the_engine_runs_it_bit_for_bit():
    _, source = _class_view(PENDULUM)
    ours, theirs = (Engine(m, nworld=2, device="cpu") for m in (source.host, compile_model(PENDULUM)))
    for engine in (ours, theirs):
        engine.write("qvel", 0.3)
        engine.write("ctrl", 0.1)
        engine.step(20)
    assert np.array_equal(ours.read("qpos"), theirs.read("qpos"))
    assert abs(ours.read("qpos")[0, 0] - source.host.qpos0[0]) > 1e-3


def test_what_cannot_be_held_is_said():
    builder = ModelBuilder()
    builder.add_mjcf(PENDULUM)
    builder.add_shape_sphere(0, radius=0.1)
    model = builder.finalize(device="cpu")
    with pytest.raises(BuildError, match="added by hand to bodies of an MJCF document"):
        view(model, model.world_classes[0])
    mixed = ModelBuilder()
    mixed.add_mjcf("""<mujoco><worldbody><body name="odd"><joint type="ball"/><joint type="slide"/><geom size=".1"/>
        </body></worldbody></mujoco>""")
    model = mixed.finalize(device="cpu")
    with pytest.raises(BuildError, match="'odd' has a ball joint beside others"):
        view(model, model.world_classes[0])
