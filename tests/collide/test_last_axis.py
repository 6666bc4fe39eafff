"""Axes along which pairs were apart: whatever they say, contacts are those of a world without a past."""

import mujoco
import numpy as np
import pytest

from kinema.collide.detect import Detector
from kinema.collide.table import PairFunction

KINDS = (
    'type="mesh" mesh="rock"',
    'type="cylinder" size=".07 .1"',
    'type="ellipsoid" size=".06 .09 .12"',
    'type="box" size=".05 .08 .1"',
    'type="capsule" size=".05 .08"',
    'type="sphere" size=".08"',
)
NWORLD, COUNT = 64, 12


def model(margin: float) -> mujoco.MjModel:
    points = np.random.default_rng(0).normal(size=(20, 3))
    points *= 0.1 / np.linalg.norm(points, axis=1, keepdims=True)
    vertices = " ".join(f"{x:.4f}" for x in points.ravel())
    bodies = "".join(
        f'<body><freejoint/><geom {KINDS[i % len(KINDS)]} margin="{margin}"/></body>' for i in range(COUNT)
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><mesh name="rock" vertex="{vertices}"/></asset><worldbody>{bodies}</worldbody></mujoco>'
    )


def poses(m: mujoco.MjModel, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random, d = np.random.default_rng(seed), mujoco.MjData(m)
    xpos, xmat = np.empty((NWORLD, m.ngeom, 3), np.float32), np.empty((NWORLD, m.ngeom, 3, 3), np.float32)
    for w in range(NWORLD):
        for i in range(COUNT):
            d.qpos[7 * i : 7 * i + 7] = [*random.uniform(-0.2, 0.2, 3), *random.normal(size=4)]
        mujoco.mj_kinematics(m, d)
        xpos[w], xmat[w] = d.geom_xpos, d.geom_xmat.reshape(-1, 3, 3)
    return xpos, xmat


def detect(detector: Detector) -> list[np.ndarray]:
    """The contacts of all worlds: how many, then pair, distance, place and frame of each."""
    detector.detect()
    count = detector.contacts.ncon.numpy()
    used = np.arange(detector.capacity) < count[:, None]
    return [count] + [getattr(detector.contacts, name).numpy()[used] for name in ("pair", "dist", "pos", "frame")]


@pytest.mark.parametrize("margin", [0.0, 0.02])
def test_no_axis_hides_a_contact(margin):
    m = model(margin)
    detector = Detector(m, NWORLD, capacity=400, device="cpu")
    xpos, xmat = poses(m, 1)
    detector.geoms.xpos.assign(xpos)
    detector.geoms.xmat.assign(xmat)
    axis = detector.cells.axis
    axis.zero_()
    expected = detect(detector)
    assert expected[0].sum() > 100
    found = axis.numpy()
    convex = np.flatnonzero(detector.host.function == PairFunction.CONVEX)
    touching = np.zeros((NWORLD, len(detector.host.function)), bool)
    touching[np.repeat(np.arange(NWORLD), expected[0]), expected[1]] = True
    remembered = np.any(found != 0.0, axis=-1)
    assert remembered.sum() > 100  # apart, though their bounds overlap
    assert not np.any(remembered & touching[:, convex])

    random = np.random.default_rng(2)
    other = random.normal(size=found.shape).astype(np.float32)
    for past in (found, -found, other, 1e-3 * other, np.full_like(other, np.nan)):
        axis.assign(past)
        for here, there in zip(detect(detector), expected, strict=True):
            np.testing.assert_array_equal(here, there)


def test_apart_pairs_are_left_alone():
    """An axis that proves a pair apart stays as it is, whatever its length: nothing is searched for."""
    m = model(0.0)
    detector = Detector(m, NWORLD, capacity=400, device="cpu")
    for array, value in zip((detector.geoms.xpos, detector.geoms.xmat), poses(m, 1), strict=True):
        array.assign(value)
    detector.detect()
    found = detector.cells.axis.numpy()
    apart = np.any(found != 0.0, axis=-1)
    marked = 7.0 * found
    detector.cells.axis.assign(marked)
    detector.detect()
    left = np.all(detector.cells.axis.numpy() == marked, axis=-1)
    assert left[apart].mean() > 0.95  # others are apart by less than GJK's tolerance
