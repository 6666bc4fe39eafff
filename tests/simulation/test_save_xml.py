"""save_xml: what is read back is the model as it stood, field by field."""

from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from kinema.compile import compile_model
from kinema.convex.engine import Engine
from kinema.errors import BuildError
from kinema.model.mujoco_fields import model_fields
from kinema.mujoco_enums import Joint
from kinema.simulation.recompute import recompute
from kinema.simulation.save_xml import save_xml
from kinema.simulation.source import document_of, load
from tests.conformance.staged import StagedEngine

MODEL = """
<mujoco model="things">
  <compiler angle="degree"/>
  <default>
    <geom friction="0.9 0.01 0.001"/><joint armature="0.02"/>
    <default class="stiff"><joint damping="2" armature="0.1"/></default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="free" pos="0 0 1">
      <freejoint/><geom size=".1"/><geom type="capsule" fromto="0 0 0 0 0 .3" size=".02"/>
    </body>
    <body name="arm" pos="1 0 1" euler="0 30 0">
      <joint class="stiff" name="swing" axis="0 1 0" range="-60 60" ref="10" stiffness="3"/>
      <geom name="upper" type="box" size=".1 .05 .05"/>
      <site name="tip" pos=".1 0 0"/>
      <site name="hook" pos="0 0 .4"/>
      <body pos=".2 0 0">
        <joint type="slide" name="out" axis="1 0 0"/>
        <joint name="loose" axis="0 0 1" limited="false" range="-40 40"/>
        <inertial pos="0 0 .01" mass="0.3" diaginertia="0.01 0.02 0.025"/>
      </body>
    </body>
    <replicate count="3" offset=".5 0 0">
      <body pos="0 2 1"><joint type="ball"/><geom name="bob" size=".05"/></body>
    </replicate>
  </worldbody>
  <tendon><spatial name="cord" stiffness="5" range="0 2"><site site="tip"/><site site="hook"/></spatial></tendon>
  <actuator>
    <position name="servo" joint="swing" kp="20" ctrlrange="-30 30"/>
    <motor name="push" joint="out" gear="3"/>
  </actuator>
</mujoco>
"""


def worlds(source, n: int = 1):
    """What save_xml and recompute see of a simulation, without kernels that run it."""
    model = load(source)
    engine: Engine = StagedEngine(model, n, device="cpu")
    return SimpleNamespace(engine=engine, model=model, document=document_of(source), worlds=n, newton=None)


def same(sim, compiled, world: int = 0) -> None:
    """Every parameter, those that follow from others included, and every field that no one can change."""
    for name, field in model_fields().items():
        if field.group not in ("array", "option") or name.startswith(("bvh", "name_", "names")) or "path" in name:
            continue
        owner = compiled.opt if field.group == "option" else compiled
        said = np.asarray(getattr(owner, name))
        if name in sim.engine.parameters:
            has = sim.engine.read(name)[world].reshape(said.shape)
        else:
            has = np.asarray(getattr(sim.model.opt if field.group == "option" else sim.model, name))
        if name in ("geom_aabb", "geom_rbound", "dof_length") or said.dtype.kind in "SU":
            continue  # bounds of sizes that were changed
        if name == "body_pos":  # a free body begins at qpos0, wherever its pose was
            fixed = ~np.isin(np.arange(len(has)), sim.model.jnt_bodyid[sim.model.jnt_type == Joint.FREE])
            said, has = said[fixed], has[fixed]
        np.testing.assert_allclose(said, has, rtol=2e-6, atol=1e-6, err_msg=name)


