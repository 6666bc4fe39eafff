"""Small scenes with flexes, and one engine of kernels that they share."""

from __future__ import annotations

from functools import cache

import mujoco
import numpy as np

from tests.conformance.staged import StagedEngine

COUNT = {1: "7 1 1", 2: "5 5 1", 3: "3 3 3"}
EDGES = '<edge equality="true"/>'
GEOMS = {
    "plane": '<geom type="plane" size="3 3 .1" euler="3 5 0"/>',
    "sphere": '<body pos=".02 .03 -.14"><freejoint/><geom type="sphere" size=".15"/></body>',
    "capsule": '<body pos=".02 .03 -.06" euler="80 10 0"><freejoint/><geom type="capsule" size=".07 .12"/></body>',
    "box": '<body pos=".02 .03 -.09" euler="8 10 0"><freejoint/><geom type="box" size=".12 .1 .1"/></body>',
    "cylinder": '<body pos=".02 .03 -.09" euler="80 10 0"><freejoint/><geom type="cylinder" size=".1 .12"/></body>',
    "ellipsoid": '<body pos=".02 .03 -.09" euler="80 9 0"><freejoint/><geom type="ellipsoid" size=".1 .1 .2"/></body>',
}


def scene(
    dim: int, geom: str = "", *, inside: str = EDGES, option: str = "", contact: str = 'selfcollide="none"',
    height: float | None = None, more: str = "",
) -> str:  # fmt: skip
    """A grid of vertices over a geom."""
    height = {1: 0.001, 2: 0.001, 3: 0.1}[dim] if height is None else height
    return f"""<mujoco><option timestep="0.002" {option}/><worldbody>{geom}
      <flexcomp name="soft" type="grid" dim="{dim}" count="{COUNT[dim]}" spacing=".1 .1 .1" pos="0 0 {height}"
        radius=".01" mass="1">{inside}<contact {contact}/></flexcomp></worldbody>{more}</mujoco>"""


@cache
def model(text: str) -> mujoco.MjModel:
    """A compiled scene."""
    return mujoco.MjModel.from_xml_string(text)


@cache
def solid(text: str) -> mujoco.MjModel:
    """A scene whose flexes are Stable Neo-Hookean, which only specs can ask for."""
    spec = mujoco.MjSpec.from_string(text)
    for flex in spec.flexes:
        flex.elastic3d = 1
    return spec.compile()


def disturbed(m: mujoco.MjModel, steps: int, size: float = 0.01) -> mujoco.MjData:
    """A state some steps on, shaken, in numbers that floats can hold."""
    d = mujoco.MjData(m)
    for _ in range(steps):
        mujoco.mj_step(m, d)
    draw = np.random.default_rng(steps)
    d.qvel += size * draw.standard_normal(m.nv)
    if m.nq == m.nv:
        d.qpos += 0.1 * size * draw.standard_normal(m.nq)
    for name in ("qpos", "qvel", "qacc_warmstart", "plastic"):
        getattr(d, name)[:] = getattr(d, name).astype(np.float32)
    mujoco.mj_forward(m, d)
    return d


def engine_at(m: mujoco.MjModel, d: mujoco.MjData, of: type[StagedEngine] = StagedEngine) -> StagedEngine:
    """An engine in the same state, after forward dynamics."""
    engine = of(m, 1, device="cpu")
    for name in ("qpos", "qvel", "qacc_warmstart", *(["plastic"] if m.nplastic else [])):
        engine.write(name, getattr(d, name)[None].astype(np.float32))
    engine.forward()
    return engine


def off(ours, theirs) -> float:
    """The largest difference, over the largest number."""
    ours, theirs = np.asarray(ours, float).ravel(), np.asarray(theirs, float).ravel()
    return float(np.abs(ours - theirs).max(initial=0.0) / max(1e-6, np.abs(theirs).max(initial=0.0)))
