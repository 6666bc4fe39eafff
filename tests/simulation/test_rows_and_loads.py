"""Constraint rows, contacts and what MuJoCo computes on request, against MuJoCo in states with many contacts."""

import mujoco
import numpy as np
import pytest

from kinema.errors import UnknownKey
from kinema.simulation import Simulation
from tests.convex.stage_harness import dense_jacobian

HEAP = """
<mujoco>
  <option timestep="0.004" cone="{cone}"/>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    <body pos="0 0 .19"><freejoint/><geom type="box" size=".1 .2 .1" mass="2"/><site name="hook" pos="0 0 .1"/></body>
    <body pos="0 .1 .38"><freejoint/><geom size=".1" condim="4"/></body>
    <body pos="0 -.1 .55"><freejoint/><geom type="capsule" size=".06 .2" euler="0 80 0" condim="6"/></body>
    <body name="arm" pos="1 0 .5">
      <joint name="a" axis="0 1 0" range="-30 30" frictionloss="0.2" stiffness="3"/>
      <geom type="capsule" fromto="0 0 0 .4 0 0" size=".05"/>
      <body name="hand" pos=".4 0 0">
        <joint axis="0 0 1" damping="0.2"/><geom type="box" size=".1 .05 .03"/><site name="end" pos=".1 0 0"/>
      </body>
    </body>
    <body pos="1.6 0 .5"><freejoint/><geom size=".08"/><site name="end2"/></body>
  </worldbody>
  <tendon><spatial stiffness="20" springlength=".3"><site site="hook"/><site site="end"/></spatial></tendon>
  <equality><connect body1="hand" body2="arm" anchor=".05 0 0"/><weld site1="end" site2="end2"/></equality>
  <actuator><motor joint="a" gear="3"/></actuator>
</mujoco>
"""
WORLDS = 4
ON_REQUEST = ("cacc", "cfrc_int", "cfrc_ext", "subtree_linvel", "subtree_angmom", "energy")


def states(m):
    """Different states, with contacts, as MuJoCo reaches them; rounded to what the engine holds."""
    found = []
    for world in range(WORLDS):
        rng = np.random.default_rng(world)
        d = mujoco.MjData(m)
        d.qvel[:] = 0.3 * rng.normal(size=m.nv)
        d.ctrl[:] = rng.normal(size=m.nu)
        mujoco.mj_step(m, d, nstep=5 + 12 * world)
        d.xfrc_applied[1:] = rng.normal(size=(m.nbody - 1, 6))
        for name in ("qpos", "qvel", "ctrl", "xfrc_applied", "qacc_warmstart"):
            values = getattr(d, name)
            values[...] = values.astype(np.float32)
        mujoco.mj_forward(m, d)
        found.append(d)
    return found


@pytest.fixture(scope="module", params=["pyramidal", "elliptic"])
def pair(request):
    text = HEAP.format(cone=request.param)
    m = mujoco.MjModel.from_xml_string(text)
    sim = Simulation(text, worlds=WORLDS, device="cpu", threads=1)
    ds = states(m)
    names = ("qpos", "qvel", "ctrl", "xfrc_applied", "qacc_warmstart")
    sim.set_state(**{name: np.stack([getattr(d, name) for d in ds]) for name in names})
    sim.forward()
    return m, ds, sim


def near(ours, theirs, rtol, name=""):
    theirs = np.asarray(theirs)
    np.testing.assert_allclose(ours, theirs, atol=rtol * max(1.0, np.abs(theirs).max(initial=0.0)), err_msg=name)


def test_rows_in_use(pair):
    m, ds, sim = pair
    counts = [d.nefc for d in ds]
    np.testing.assert_array_equal(sim.d.nefc, counts)
    assert len(set(counts)) > 1, "worlds should differ, so that some are padded"
    assert sim.d.efc_J.shape == (WORLDS, max(counts), m.nv) and sim.d.efc_force.shape == (WORLDS, max(counts))
    for world, d in enumerate(ds):
        near(sim.d.efc_J[world, : d.nefc], dense_jacobian(m, d), 1e-4, "efc_J")
        for name in ("efc_pos", "efc_margin", "efc_vel", "efc_type", "efc_id", "efc_frictionloss"):
            near(getattr(sim.d, name)[world, : d.nefc], getattr(d, name), 1e-4, name)
        near(sim.d.efc_aref[world, : d.nefc], d.efc_aref, 1e-3, "efc_aref")
        near(sim.d.efc_force[world, : d.nefc], d.efc_force, 1e-2, "efc_force")
        for name in ("efc_J", "efc_force", "efc_pos", "efc_D"):
            assert not np.any(getattr(sim.d, name)[world, d.nefc :]), name


