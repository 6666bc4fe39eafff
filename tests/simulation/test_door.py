"""The door tells the truth: what is written is written, what cannot be is refused, a failed call changes nothing."""

import copy
import pickle
import time

import mujoco
import numpy as np
import pytest

from kinema.errors import BuildError, KinemaError, UnknownKey
from kinema.simulation import Simulation
from kinema.simulation.values import Values
from tests.simulation.models import ARM

SENSORS = '<sensor><user dim="2" name="own"/><jointpos joint="a" name="angle"/></sensor>'
USER = ARM.replace("<keyframe>", f"{SENSORS}<keyframe>")


@pytest.fixture(scope="module")
def arm():
    return mujoco.MjModel.from_xml_string(ARM)


@pytest.fixture
def sim(arm):
    return Simulation(arm, worlds=3, device="cpu", threads=1)


# ---------------------------------------------------------------------------------------------- writing into the model


def test_elements_of_the_model_write_through(sim, arm):
    """sim.m.x[...] = v and sim.m.opt.x[...] = v change what MuJoCo's mjModel would."""
    m, d = copy.copy(arm), mujoco.MjData(arm)
    for model, opt in ((sim.m, sim.m.opt), (m, m.opt)):
        model.body_mass[1] = 7.0
        model.dof_damping[:] += 0.25
        model.geom_friction[0, 0] = 0.3
        model.jnt_axis[1:, 2] *= -1.0
        model.actuator_gear[0][0] = 1.5
        model.body_mass[[2, 3]] = [0.4, 0.6]
        model.dof_armature[np.array([True, False])] = 0.03
        opt.gravity[2] = -3.0
        opt.gravity[:2] += 0.5
    for name in ("body_mass", "dof_damping", "geom_friction", "jnt_axis", "actuator_gear", "dof_armature"):
        np.testing.assert_allclose(getattr(sim.m, name), getattr(m, name), rtol=1e-6, err_msg=name)
    np.testing.assert_allclose(sim.m.opt.gravity, m.opt.gravity, rtol=1e-6)
    sim.d.ctrl = d.ctrl[:] = 0.4
    sim.step(20)
    mujoco.mj_step(m, d, nstep=20)
    np.testing.assert_allclose(sim.d.qpos, np.tile(d.qpos, (3, 1)), atol=1e-5)


def test_elements_of_expanded_parameters(sim):
    sim.expand("body_mass")
    sim.m.body_mass[1, 2] = 9.0
    sim.m.body_mass[:, 1] *= [1.0, 2.0, 3.0]
    built = sim.model.body_mass
    assert sim.m.body_mass[1, 2] == 9.0 and sim.m.body_mass[0, 2] == np.float32(built[2])
    np.testing.assert_allclose(sim.m.body_mass[:, 1], built[1] * np.array([1.0, 2.0, 3.0]), rtol=1e-6)


def test_assignments_and_operators_on_whole_fields(sim, arm):
    sim.m.body_mass *= 2
    np.testing.assert_allclose(sim.m.body_mass, 2 * arm.body_mass, rtol=1e-6)
    sim.m.opt.timestep = 0.002
    sim.m.opt.timestep += 0.001
    assert sim.m.opt.timestep == pytest.approx(0.003)
    held = sim.d.qvel
    held += 1.5
    assert np.all(sim.d.qvel == 1.5) and np.all(held == 1.5)


@pytest.mark.parametrize(
    ("write", "match"),
    [
        (lambda sim: sim.m.jnt_type.__setitem__(0, 2), "m.jnt_type cannot be written while running"),
        (lambda sim: sim.m.body_parentid.__setitem__(slice(None), 0), "m.body_parentid cannot be written"),
        (lambda sim: setattr(sim.m, "nq", 3), "m.nq cannot be written while running: it is a size"),
        (lambda sim: setattr(sim.m.opt, "solver", 1), "m.opt.solver is fixed when the simulation is made"),
        (lambda sim: setattr(sim.m.opt, "disableflags", 1), "m.opt.disableflags is fixed"),
        (lambda sim: setattr(sim.m.stat, "extent", 1), "m.stat.extent is fixed"),
        (lambda sim: setattr(sim.m.opt, "gravty", 1), "did you mean 'gravity'"),
        (lambda sim: setattr(sim.m, "geom_rbound", 1), "m.geom_rbound cannot be written while running: it follows"),
        (lambda sim: setattr(sim.m, "body_mass", [1.0, 2.0, 3.0]), r"does not fit \(4,\): .* call sim.expand"),
    ],
)
def test_what_is_fixed_says_so(sim, write, match):
    with pytest.raises(KinemaError, match=match):
        write(sim)
    assert sim.model.jnt_type[0] == 3


