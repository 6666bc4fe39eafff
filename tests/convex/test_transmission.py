"""Transmissions against MuJoCo, and moments against finite differences of lengths where they are their gradients."""

from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from kinema.convex import actuation, com, kinematics, tendon, transmission
from kinema.convex.stage import Stage

from . import pulled
from .stage_harness import Harness

STAGES = (
    *kinematics.stages(),
    *com.stages(),
    Stage(tendon.fixed_tendon, over="ntendon"),
    Stage(tendon.spatial_tendon, over="ntendon"),
    *(Stage(func, over="nactuator") for func, _ in transmission.KINDS.values()),
    Stage(transmission.actuator_velocity, over="nactuator"),
    Stage(actuation.joint_force, over="nv"),
)
FIELDS = ("moment_rownnz", "moment_rowadr", "moment_colind", "actuator_moment")
ROBOTS = [
    "mujoco/test/engine/testdata/actuation/refsite.xml",
    "menagerie/skydio_x2/scene.xml",
    "menagerie/shadow_hand/scene_right.xml",
    "myo_sim/finger/myofinger_v0.xml",
    "mujoco/test/testdata/model.xml",
]
NOT_GRADIENTS = {int(getattr(mujoco.mjtTrn, f"mjTRN_{name}")) for name in ("SITE", "SO3", "BODY")}


def run(m, qpos, qvel, force=None) -> Harness:
    """Our transmissions at states, one a world."""
    qpos, qvel = np.atleast_2d(qpos), np.atleast_2d(qvel)
    harness = Harness(m, nworld=len(qpos))
    harness.layout.arrays["qpos"].numpy()[:] = qpos
    harness.layout.arrays["qvel"].numpy()[:] = qvel
    if force is not None:
        harness.write("actuator_force", force)
    harness.run(*STAGES)
    return harness


def moment(m, harness, w: int = 0) -> np.ndarray:
    return pulled.dense_moment(m, SimpleNamespace(**{name: harness.read(name, w) for name in FIELDS}))


def compare(m, seeds):
    states = [pulled.moved(m, seed) for seed in seeds]
    ours = run(m, [d.qpos for d in states], [d.qvel for d in states])
    for w, d in enumerate(states):
        theirs = pulled.dense_moment(m, d)
        np.testing.assert_allclose(moment(m, ours, w), theirs, atol=2e-6 * max(1, np.abs(theirs).max()))
        for name in ("actuator_length", "actuator_velocity"):
            values = getattr(d, name)
            scale = max(1, np.abs(values).max())
            np.testing.assert_allclose(ours.read(name, w), values, atol=2e-6 * scale, err_msg=name)
    return ours


@pytest.mark.parametrize("path", ROBOTS)
def test_robots_agree_with_mujoco(path):
    compare(pulled.shared_model(path), range(3))


def test_every_kind_agrees_with_mujoco():
    m = mujoco.MjModel.from_xml_string(pulled.TRANSMISSIONS)
    kinds = set(m.actuator_trntype.tolist())
    served = {value for _, values in transmission.KINDS.values() for value in values}
    assert served - kinds == {int(mujoco.mjtTrn.mjTRN_BODY)}  # adhesion has its own test
    compare(m, range(5))


def test_moments_are_gradients_of_lengths():
    m = mujoco.MjModel.from_xml_string(pulled.TRANSMISSIONS)
    d = pulled.moved(m, 3)
    h = 2e-3
    states = [d.qpos]
    for i in range(m.nv):
        for sign in (-1, 1):
            qpos = d.qpos.copy()
            mujoco.mj_integratePos(m, qpos, np.eye(m.nv)[i], sign * h)
            states.append(qpos)
    ours = run(m, states, np.zeros((len(states), m.nv)))
    length = np.array([ours.read("actuator_length", w) for w in range(len(states))], dtype=float)
    difference = ((length[2::2] - length[1::2]) / (2 * h)).T
    exact = moment(m, ours)
    checked = 0
    for i in range(m.nactuator):
        joint_type = m.jnt_type[m.actuator_trnid[i, 0]]
        on_joint = m.actuator_trntype[i] in (0, 1)
        if m.actuator_trntype[i] in NOT_GRADIENTS or (on_joint and joint_type in (0, 1)):
            continue
        out = m.actuator_outadr[i]
        np.testing.assert_allclose(exact[out], difference[out], atol=1e-3 * np.abs(exact[out]).max(), err_msg=str(i))
        checked += 1
    fixed = m.actuator("from_world").id  # a reference that does not move: then the site's moment is a gradient too
    out = m.actuator_outadr[fixed]
    np.testing.assert_allclose(exact[out], difference[out], atol=1e-3 * np.abs(exact[out]).max())
    assert checked == 6