def test_contacts_in_use(pair):
    _, ds, sim = pair
    most = max(d.ncon for d in ds)
    assert most >= 3 and sim.d.contact_pos.shape == (WORLDS, most, 3) and sim.d.contact.shape == (WORLDS, most)
    for world, d in enumerate(ds):
        records = sim.d.contact[world]
        assert sim.d.ncon[world] == d.ncon
        np.testing.assert_array_equal(records.geom[: d.ncon], d.contact.geom)
        np.testing.assert_array_equal(records.efc_address[: d.ncon], d.contact.efc_address)
        near(records.dist[: d.ncon], d.contact.dist, 1e-5)
        near(records.pos[: d.ncon], d.contact.pos, 1e-4)
        assert np.all(records.geom1[d.ncon :] == -1) and not np.any(records.dist[d.ncon :])
    with pytest.raises(ValueError, match="read-only"):
        sim.d.contact.dist[0] = 1


@pytest.mark.parametrize("name", ON_REQUEST)
def test_computed_when_read(pair, name):
    m, ds, sim = pair
    for world, d in enumerate(ds):
        for function in (mujoco.mj_rnePostConstraint, mujoco.mj_subtreeVel, mujoco.mj_energyPos, mujoco.mj_energyVel):
            function(m, d)
        assert np.abs(getattr(d, name)).max() > 1e-2
        near(getattr(sim.d, name)[world], getattr(d, name), 1e-2 if "frc" in name else 2e-3, name)


def test_contact_loads_are_contact_forces(pair):
    m, ds, sim = pair
    wrench = np.zeros(6)
    for world, d in enumerate(ds):
        for c in range(d.ncon):
            mujoco.mj_contactForce(m, d, c, wrench)
            frame = d.contact.frame[c].reshape(3, 3)
            theirs = np.concatenate([frame.T @ wrench[3:], frame.T @ wrench[:3]])
            near(sim.d.contact_load[world, c], theirs, 2e-2)


def test_once_a_state_and_of_the_last_run(pair):
    """What was read stays until the engine runs again, though the state is written; a step brings the next."""
    m, ds, sim = pair
    kept = sim.get_state()
    before = sim.d.cfrc_ext
    runs = []
    engine, original = sim.engine, sim.engine._run
    engine._run = lambda name, *args, **options: (runs.append(name), original(name, *args, **options))
    try:
        sim.d.xfrc_applied[:, 1] += 5.0
        np.testing.assert_array_equal(sim.d.cfrc_ext, before)
        assert runs == []
        sim.step()
        after = sim.d.cfrc_ext
        assert np.abs(after - before).max() > 0.1
        _ = sim.d.cfrc_int, sim.d.cacc
        assert runs == ["step", "on request: loads"]
        for world, d in enumerate(ds):
            d.xfrc_applied[1] += 5.0
            mujoco.mj_step(m, d)
            mujoco.mj_rnePostConstraint(m, d)  # as Gymnasium's environments call it, after a step
            near(after[world], d.cfrc_ext, 2e-2, "cfrc_ext")
            near(sim.d.cfrc_int[world], d.cfrc_int, 2e-2, "cfrc_int")
    finally:
        del engine._run
        sim.set_state(**kept)
        sim.forward()
        ds[:] = states(m)


def test_whoever_takes_the_array_has_it_kept(pair):
    _, _, sim = pair
    array = sim.array("energy")
    before = array.numpy().copy()
    sim.step(3)
    assert np.abs(array.numpy() - before).max() > 1e-4


def test_other_programs_keep_theirs():
    sim = Simulation(HEAP.format(cone="pyramidal"), device="cpu", solver="mujoco")
    with pytest.raises(UnknownKey, match="contacts are not brought over"):
        _ = sim.d.contact