CHANGES = {
    "option": lambda e: (e.set_parameter("gravity", [0, 0, -1.6]), e.set_parameter("timestep", 0.003)),
    "masses": lambda e: e.set_parameter("body_mass", 1.5 * e.built("body_mass")),
    "joints": lambda e: (
        e.set_parameter("dof_damping", e.built("dof_damping") + 0.3),
        e.set_parameter("jnt_stiffness", 2 * e.built("jnt_stiffness")),
        e.set_parameter("dof_armature", 0.25), e.set_parameter("dof_frictionloss", 0.1),
    ),
    "ranges": lambda e: e.set_parameter("jnt_range", 0.5 * e.built("jnt_range")),
    "free": lambda e: [
        e.set_parameter(name, e.built(name) + np.r_[0.1, 0.2, np.zeros(len(e.built(name)) - 2)])
        for name in ("qpos0", "qpos_spring")
    ],
    "geoms": lambda e: e.set_parameter("geom_friction", [0.3, 0.02, 0.003]),
    "sizes": lambda e: e.set_parameter("geom_size", 1.25 * e.built("geom_size")),
    "poses": lambda e: e.set_parameter("site_pos", e.built("site_pos") + [0.1, 0, 0.2]),
    "actuators": lambda e: (
        e.set_parameter("actuator_gainprm", 2 * e.built("actuator_gainprm")),
        e.set_parameter("actuator_gear", 1.5 * e.built("actuator_gear")),
        e.set_parameter("actuator_ctrlrange", 0.5 * e.built("actuator_ctrlrange")),
    ),
    "tendons": lambda e: (
        e.set_parameter("tendon_stiffness", 7.0), e.set_parameter("tendon_range", [0.1, 1.5]),
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::kinema.errors.KernelsRebuilt")
@pytest.mark.parametrize("what", CHANGES)
def test_what_was_changed_is_read_back(what, tmp_path):
    sim = worlds(MODEL)
    CHANGES[what](sim.engine)
    recompute(sim)
    text = save_xml(sim, tmp_path / "new.xml", 0)
    assert text != MODEL and (tmp_path / "new.xml").read_text() == text
    same(sim, compile_model(tmp_path / "new.xml"))


def test_nothing_changed_is_the_same_model():
    sim = worlds(MODEL)
    same(sim, compile_model(save_xml(sim, None, 0)))


@pytest.mark.filterwarnings("ignore::kinema.errors.KernelsRebuilt")
def test_numbers_are_short_and_worlds_differ():
    sim = worlds(MODEL, 2)
    sim.engine.expand("dof_damping")
    sim.engine.set_parameter("dof_damping", np.stack([sim.engine.built("dof_damping"), np.full(sim.model.nv, 0.3)]))
    assert 'damping="0.3"' in save_xml(sim, None, 1)
    assert 'damping="0.3"' not in save_xml(sim, None, 0)


def test_files_are_found_from_the_new_place(tmp_path):
    folder = tmp_path / "model" / "meshes"
    folder.mkdir(parents=True)
    (folder / "cube.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    (tmp_path / "model" / "cube.xml").write_text(
        '<mujoco><compiler meshdir="meshes"/><asset><mesh file="cube.obj"/></asset>'
        '<worldbody><body><freejoint/><geom type="mesh" mesh="cube"/></body></worldbody></mujoco>'
    )
    sim = worlds(tmp_path / "model" / "cube.xml")
    sim.engine.set_parameter("gravity", [0, 0, -2.0])
    save_xml(sim, tmp_path / "elsewhere" / "new.xml", 0)
    again = compile_model(tmp_path / "elsewhere" / "new.xml")
    same(sim, again)
    assert again.opt.gravity[2] == -2


def test_what_cannot_be_written():
    sim = worlds(MODEL)
    bobs = [k for k, name in enumerate(sim.model.names("geom")) if name.startswith("bob")]
    friction = np.array(sim.engine.built("geom_friction"))
    friction[bobs[0]] = 0.1
    sim.engine.set_parameter("geom_friction", friction)
    with pytest.raises(BuildError, match="copies of one geom|would differ in geom_friction"):
        save_xml(sim, None, 0)
    with pytest.raises(BuildError, match="that MuJoCo compiled"):
        save_xml(worlds(mujoco.MjModel.from_xml_string("<mujoco/>")), None, 0)


def test_a_compiled_model_is_written_by_its_numbers():
    """No document is there to change, so all numbers are said: those that were changed too."""
    text = '<mujoco><worldbody><body><joint name="j"/><geom size=".1" friction=".7"/></body></worldbody></mujoco>'
    sim = worlds(load(text))
    sim.engine.set_parameter("dof_damping", [0.25])
    sim.engine.set_parameter("geom_friction", [[0.5, 0.01, 0.001]])
    written = compile_model(save_xml(sim, None, 0))
    assert written.dof_damping[0] == 0.25 and written.geom_friction[0].tolist() == [0.5, 0.01, 0.001]
    assert written.body_mass[1] == sim.model.body_mass[1] and written.names("joint") == ["j"]
