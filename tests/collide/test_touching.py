"""Geoms placed side by side in round numbers: what MuJoCo's doubles call touching, floats call touching as well.

The distance of such a pair is 0 up to the last bit of a double, and about two thirds of them are contacts of MuJoCo's.
"""

import mujoco
import numpy as np
import pytest
from oracle import kinema_contacts, two_geoms

ON_TOP = {  # geom 1 of radius r stands on geom 2 of half height h
    "sphere-sphere": ('type="sphere" size="{r}"', 'type="sphere" size="{h}"'),
    "sphere-capsule": ('type="sphere" size="{r}"', 'type="capsule" size="{h} .1" euler="90 0 0"'),
    "sphere-cylinder": ('type="sphere" size="{r}"', 'type="cylinder" size=".2 {h}"'),
    "sphere-box": ('type="sphere" size="{r}"', 'type="box" size=".2 .2 {h}"'),
    "capsule-capsule": ('type="capsule" size="{r} .2" euler="0 90 0"', 'type="capsule" size="{h} .1" euler="90 0 0"'),
    "capsule-box": ('type="capsule" size="{r} .1" euler="90 0 0"', 'type="box" size=".2 .2 {h}"'),
    "box-box": ('type="box" size=".1 .3 {r}"', 'type="box" size=".2 .2 {h}"'),
    "plane-sphere": ('type="sphere" size="{r}"', 'type="plane" size="1 1 .1" pos="0 0 {plane}"'),
    "plane-box": ('type="box" size=".1 .3 {r}"', 'type="plane" size="1 1 .1" pos="0 0 {plane}"'),
    "plane-cylinder": ('type="cylinder" size=".1 {r}"', 'type="plane" size="1 1 .1" pos="0 0 {plane}"'),
}
POSES = 60


@pytest.mark.parametrize("pair", ON_TOP)
def test_what_touches_exactly_touches(pair):
    rng = np.random.default_rng(4)
    touching = 0
    for _ in range(POSES):
        r, h, z, x = (round(float(v), 2) for v in rng.uniform([0.02, 0.05, 0.0, -3.0], [0.2, 0.3, 0.5, 3.0]))
        m = two_geoms(*(g.format(r=r, h=h, plane=round(z + h, 2)) for g in ON_TOP[pair]))
        d = mujoco.MjData(m)
        for body, height in zip(range(1, m.nbody), (round(z + h + r, 2), z), strict=False):
            d.qpos[7 * (body - 1) : 7 * body] = [x, 0.5, height, 1, 0, 0, 0]
        mujoco.mj_forward(m, d)
        if not d.ncon:
            continue
        touching += 1
        assert np.abs(d.contact.dist).max() < 1e-14, "the pair is meant to touch exactly"
        ours = kinema_contacts(m, d.geom_xpos[None], d.geom_xmat[None])[0]
        assert len(ours) >= d.ncon, (r, h, z, x, d.contact.dist)
        np.testing.assert_allclose(ours[:, 0], 0.0, atol=1e-6)
    assert touching > POSES / 3


def test_where_a_plane_is_drawn_does_not_matter():
    """A plane whose frame is far away is as near as any; what hovers over it touches no sooner."""
    m = two_geoms('type="sphere" size=".1"', 'type="plane" size="250 1 .1" pos="248 -90 .3"')
    d = mujoco.MjData(m)
    for height, touches in ((4e-5, 0), (2e-6, 0), (0.0, 1)):
        d.qpos[2] = 0.4 + height
        mujoco.mj_forward(m, d)
        assert d.ncon == touches or height == 0.0
        assert len(kinema_contacts(m, d.geom_xpos[None], d.geom_xmat[None])[0]) == touches


def test_edges_in_one_line_do_not_cross():
    """Boxes of one cross section face each other: rounding alone decides where their edges cross."""
    rng = np.random.default_rng(0)
    m = two_geoms(*['type="box" size=".06 .02 .39"'] * 2)
    d = mujoco.MjData(m)
    alike = 0
    for k in range(POSES):
        quat, turned, rot = rng.normal(size=4), np.zeros(4), np.zeros(9)
        quat /= np.linalg.norm(quat)
        mujoco.mju_quat2Mat(rot, quat)
        mujoco.mju_mulQuat(turned, quat, np.array([1.0, 0, 0, 0] if k % 2 else [0, 0, 0, 1.0]))
        pos = rng.uniform(-1, 1, 3)
        d.qpos[:] = [*pos, *quat, *(pos + rot.reshape(3, 3) @ [0, 0.0399, 0.05 * (k % 3)]), *turned]
        mujoco.mj_forward(m, d)
        ours = kinema_contacts(m, d.geom_xpos[None], d.geom_xmat[None])[0]
        assert len(ours) == 4, (k, len(ours))
        alike += d.ncon == 4
    assert alike > POSES / 3, "most often MuJoCo's doubles see it as well"
