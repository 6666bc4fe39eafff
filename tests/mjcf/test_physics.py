"""Physics beside MuJoCo, stepped and reset as dm_control does it."""

import pickle

import mujoco
import numpy as np
import pytest

from kinema import mjcf
from kinema.compile import compile_model
from kinema.errors import BuildError, CompileError, PhysicsError, UnknownKey
from tests.mjcf.physics_model import ACCELERATION, POSITION, XML, Oracle, assert_same, document


@pytest.fixture(scope="module")
def doc():
    return document()


@pytest.fixture(scope="module")
def physics_of_module(doc):
    return mjcf.Physics.from_mjcf_model(doc)


@pytest.fixture
def physics(physics_of_module, doc):
    physics_of_module.reload_from_mjcf_model(doc)
    return physics_of_module


@pytest.fixture
def oracle():
    return Oracle()


def drive(physics, oracle, steps, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        control = rng.normal(size=2)
        physics.set_control(control)
        oracle.d.ctrl[:] = control
        physics.step()
        oracle.step()


def forward(physics, oracle):
    """After the model was written to: dm_control's first half of a step is older than that."""
    physics.forward()
    mujoco.mj_forward(oracle.m, oracle.d)


def test_initial_state_is_computed_without_actuation(physics, oracle):
    assert_same(physics, oracle)
    assert np.abs(physics.data.xpos).max() > 0.5


def test_steps_agree_in_positions_of_the_new_state_and_forces_of_the_step(physics, oracle):
    drive(physics, oracle, 15)
    assert_same(physics, oracle)
    physics.step(4)
    oracle.step(4)
    assert_same(physics, oracle)
    assert physics.time() == pytest.approx(oracle.d.time)
    assert physics.data.ncon == oracle.d.ncon == 1


def test_without_legacy_step_data_is_as_mj_step_leaves_it(physics, oracle):
    physics.legacy_step = False
    try:
        physics.step(3)
    finally:
        del physics.legacy_step
    mujoco.mj_resetData(oracle.m, oracle.d)
    mujoco.mj_step(oracle.m, oracle.d, 3)
    assert_same(physics, oracle, (*POSITION, "qpos", "qvel", "qacc"))


def test_reset_and_keyframes(physics, oracle):
    drive(physics, oracle, 5)
    physics.reset(0)
    oracle.reset(0)
    assert_same(physics, oracle)
    assert physics.time() == 2.0
    np.testing.assert_array_equal(physics.data.mocap_pos[0], [0.1, 0.2, 0.3])
    physics.reset()
    oracle.reset()
    assert_same(physics, oracle)
    with pytest.raises(ValueError, match="must be between 0 and 0 inclusive, got: 3"):
        physics.reset(3)


def test_reset_context(physics, oracle):
    with physics.reset_context() as same:
        assert same is physics
        physics.named.data.qpos["elbow"] = 0.7
        physics.data.ctrl[0] = 2.0
    oracle.reset()
    oracle.d.qpos[oracle.m.jnt_qposadr[oracle.m.joint("elbow").id]] = 0.7
    oracle.d.ctrl[0] = 2.0
    oracle.after_reset()
    assert_same(physics, oracle)
    forward(physics, oracle)
    assert_same(physics, oracle, ACCELERATION)
    assert physics.data.actuator_force[0] != 0


def test_nothing_is_computed_until_it_is_asked_for(doc):
    physics = mjcf.Physics.from_mjcf_model(doc)
    physics.data.qpos[0] = 0.5
    physics.bind(doc.find("geom", "ball")).rgba = [1, 0, 0, 1]
    assert not physics._run.engine._commands


def test_arrays_that_are_held_follow(physics, oracle):
    qpos, tip = physics.data.qpos, physics.data.site_xpos[-1]
    before = tip.copy()
    drive(physics, oracle, 3)
    np.testing.assert_allclose(qpos, oracle.d.qpos, atol=1e-5)
    np.testing.assert_allclose(tip, oracle.d.site_xpos[-1], atol=1e-5)
    assert not np.allclose(tip, before, atol=1e-7)
    assert physics.data.qpos is qpos


def test_what_was_written_keeps_its_double_precision(physics):
    physics.data.qpos[:3] = [0.1, 0.2, 0.3]
    physics.forward()
    np.testing.assert_array_equal(physics.data.qpos[:3], [0.1, 0.2, 0.3])
    physics.model.body_pos[1] = [0.7, 0.1, 0.3]
    physics.forward()
    np.testing.assert_array_equal(physics.named.data.xpos["post"], [0.7, 0.1, 0.3])


def test_frames_of_fixed_bodies_are_those_of_mujoco_in_double_precision(physics, oracle):
    for name in ("xpos", "xquat", "xmat", "xipos", "ximat"):
        np.testing.assert_allclose(getattr(physics.data, name)[1], getattr(oracle.d, name)[1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(physics.data.site_xmat[0], oracle.d.site_xmat[0], rtol=0, atol=1e-15)


def test_state(physics):
    physics.step(3)
    saved = physics.get_state()
    assert saved.shape == (physics.model.nq + physics.model.nv + physics.model.na,)
    np.testing.assert_array_equal(saved, physics.state())
    np.testing.assert_array_equal(np.r_[physics.position(), physics.velocity(), physics.activation()], saved)
    physics.step(3)
    assert not np.array_equal(physics.get_state(), saved)
    physics.set_state(saved)
    np.testing.assert_array_equal(physics.get_state(), saved)
    with pytest.raises(ValueError, match="Input physics state has shape"):
        physics.set_state(saved[1:])


def test_copies_and_pickles_go_on_alike(physics):
    physics.set_control([0.5, 0.1])
    physics.model.opt.gravity[2] = -5
    physics.step(5)
    others = [physics.copy(), physics.copy(share_model=True), pickle.loads(pickle.dumps(physics))]
    physics.step(5)
    for other in others:
        other.step(5)
        np.testing.assert_array_equal(other.get_state(), physics.get_state())
        assert other.time() == physics.time()
    others[0].model.body_mass[:] = 3
    assert physics.model.body_mass[3] != 3


def test_a_shared_model_is_written_to_for_both(physics):
    other = physics.copy(share_model=True)
    physics.model.opt.gravity[2] = -2
    other.named.model.body_mass["lower"] = 3
    physics.step(3)
    other.step(3)
    np.testing.assert_array_equal(other.data.qvel, physics.data.qvel)
    for one in (physics, other):
        np.testing.assert_array_equal(one._run.engine.read("gravity")[0], [0, 0, -2])
        assert one._run.engine.read("body_mass")[0, 5] == 3


@pytest.mark.parametrize(
    ("field", "index", "value"),
    [
        ("body_mass", "lower", 2.0), ("geom_friction", "ball", 0.1), ("geom_size", "ball", 0.12),
        ("dof_damping", "elbow", 3.0), ("actuator_gainprm", "servo", 9.0), ("geom_contype", "ball", 0),
        ("geom_margin", "ball", 0.02),
    ],
)  # fmt: skip
def test_writing_to_the_model(physics, oracle, field, index, value):
    getattr(physics.named.model, field)[index] = value
    kind = {"dof": "jnt"}.get(field.partition("_")[0], field.partition("_")[0])
    accessor = getattr(oracle.m, kind)(index)
    row = oracle.m.jnt_dofadr[accessor.id] if field.startswith("dof") else accessor.id
    getattr(oracle.m, field)[row] = value
    np.testing.assert_array_equal(getattr(physics.model, field), getattr(oracle.m, field))
    before = physics.data.qacc.copy(), physics.data.ncon
    forward(physics, oracle)
    drive(physics, oracle, 3)
    assert_same(physics, oracle)
    assert not np.allclose(before[0], physics.data.qacc) or before[1] != physics.data.ncon


def test_a_number_that_asks_for_other_stages_builds_the_engine_anew(physics):
    physics.step()
    kept, engine = physics.get_state(), physics._run.engine
    stages = len(engine.recipes["step"])
    physics.named.model.body_gravcomp["ball"] = 1.0
    physics._run.send()
    assert len(physics._run.engine.recipes["step"]) == stages + 1
    physics.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    physics._run.send()
    assert physics._run.engine.substeps == 4
    np.testing.assert_array_equal(physics.get_state(), kept)
    physics.named.model.body_mass["ball"] = 3.0
    rebuilt = physics._run.engine
    physics._run.send()
    assert physics._run.engine is rebuilt is not engine


def test_options(physics, oracle):
    assert physics.timestep() == 0.004
    physics.model.opt.timestep = oracle.m.opt.timestep = 0.002
    physics.model.opt.gravity[:] = oracle.m.opt.gravity[:] = [0, 1, -3]
    forward(physics, oracle)
    drive(physics, oracle, 4)
    assert_same(physics, oracle)
    assert physics.time() == pytest.approx(0.008)
    with physics.model.disable("gravity"):
        assert physics.model.opt.disableflags == mujoco.mjtDisableBit.mjDSBL_GRAVITY
    assert physics.model.opt.disableflags == 0
    with pytest.raises(KeyError, match="did you mean 'gravity'"), physics.model.disable("gravit"):
        pass


def test_contacts_and_velocities(physics, oracle):
    drive(physics, oracle, 3)
    forward(physics, oracle)
    contact = physics.data.contact
    assert contact.geom1.tolist() == oracle.d.contact.geom1.tolist()
    np.testing.assert_allclose(contact.dist, oracle.d.contact.dist, atol=1e-5)
    np.testing.assert_allclose(contact[0].pos, oracle.d.contact[0].pos, atol=1e-5)
    wanted = np.zeros(6)
    mujoco.mj_contactForce(oracle.m, oracle.d, 0, wanted)
    assert wanted[0] > 1
    np.testing.assert_allclose(physics.data.contact_force(0).ravel(), wanted, atol=2e-3 * wanted[0])
    with pytest.raises(ValueError, match="contact_id"):
        physics.data.contact_force(1)
    for kind, name in (("SITE", "tip"), ("BODY", "lower"), ("XBODY", "lower"), ("GEOM", "ball")):
        code = getattr(mujoco.mjtObj, f"mjOBJ_{kind}")
        number = getattr(oracle.m, kind.lower().removeprefix("x"))(name).id
        for local in (False, True):
            mujoco.mj_objectVelocity(oracle.m, oracle.d, code, number, wanted, local)
            found = physics.data.object_velocity(name, int(code), local)
            np.testing.assert_allclose(found, wanted.reshape(2, 3)[::-1], atol=1e-5)


def test_a_state_that_is_lost(physics):
    physics.data.qvel[0] = np.nan
    with pytest.raises(PhysicsError, match="Physics state is invalid"):
        physics.step()
    with physics.suppress_physics_errors():
        physics.step()
    with pytest.raises(PhysicsError):
        physics.step()
    physics.reset()
    physics.step()
    physics.check_divergence()
    physics.data.qpos[3] = np.inf
    with pytest.raises(PhysicsError, match="qpos is not finite"):
        physics.check_divergence()


def test_ways_in(tmp_path, oracle, doc):
    path = tmp_path / "scene.xml"
    path.write_text(XML)
    ways = [
        mjcf.Physics.from_xml_path(path), mjcf.Physics.from_xml_string(XML), mjcf.Physics.from_model(oracle.m),
        mjcf.Physics.from_model(compile_model(XML)),
    ]  # fmt: skip
    mujoco.mj_saveModel(oracle.m, str(tmp_path / "scene.mjb"), None)
    ways.append(mjcf.Physics.from_binary_path(tmp_path / "scene.mjb"))
    ways.append(mjcf.Physics.from_byte_string((tmp_path / "scene.mjb").read_bytes()))
    for physics in ways:
        assert physics.model.name2id("tip", "site") == oracle.m.site("tip").id
        assert physics.model.id2name(3, "body") == "ball"
        assert physics.model.name == "scene"
        assert physics.model.nq == oracle.m.nq
        np.testing.assert_array_equal(physics.data.qpos, oracle.d.qpos)
    ways[0].reload_from_xml_path(path)
    ways[2].model.body_mass[:] = 7
    assert oracle.m.body_mass[3] != 7


def test_errors_teach(physics):
    with pytest.raises(AttributeError, match="did you mean 'xpos'"):
        physics.data.xposs  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean 'body_mass'"):
        physics.model.body_mas  # noqa: B018
    with pytest.raises(UnknownKey, match="no site named 'tipp'; did you mean 'tip'"):
        physics.model.name2id("tipp", "site")
    with pytest.raises(AttributeError, match="cannot be written"):
        physics.model.nq = 3
    with pytest.raises(NotImplementedError, match="without OpenGL"):
        physics.contexts  # noqa: B018
    with pytest.raises(AttributeError, match="no mjData"):
        physics.data.ptr  # noqa: B018
    with pytest.raises(BuildError, match="expected a whole number, 1 or more"):
        mjcf.Physics.from_xml_string("<mujoco/>", worlds=0)


def test_compile_errors_point_to_the_python_line():
    broken = mjcf.RootElement()
    broken.worldbody.add("body").add("geom", type="sphere", size=[-1])
    with pytest.raises(CompileError, match="run again with --pymjcf_debug"):
        mjcf.Physics.from_mjcf_model(broken)
    mjcf.debugging.enable_debug_mode()
    try:
        broken = mjcf.RootElement()
        broken.worldbody.add("body").add("geom", type="sphere", size=[-1])
        with pytest.raises(ValueError, match=r"was created by `test_compile_errors_\w+` at .*test_physics.py:\d+"):
            mjcf.Physics.from_mjcf_model(broken)
    finally:
        mjcf.debugging.disable_debug_mode()


def test_the_engine_is_not_loaded_with_documents():
    import subprocess
    import sys

    code = "import sys; from kinema import mjcf; mjcf.RootElement().to_xml_string(); print('warp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
