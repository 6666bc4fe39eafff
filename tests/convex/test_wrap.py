"""Wrapping around spheres and cylinders: against MuJoCo at many random placements, and against closed forms."""

import mujoco
import numpy as np
import pytest

from kinema.convex import kinematics, tendon
from kinema.convex.stage import Stage

from .stage_harness import Harness

SCENE = """
<mujoco>
  <worldbody>
    <body name="a" mocap="true"><site name="a"/></body>
    <body name="b" mocap="true"><site name="b"/></body>
    <body name="side" mocap="true"><site name="side"/></body>
    <geom name="around" type="{shape}" size=".3 .1" euler="20 30 40" pos=".1 .2 .3"/>
  </worldbody>
  <tendon><spatial><site site="a"/><geom geom="around" {side}/><site site="b"/></spatial></tendon>
</mujoco>
"""
STAGES = (
    *kinematics.stages(),
    Stage(tendon.spatial_tendon, over="ntendon"),
    Stage(tendon.tendon_paths),
)
WORLDS = 300


def lengths(m, placements):
    """Tendon lengths and path points for each placement of the three mocap bodies, ours."""
    harness = Harness(m, nworld=len(placements))
    harness.layout.arrays["mocap_pos"].numpy()[:] = placements
    harness.layout.arrays["mocap_quat"].numpy()[:] = (1, 0, 0, 0)
    harness.run(*STAGES)
    read = harness.layout.arrays
    return read["ten_length"].numpy()[:, 0], read["ten_wrapnum"].numpy()[:, 0], read["wrap_xpos"].numpy()


def oracle(m, placement):
    """MuJoCo's length, number of points, and points."""
    d = mujoco.MjData(m)
    d.mocap_pos[:] = placement
    mujoco.mj_kinematics(m, d)
    mujoco.mj_comPos(m, d)
    mujoco.mj_tendon(m, d)
    return d.ten_length[0], d.ten_wrapnum[0], d.wrap_xpos.reshape(-1, 3)[: d.ten_wrapnum[0]].copy()


def placements(side: str) -> np.ndarray:
    rng = np.random.default_rng(7)
    centre = np.array([0.1, 0.2, 0.3])
    points = centre + rng.normal(size=(WORLDS, 3, 3)) * (0.5, 0.5, 0.5)
    if side == "inside":
        points[:, 2] = centre + 0.1 * rng.uniform(-1, 1, size=(WORLDS, 3))
        points[:, 1] = points[:, 0] + 0.3 * (points[:, 1] - points[:, 0])
    return points.astype(np.float32)


@pytest.mark.parametrize("shape", ["sphere", "cylinder"])
@pytest.mark.parametrize("side", ["none", "outside", "inside"])
def test_paths_agree_with_mujoco(shape, side):
    m = mujoco.MjModel.from_xml_string(SCENE.format(shape=shape, side="" if side == "none" else 'sidesite="side"'))
    points = placements(side)
    length, count, path = lengths(m, points)
    compared = wrapped = 0
    for w in range(WORLDS):
        theirs, number, xpos = oracle(m, points[w].astype(float))
        nudged = oracle(m, points[w] + 2e-6)[0]
        if abs(nudged - theirs) > 1e-4:  # on the edge of wrapping: MuJoCo does not agree with itself
            continue
        compared += 1
        assert length[w] == pytest.approx(theirs, abs=3e-6), w
        if count[w] == number:
            np.testing.assert_allclose(path[w].reshape(-1, 3)[:number], xpos, atol=2e-5)
        wrapped += number == 4
    assert compared > 0.95 * WORLDS
    assert wrapped > 10  # the placements do wrap


def test_a_symmetric_wrap_has_the_length_of_its_tangents_and_arc():
    m = mujoco.MjModel.from_xml_string(SCENE.format(shape="sphere", side=""))
    centre = np.array([0.1, 0.2, 0.3])
    points = np.stack([centre + (0.5, 0, 0), centre - (0.5, 0, 0), centre + (0, 0, 1)])
    arc = np.pi - 2 * np.arccos(0.3 / 0.5)
    expected = 2 * np.sqrt(0.5**2 - 0.3**2) + 0.3 * arc
    assert lengths(m, points[None])[0][0] == pytest.approx(expected, rel=1e-6)


def test_the_side_site_chooses_the_way_around():
    """Ends on a line that passes above the cylinder's axis: below is the long way, and the path touches from below."""
    m = mujoco.MjModel.from_xml_string(
        SCENE.format(shape="cylinder", side='sidesite="side"').replace('euler="20 30 40" pos=".1 .2 .3"', "")
    )
    ends = np.array([[0.5, 0.1, 0.0], [-0.5, 0.1, 0.0]])
    above = lengths(m, np.stack([*ends, (0, 0.4, 0)])[None])
    below = lengths(m, np.stack([*ends, (0, -0.4, 0)])[None])
    assert below[0][0] > above[0][0]
    assert below[2][0].reshape(-1, 3)[1, 1] < 0 < above[2][0].reshape(-1, 3)[1, 1]
