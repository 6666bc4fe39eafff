"""Contact forces against mj_contactForce, and their sums over bodies against Newton's third law."""

import mujoco
import numpy as np
import pytest

from kinema.convex.contact_force import body_contact_forces, contact_force, contact_forces
from kinema.errors import UnknownKey
from tests.conformance.staged import StagedEngine

SCENE = """
<mujoco>
  <option cone="{cone}"/>
  <worldbody>
    <geom type="plane" size="9 9 9" friction=".7 .02 .01"/>
    <body pos="0 0 .09"><freejoint/><geom type="box" size=".1 .1 .1" condim="{condim}" friction=".4 .03 .02"/></body>
    <body pos=".05 .03 .27"><freejoint/><geom type="box" size=".08 .08 .09" condim="3"/></body>
    <body pos="1 0 .1"><freejoint/><geom size=".12" condim="{condim}" friction=".4 .03 .02"/></body>
    <body pos="0 1 .07"><freejoint/><geom type="capsule" size=".08 .1" condim="1"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def scene(random_state):
    def make(cone, condim):
        m = mujoco.MjModel.from_xml_string(SCENE.format(cone=cone, condim=condim))
        d = mujoco.MjData(m)
        random_state(m, d, scale=0.02)
        mujoco.mj_step(m, d, 20)
        m.opt.iterations, m.opt.tolerance = 100, 1e-12
        mujoco.mj_forward(m, d)
        engine = StagedEngine(m, nworld=2, device="cpu")
        for name in ("qpos", "qvel", "qacc_warmstart"):
            engine.write(name, getattr(d, name), worlds=[1])
        engine.forward()
        return m, d, engine

    return make


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("condim", [3, 4, 6])
def test_like_mujoco(cone, condim, scene):
    m, d, engine = scene(cone, condim)
    assert d.ncon == engine.read("ncon")[1] > 4
    theirs = np.zeros((d.ncon, 6))
    for c in range(d.ncon):
        mujoco.mj_contactForce(m, d, c, theirs[c])
    ours = contact_forces(engine).numpy()
    assert ours.shape == (2, engine.capacity.contacts, 6)
    np.testing.assert_allclose(ours[1, : d.ncon], theirs, rtol=0, atol=5e-3 * np.abs(theirs).max())
    assert not ours[1, d.ncon :].any()
    np.testing.assert_array_equal(contact_force(engine, 2, world=1), ours[1, 2])


def test_sums_over_bodies(scene):
    """What contacts do to each body is what mj_rnePostConstraint adds up; action and reaction cancel."""
    m, d, engine = scene("elliptic", 6)
    mujoco.mj_rnePostConstraint(m, d)
    ours = body_contact_forces(engine).numpy()[1]
    scale = np.abs(ours).max()
    np.testing.assert_allclose(ours[:, :3].sum(0), 0, atol=1e-4 * scale)
    for b in range(1, m.nbody):
        torque, force = d.cfrc_ext[b, :3], d.cfrc_ext[b, 3:]
        about_com = torque - np.cross(d.xipos[b] - d.subtree_com[m.body_rootid[b]], force)
        np.testing.assert_allclose(ours[b], [*force, *about_com], atol=5e-3 * scale)


def test_no_such_contact(scene):
    _, d, engine = scene("elliptic", 3)
    with pytest.raises(UnknownKey, match=f"contact {d.ncon}: world 1 has {d.ncon}"):
        contact_force(engine, d.ncon, world=1)
