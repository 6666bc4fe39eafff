"""The constraint solver against MuJoCo's, on MuJoCo's own rows."""

import mujoco
import numpy as np
import pytest

from kinema.convex.constraint import assemble
from kinema.convex.solve.primal import conjugate_gradient, newton
from kinema.convex.stage import Stage
from tests.convex.constraint.test_rows import SCENE
from tests.convex.stage_harness import Harness


def solve_both(m, d, warm=False, solver=None):
    """MuJoCo at convergence, and ours from the same rows."""
    m.opt.iterations, m.opt.tolerance = 200, 1e-14
    mujoco.mj_forward(m, d)
    harness = Harness(m, nworld=2)
    harness.inject(d)
    for name in ("efc_J", "solver_H", "solver_fullM"):  # what lies outside the blocks must never be read
        harness.layout.arrays[name].fill_(np.nan)
    if not warm:
        harness.write("qacc_warmstart", np.zeros(m.nv))
    harness.run(*(stage for part in assemble.stages(m) for stage in part), Stage(solver or newton(m.nv), lanes=True))
    return harness


def check(m, d, harness):
    scale = np.abs(d.qacc).max() + np.abs(d.qacc_smooth).max()
    np.testing.assert_allclose(harness.read("qacc", 1), d.qacc, rtol=5e-3, atol=5e-4 * scale)
    force = np.abs(d.qfrc_constraint).max()
    np.testing.assert_allclose(harness.read("qfrc_constraint", 1), d.qfrc_constraint, rtol=5e-3, atol=1e-3 * force)
    assert force > 0


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("condim", [1, 3, 4, 6])
def test_every_kind_of_row(cone, condim, random_state):
    m = mujoco.MjModel.from_xml_string(SCENE.format(cone=cone, condim=condim, impratio=3.5))
    d = mujoco.MjData(m)
    random_state(m, d, scale=0.15)
    check(m, d, solve_both(m, d))


@pytest.mark.parametrize("model", ["suite/humanoid.xml", "suite/quadruped.xml", "suite/finger.xml"])
@pytest.mark.parametrize("cone", [0, 1])
def test_real_models_in_contact(model, cone, dm_control_assets, random_state):
    m = mujoco.MjModel.from_xml_path(str(dm_control_assets / model))
    m.opt.cone = cone
    d = mujoco.MjData(m)
    random_state(m, d)
    mujoco.mj_step(m, d, 200)
    check(m, d, solve_both(m, d))
    harness = solve_both(m, d, warm=True)
    assert harness.read("solver_niter", 1) <= 2, "a warm start at the solution has nothing left to do"


@pytest.mark.parametrize("model", ["suite/humanoid.xml", "suite/quadruped.xml"])
def test_conjugate_gradients_reach_the_same_acceleration(model, dm_control_assets, random_state):
    m = mujoco.MjModel.from_xml_path(str(dm_control_assets / model))
    d = mujoco.MjData(m)
    random_state(m, d)
    mujoco.mj_step(m, d, 200)
    harness = solve_both(m, d, solver=conjugate_gradient())
    check(m, d, harness)
    assert 3 < harness.read("solver_niter", 1) < 200


def test_many_trees():
    """A heap of free bodies: the Hessian is sparse, and elimination fills it in."""
    heap = "".join(
        f'<body pos="{0.15 * (i % 3)} {0.15 * (i // 3 % 3)} {0.1 + 0.15 * (i // 9)}"><freejoint/>'
        f'<geom type="{("box", "sphere")[i % 2]}" size=".08 .08 .08"/></body>'
        for i in range(40)
    )
    ground = '<geom type="plane" size="9 9 9"/>'
    m = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{ground}{heap}</worldbody></mujoco>")
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, 60)
    assert m.ntree == 40 and d.nefc > 200
    check(m, d, solve_both(m, d))


def test_worlds_do_not_touch_each_other(dm_control_assets, random_state):
    m = mujoco.MjModel.from_xml_path(str(dm_control_assets / "suite/humanoid.xml"))
    d = mujoco.MjData(m)
    random_state(m, d)
    mujoco.mj_step(m, d, 200)
    harness = solve_both(m, d)
    np.testing.assert_array_equal(harness.read("qacc", 0), harness.read("qacc", 1))
