"""Cells of pairs: no pair is lost or invented, and what passes is what bounding spheres say."""

import mujoco
import numpy as np
import warp as wp

from kinema.collide.bound import boxes_apart
from kinema.collide.bundles import Geoms
from kinema.collide.cull import PLANE, WIDTH, cells
from kinema.collide.detect import Detector
from kinema.collide.filter import geom_pairs
from kinema.mujoco_enums import Geom

SCENE = """<mujoco><worldbody>
  <geom name="floor" type="plane" size="2 2 .1" quat="1 .1 .2 0" margin=".03"/>
  <geom name="wall" type="box" size=".1 1 1" pos="-1 0 0"/>{bodies}</worldbody>
  <contact><pair geom1="b0" geom2="b3" margin=".2" gap=".1"/><pair geom1="b3" geom2="b0"/>
    <exclude body1="b1" body2="b2"/></contact></mujoco>"""
BODY = '<body name="b{i}"><freejoint/><geom name="b{i}" type="{kind}" size=".1 .06 .08"/></body>'
NWORLD = 32


def model(count: int = 21) -> mujoco.MjModel:
    kinds = ["sphere", "capsule", "box"] * count
    return mujoco.MjModel.from_xml_string(
        SCENE.format(bodies="".join(BODY.format(i=i, kind=kinds[i]) for i in range(count)))
    )


def test_every_pair_is_in_one_cell():
    m = model()
    host = geom_pairs(m)
    geom, cell, pair = cells(m, host)
    assert len(geom) % WIDTH == 0
    assert sorted(pair[pair >= 0].tolist()) == list(range(len(host.function)))
    for (one, first, mask), row in zip(cell, pair, strict=True):
        assert bool(mask & PLANE) == (m.geom_type[geom[one]] == Geom.PLANE)
        assert [bool(mask >> k & 1) for k in range(WIDTH)] == (row >= 0).tolist()
        for k in np.flatnonzero(row >= 0):
            assert sorted(host.geom[row[k]]) == sorted((geom[one], geom[first + k]))


def test_pairs_pass_whose_spheres_overlap():
    m = model()
    host = geom_pairs(m)
    random = np.random.default_rng(2)
    d = mujoco.MjData(m)
    xpos, xmat = np.empty((NWORLD, m.ngeom, 3)), np.empty((NWORLD, m.ngeom, 9))
    for w in range(NWORLD):
        for i in range(m.nbody - 1):
            d.qpos[7 * i : 7 * i + 7] = [*random.uniform(-0.7, 0.7, 3), *random.normal(size=4)]
        mujoco.mj_kinematics(m, d)
        xpos[w], xmat[w] = d.geom_xpos, d.geom_xmat
    detector = Detector(m, NWORLD, device="cpu")
    detector.geoms.xpos.assign(xpos.astype(np.float32))
    detector.geoms.xmat.assign(xmat.astype(np.float32).reshape(NWORLD, m.ngeom, 3, 3))
    detector.detect()
    words = detector.cells.near.numpy().view(np.uint32)
    passed = (words[:, :, None] >> np.arange(32, dtype=np.uint32) & 1).reshape(NWORLD, -1)[:, : len(host.function)] > 0

    one, other = host.geom.T
    between, radius = xpos[:, other] - xpos[:, one], m.geom_rbound
    apart = np.linalg.norm(between, axis=-1) - radius[one] - radius[other]
    plane = m.geom_type[one] == Geom.PLANE
    height = np.einsum("wpi,wpi->wp", between, xmat.reshape(NWORLD, -1, 3, 3)[..., 2][:, one]) - radius[other]
    apart = np.where(plane, height, apart)
    most = float((host.parameters.margin + host.parameters.gap).max())
    assert most > 0.1
    assert passed[apart < most - 1e-6].all()  # nothing is lost
    assert not passed[apart > most + 1e-4].any()  # and little more than asked passes
    assert 0.05 < passed.mean() < 0.95
    touching = detector.contacts.pair.numpy()[0, : int(detector.contacts.ncon.numpy()[0])]
    assert passed[0, touching].all()


@wp.kernel(enable_backward=False)
def ask_boxes(geoms: Geoms, pairs: wp.array(dtype=wp.vec2i), margin: float, apart: wp.array2d(dtype=int)):
    w, p = wp.tid()
    apart[w, p] = wp.where(boxes_apart(geoms, w, pairs[p][0], pairs[p][1], margin), 1, 0)


def test_boxes_are_apart_along_a_face_normal():
    """What one thread finds, which stops at the first axis that tells, is what all six axes say."""
    m = model(6)
    m.geom_aabb[:, :3] = np.random.default_rng(4).uniform(-0.05, 0.05, size=(m.ngeom, 3))
    random, margin = np.random.default_rng(3), 0.01
    xpos = random.uniform(-0.3, 0.3, size=(NWORLD, m.ngeom, 3))
    xmat = np.linalg.qr(random.normal(size=(NWORLD, m.ngeom, 3, 3)))[0]
    detector = Detector(m, NWORLD, device="cpu")
    detector.geoms.xpos.assign(xpos.astype(np.float32))
    detector.geoms.xmat.assign(xmat.astype(np.float32))
    pairs = np.array([(a, b) for a in range(2, m.ngeom) for b in range(1, a)], np.int32)
    apart = wp.zeros((NWORLD, len(pairs)), dtype=int, device="cpu")
    wp.launch(ask_boxes, apart.shape, [detector.geoms, wp.array(pairs, dtype=wp.vec2i, device="cpu"), margin, apart],
              device="cpu")  # fmt: skip

    center = xpos + np.einsum("wgij,gj->wgi", xmat, m.geom_aabb[:, :3])
    one, other = pairs.T
    between = center[:, other] - center[:, one]
    axes = np.concatenate([xmat[:, one], xmat[:, other]], axis=-1)  # six columns
    turned = [np.abs(np.einsum("wpia,wpij->wpaj", axes, xmat[:, k])) for k in (one, other)]
    reach = sum(np.einsum("wpaj,pj->wpa", t, m.geom_aabb[k, 3:]) for t, k in zip(turned, (one, other), strict=True))
    gap = (np.abs(np.einsum("wpia,wpi->wpa", axes, between)) - reach).max(axis=-1) - margin
    sure = np.abs(gap) > 1e-5
    assert 0.2 < np.mean(gap > 0.0) < 0.8
    np.testing.assert_array_equal(apart.numpy()[sure] > 0, gap[sure] > 0.0)