# ---------------------------------------------------------------------------------------------- writing into the data


def test_elements_of_the_data_write_through(sim):
    sim.d.qpos[0, 1] = 0.5
    sim.d.qpos[1:] = [[0.1, 0.2], [0.3, 0.4]]
    sim.d.qpos[2][0] += 1.0
    np.testing.assert_allclose(sim.d.qpos, [[0.0, 0.5], [0.1, 0.2], [1.3, 0.4]])
    sim.joint("b").qvel[1] = 3.0
    np.testing.assert_allclose(sim.d.qvel[:, 1], [0.0, 3.0, 0.0])
    sim.body("hand").mass[...] = 0.7
    assert sim.m.body_mass[2] == np.float32(0.7)


def test_what_was_read_stays_what_it_was(sim):
    """Reading gives copies: a list of them is a trajectory, and scaling a default does not compound."""
    before, default = sim.d.qpos, sim.m.body_mass
    sim.d.ctrl = 1.0
    sim.step(5)
    assert np.all(before == 0.0) and np.any(sim.d.qpos != 0.0)
    sim.m.body_mass = 2 * default
    sim.m.body_mass = 3 * default
    np.testing.assert_allclose(sim.m.body_mass, 3 * default)
    before[1, 0] = 0.25  # an element of an older copy is written into the state as it is now
    assert sim.d.qpos[1, 0] == 0.25 and sim.d.qpos[0, 0] != 0.0 and before[1, 0] == 0.25


def test_no_way_of_writing_is_lost(sim):
    """What does not write through fails; results of arithmetic and copies are plain arrays."""
    for write in (lambda a: np.copyto(a, 1), lambda a: np.add(a, 1, out=a), lambda a: a.fill(1),
                  lambda a: a.T.__setitem__(0, 1), lambda a: a.sort(), lambda a: np.put(a, 0, 1)):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            write(sim.d.qpos)
    for plain in (sim.d.qpos + 1, sim.d.qpos.copy(), np.array(sim.d.qpos), sim.d.qpos[[0, 2]], copy.copy(sim.d.qpos),
                  copy.deepcopy(sim.d.qpos), pickle.loads(pickle.dumps(sim.d.qpos)), sim.d.qpos.T.copy()):  # fmt: skip
        plain[0] = 5.0
    assert np.all(sim.d.qpos == 0.0)
    assert type(sim.d.qpos * 2) is np.ndarray and type(pickle.loads(pickle.dumps(sim.d.qpos))) is np.ndarray
    assert isinstance(sim.d.qpos, Values) and repr(sim.d.time) == repr(np.zeros(3))
    with pytest.raises(IndexError):
        sim.d.qpos[7, 0] = 1.0
    with pytest.raises(ValueError, match="broadcast"):
        sim.d.qpos[0] = [1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["xpos", "qacc_smooth", "qfrc_bias", "cfrc_ext", "nefc", "status", "qfrc_inverse"])
def test_what_is_computed_cannot_be_assigned(sim, name):
    for write in (lambda: setattr(sim.d, name, 0), lambda: getattr(sim.d, name).__setitem__(0, 0)):
        with pytest.raises(UnknownKey, match=rf"{name} is computed.*: it cannot be assigned"):
            write()


def test_the_refusal_names_who_computes_and_from_what(sim):
    with pytest.raises(UnknownKey) as error:
        sim.d.xpos = 0
    assert "local_pose()" in str(error.value) and str(error.value).endswith("mocap_pos, mocap_quat, qpos")


def test_user_sensors_are_the_users(arm):
    """Numbers of user sensors are left alone by a step, as in MuJoCo without callbacks, and can be assigned."""
    sim = Simulation(USER, worlds=2, device="cpu", threads=1)
    sim.sensor("own").data = [1.0, 2.0]
    sim.d.qpos[:, 0] = 0.5
    sim.step(2)
    np.testing.assert_allclose(sim.sensor("own").data, [[1.0, 2.0]] * 2)
    assert np.all(sim.sensor("angle").data != 0.0)
    sim.d.sensordata[0, 1] = 7.0
    assert sim.d.sensordata[0, 1] == 7.0
    for write in (lambda: setattr(sim.d, "sensordata", 5), lambda: setattr(sim.sensor("angle"), "data", 5)):
        with pytest.raises(UnknownKey, match="sensordata is computed: it cannot be assigned; user sensors can"):
            write()


