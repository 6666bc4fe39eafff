"""Rays against mj_ray: distance, geom and normal."""

import mujoco
import numpy as np
import pytest
import warp as wp
from shapes import ASSET, GEOM

from kinema.collide import upload
from kinema.collide.ray import RayScene, cast_rays

N = 400


def scene(kinds: list[str]) -> mujoco.MjModel:
    bodies = "".join(
        f'<body pos="{0.9 * i} 0 {0.3 * (i % 2)}" quat=".8 .3 -.{i} .2"><freejoint/>'
        f'<geom {GEOM[k]} group="{i % 3}"/></body>'
        for i, k in enumerate(kinds)
        if k not in ("plane", "hfield")
    )
    static = "".join(f"<geom {GEOM[k]}/>" for k in kinds if k in ("plane", "hfield"))
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><asset>{ASSET}</asset><worldbody>{static}{bodies}</worldbody></mujoco>"
    )


def cast(m, d, origin, direction, **options):
    """Distances, geoms and normals of rays in one world."""
    scene_ = RayScene(m, device="cpu")
    geoms = upload.geoms(m, 1)
    geoms.xpos.assign(d.geom_xpos[None].astype(np.float32))
    geoms.xmat.assign(d.geom_xmat.reshape(1, -1, 3, 3).astype(np.float32))
    n = len(origin)
    out = [wp.zeros((1, n), dtype=t) for t in (float, int, wp.vec3)]
    rays = [wp.array(x[None].astype(np.float32), dtype=wp.vec3) for x in (origin, direction)]
    inputs = [geoms, upload.height_fields(m), scene_.targets, RayScene.filter(**options), *rays]
    wp.launch(cast_rays, (n, 1), inputs=inputs, outputs=out, device="cpu")
    return [x.numpy()[0] for x in out]


@pytest.mark.parametrize(
    "kind", ["plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "rock", "all"]
)
def test_rays(kind):
    m = scene(list(GEOM) if kind == "all" else [kind])
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    rng = np.random.default_rng(5)
    extent = np.array([8.0, 1.0, 1.0]) if kind == "all" else np.array([0.4, 0.4, 0.3])
    direction = rng.normal(size=(N, 3))
    target = rng.uniform(-1, 1, size=(N, 3)) * extent
    origin = (target - direction * rng.uniform(0.0, 2.0, size=(N, 1))).astype(np.float32).astype(np.float64)
    direction = direction.astype(np.float32).astype(np.float64)
    dist, geom, normal = cast(m, d, origin, direction)
    hits = wrong = 0
    for k in range(N):
        g, n = np.array([-1], np.int32), np.zeros(3)
        want = mujoco.mj_ray(m, d, origin[k], direction[k], None, 1, -1, g, n)
        hits += want >= 0
        good = geom[k] == g[0] and abs(dist[k] - want) < 1e-5 * max(1, want)
        wrong += not (good and (want < 0 or np.abs(normal[k] - n).max() < 1e-3))
    assert hits > 40
    assert wrong <= 0.01 * N


def test_filters():
    m = scene(["plane", "sphere", "box", "capsule"])
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    m.geom_rgba[2, 3] = 0.0
    rng = np.random.default_rng(6)
    origin = np.tile([1.0, 0.2, 3.0], (N, 1))
    direction = rng.normal(size=(N, 3)) * [1, 1, 0.3] + [0, 0, -2]
    for options in ({"groups": [1, 0, 1, 0, 0, 0]}, {"static": False}, {"bodyexclude": 1}):
        dist, geom, _ = cast(m, d, origin, direction, **options)
        groups = options.get("groups")
        for k in range(0, N, 5):
            g = np.array([-1], np.int32)
            group = None if groups is None else np.array(groups, np.uint8)
            args = (group, int(options.get("static", True)), options.get("bodyexclude", -1), g, None)
            want = mujoco.mj_ray(m, d, origin[k], direction[k], *args)
            assert geom[k] == g[0]
            assert dist[k] == pytest.approx(want, rel=1e-5)