def test_a_site_without_reference_has_no_length_and_pushes_along_its_axes():
    m = mujoco.MjModel.from_xml_string(pulled.TRANSMISSIONS)
    d = pulled.moved(m, 1)
    i = m.actuator("thruster").id
    out = m.actuator_outadr[i]
    force = np.zeros(m.nout)
    force[out] = 2.0
    ours = run(m, d.qpos, d.qvel, force)
    assert ours.read("actuator_length")[out] == 0
    expected = np.zeros(m.nv)
    site = m.site("f0").id
    frame = d.site_xmat[site].reshape(3, 3)
    gear = m.actuator_gear[out]
    mujoco.mj_applyFT(
        m, d, frame @ gear[:3] * 2, frame @ gear[3:] * 2, d.site_xpos[site], m.site_bodyid[site], expected
    )
    np.testing.assert_allclose(ours.read("qfrc_actuator"), expected, atol=1e-5 * np.abs(expected).max())


def test_a_reference_site_measures_the_projected_position():
    m = mujoco.MjModel.from_xml_string(pulled.TRANSMISSIONS)
    d = pulled.moved(m, 2)
    i = m.actuator("from_world").id
    out = m.actuator_outadr[i]
    site, ref = m.actuator_trnid[i]
    position = d.site_xmat[ref].reshape(3, 3).T @ (d.site_xpos[site] - d.site_xpos[ref])
    ours = run(m, d.qpos, d.qvel)
    assert ours.read("actuator_length")[out] == pytest.approx(position @ m.actuator_gear[out, :3], rel=1e-5)


def test_rows_of_the_moment_do_not_overlap():
    m = mujoco.MjModel.from_xml_string(pulled.TRANSMISSIONS)
    d = pulled.moved(m, 0)
    ours = run(m, d.qpos, d.qvel)
    adr, nnz = ours.read("moment_rowadr"), ours.read("moment_rownnz")
    np.testing.assert_array_equal(adr[1:], (adr + nnz)[:-1])
    assert adr[-1] + nnz[-1] <= m.nJmom
    columns = ours.read("moment_colind")
    for r in range(m.nout):
        assert (np.diff(columns[adr[r] : adr[r] + nnz[r]]) > 0).all()


ADHESION = """
<mujoco>
  <option cone="{cone}"/>
  <worldbody>
    <geom type="plane" size="1 1 .1" condim="{condim}"/>
    <body name="box" pos="0 0 .095">
      <freejoint/><geom type="box" size=".1 .1 .1" margin=".01" gap=".05"/>
      <body name="arm" pos=".3 0 0"><joint axis="0 1 0"/><geom size=".1"/></body>
    </body>
    <body pos=".3 0 .29"><freejoint/><geom size=".1"/></body>
  </worldbody>
  <actuator><adhesion body="box" ctrlrange="0 1" gain="5"/><adhesion body="arm" ctrlrange="0 1" gain="3"/></actuator>
</mujoco>
"""


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("condim", [1, 3, 6])
def test_adhesion_agrees_with_mujoco(cone, condim):
    m = mujoco.MjModel.from_xml_string(ADHESION.format(cone=cone, condim=condim))
    for seed in range(3):
        d = pulled.moved(m, seed, scale=0.02)
        assert d.ncon > 3
        harness = Harness(m)
        harness.inject(d)
        harness.run(*STAGES)
        theirs = pulled.dense_moment(m, d)
        assert np.abs(theirs).max() > 0.1
        np.testing.assert_allclose(moment(m, harness), theirs, atol=1e-6)