# ---------------------------------------------------------------------------------------------- names


def test_unknown_attributes_are_errors(sim):
    with pytest.raises(UnknownKey, match="no attribute 'crtl'; did you mean sim.d.ctrl"):
        sim.crtl = 1
    with pytest.raises(UnknownKey, match="did you mean sim.m.opt.gravity"):
        sim.gravity = 1
    with pytest.raises(UnknownKey, match="did you mean 'recorder'"):
        sim.recorderr = 1
    assert not hasattr(sim, "crtl")


def test_subclasses_keep_what_their_code_names(arm):
    class Mine(Simulation):
        declared: int

        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            self.models = [1]

        def later(self):
            self.count = 3

    mine = Mine(arm, device="cpu")
    mine.later()
    mine.models, mine.count, mine.declared = [], 4, 5
    with pytest.raises(UnknownKey, match="a Mine has no attribute 'cuont'; did you mean 'count'"):
        mine.cuont = 1


# ---------------------------------------------------------------------------------------------- calls


@pytest.mark.parametrize("count", [-1, 2.5, "3", True, None, np.float32(2)])
def test_steps_are_whole_numbers(sim, count):
    with pytest.raises(BuildError, match="expected a whole number, 0 or more"):
        sim.step(count)
    assert np.all(sim.d.time == 0.0)


def test_numpy_integers_and_zero_are_steps(sim):
    sim.step(0)
    assert np.all(sim.d.time == 0.0)
    sim.step(np.int64(2))
    np.testing.assert_allclose(sim.d.time, 0.02)


@pytest.mark.parametrize(
    "options",
    [
        {"keyframe": "typo"}, {"keyframe": 9}, {"keyframe": -1}, {"keyframe": 0.0}, {"keyframe": True},
        {"mask": [True, False]}, {"mask": [5]}, {"mask": [0.5]}, {"mask": "all"},
    ],
)  # fmt: skip
def test_a_failed_reset_changes_nothing(sim, options):
    sim.set_state(qpos=[0.1, 0.2], qvel=[0.3, 0.4], time=2.0)
    before = sim.get_state()
    with pytest.raises(KinemaError):
        sim.reset(**options)
    for name, values in before.items():
        np.testing.assert_array_equal(getattr(sim.d, name), values, err_msg=name)


@pytest.mark.parametrize("options", [{"qvel": [1, 2, 3]}, {"qvel": "fast"}, {"worlds": [9]}, {"qvle": 1}])
def test_a_failed_set_state_changes_nothing(sim, options):
    with pytest.raises(KinemaError):
        sim.set_state(qpos=[0.1, 0.2], **options)
    assert np.all(sim.d.qpos == 0.0)


@pytest.mark.parametrize("options", [{"worlds": 0}, {"worlds": 1.5}, {"worlds": True}, {"threads": 0}])
def test_sizes_of_a_simulation_are_checked(arm, options):
    with pytest.raises(BuildError, match="expected a whole number, 1 or more"):
        Simulation(arm, device="cpu", **options)


def test_a_failed_expand_expands_nothing(sim):
    with pytest.raises(UnknownKey):
        sim.expand("body_mass", "nq")
    assert sim.m.body_mass.shape == (4,)


# ---------------------------------------------------------------------------------------------- cost


def test_writing_does_not_copy_fields_to_learn_their_shapes(sim, monkeypatch):
    """Writing everything reads nothing."""
    read = []
    monkeypatch.setattr(sim.engine, "read", read.append)
    sim._write("qpos", [0.1, 0.2])
    sim.set_state(qvel=0.5, ctrl=1.0)
    assert read == []


def test_reading_by_name_is_cheap(sim):
    """A few lookups, not a search for the nearest of 800 names: it took 43 ms."""
    joint = sim.joint("a")
    began = time.process_time()
    for _ in range(50):
        _ = joint.qpos
    assert (time.process_time() - began) / 50 < 5e-3
