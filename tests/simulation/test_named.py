"""Elements by name, against MuJoCo's own named access."""

import mujoco
import numpy as np
import pytest

from kinema.compile.host_model import KINDS
from kinema.errors import BuildError, UnknownKey
from kinema.simulation import Simulation
from tests.simulation.models import ARM, LIMBS

WORLDS = 3
JUDGED = {
    "body": "trunk", "joint": "root", "geom": "shin", "site": "tip", "camera": "eye", "light": "sun",
    "tendon": "cord", "actuator": "muscle", "sensor": "imu", "equality": "tie", "key": "up", "material": "grid",
    "texture": "checker", "numeric": "pair",
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(LIMBS)


@pytest.fixture(scope="module")
def stepped(model):
    """A simulation and MuJoCo's data at the same state."""
    d = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, d, 0)
    mujoco.mj_forward(model, d)
    mujoco.mj_rnePostConstraint(model, d)
    mujoco.mj_subtreeVel(model, d)
    sim = Simulation(LIMBS, worlds=WORLDS, device="cpu", threads=1)
    sim.reset(keyframe="up")
    sim.forward()
    return sim, d


@pytest.mark.parametrize(("kind", "name"), JUDGED.items())
def test_fields_are_those_of_mujocos_named_access(stepped, model, kind, name):
    sim, d = stepped
    ours = getattr(sim, kind)(name)
    judged = 0
    for owner in (model, d):
        theirs = getattr(owner, kind, None)
        if theirs is None:
            continue
        theirs = theirs(name)
        for field in sorted(set(dir(theirs)) & set(dir(ours)) - {"id", "name"}):
            want = np.asarray(getattr(theirs, field))
            if want.dtype.kind not in "biuf" or field in ("qacc_warmstart", "bodyid"):  # of a joint: its dofs' there
                continue
            have = getattr(ours, field)
            if have.shape != want.shape:  # of data: an axis of worlds comes first
                assert have.shape == (WORLDS, *want.shape), field
            np.testing.assert_allclose(have, np.broadcast_to(want, have.shape), rtol=2e-4, atol=2e-5, err_msg=field)
            judged += 1
    assert judged >= (2 if kind in ("key", "numeric", "texture") else 4)
    assert ours.name == name and ours.id == getattr(model, kind)(name).id


def test_every_kind_has_its_method():
    for kind in KINDS:
        assert "by name or id" in getattr(Simulation, kind).__doc__


def test_several_elements_and_ids(stepped):
    sim, d = stepped
    assert sim.body(["shank", "trunk"]).xpos.shape == (WORLDS, 2, 3)
    np.testing.assert_array_equal(sim.body(["shank", "trunk"]).xpos[:, 1], sim.body("trunk").xpos)
    np.testing.assert_array_equal(sim.body(sim.body("shank").id).xpos, sim.body("shank").xpos)
    both = sim.joint(["knee", "root"])
    assert both.qpos.shape == (WORLDS, 1 + 7) and both.qvel.shape == (WORLDS, 1 + 6)
    assert both.name == ["knee", "root"]
    assert repr(sim.joint("knee")) == "<joint 'knee' in 3 worlds>"


def test_state_and_controls_are_assigned():
    sim = Simulation(LIMBS, worlds=WORLDS, device="cpu", threads=1)
    sim.joint("knee").qpos = [[0.1], [0.2], [0.3]]
    sim.joint("root").qvel = [1, 2, 3, 4, 5, 6]
    sim.actuator("pull").ctrl = 0.5
    sim.body("trunk").xfrc_applied = [1, 0, 0, 0, 0, 0]
    sim.body("target").mocap_pos = [0.0, 0.0, 2.0]
    np.testing.assert_allclose(sim.d.qpos[:, 7:], [[0.1], [0.2], [0.3]], rtol=1e-6)
    np.testing.assert_allclose(sim.d.qvel[:, :6], [[1, 2, 3, 4, 5, 6]] * WORLDS)
    np.testing.assert_allclose(sim.d.ctrl[:, sim.actuator("pull").id], 0.5)
    np.testing.assert_allclose(sim.d.xfrc_applied[:, 1, 0], 1.0)
    assert sim.d.xfrc_applied.sum() == WORLDS
    np.testing.assert_allclose(sim.d.mocap_pos[:, 0], [[0, 0, 2]] * WORLDS)


def test_parameters_are_assigned_alike_or_per_world():
    sim = Simulation(ARM, worlds=WORLDS, device="cpu", threads=1)
    sim.body("hand").mass = 2.0
    assert sim.m.body_mass[2] == 2.0 and sim.body("hand").mass.shape == (1,)
    sim.joint("a").damping = 0.7
    np.testing.assert_allclose(sim.m.dof_damping, [0.7, 0.0])
    with pytest.raises(BuildError, match=r"sim.expand\('body_mass'\) first"):
        sim.body("hand").mass = [[1], [2], [3]]
    sim.expand("body_mass")
    sim.body("hand").mass = [[1], [2], [3]]
    np.testing.assert_allclose(sim.m.body_mass[:, 2], [1, 2, 3])
    assert sim.body("hand").mass.shape == (WORLDS, 1)


def test_mistakes_are_explained(stepped):
    sim, _ = stepped
    with pytest.raises(UnknownKey, match="no joint named 'kne'; did you mean 'knee'"):
        sim.joint("kne")
    with pytest.raises(UnknownKey, match="no joint named 'zzz'; there are root, knee"):
        sim.joint("zzz")
    with pytest.raises(UnknownKey, match="joint 9: the model has 2"):
        sim.joint(9)
    with pytest.raises(UnknownKey, match="a joint has no field 'qpo'; did you mean 'qpos'"):
        _ = sim.joint("knee").qpo
    with pytest.raises(UnknownKey, match="xpos is computed"):
        sim.body("trunk").xpos = 1
    with pytest.raises(UnknownKey, match="geom_type is fixed"):
        sim.geom("shin").type = 1
    with pytest.raises(BuildError, match=r"qpos: an array of shape \(2,\) does not fit \(3, 1\)"):
        sim.joint("knee").qpos = [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        np.copyto(sim.joint("knee").qpos, 1)
