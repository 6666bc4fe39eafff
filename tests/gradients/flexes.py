"""Scenes with flexes that derivatives are tried on, states of them, and judges."""

import mujoco
import numpy as np

from ..conformance.gradients import converging, zones

SCENE = """
<mujoco>
  <option timestep="{step}" integrator="{integrator}" cone="{cone}" solver="{solver}"><flag {flags}/></option>
  <asset><mesh name="stone" vertex="-.1 -.1 0 .1 -.1 0 0 .12 0 0 0 .08 .02 .03 -.05"/></asset>
  <worldbody>
    {around}
    <body name="arm" pos="0 0 .6">
      <joint name="turn" axis=".2 1 .1" damping=".05" stiffness=".5"/>
      <geom type="capsule" fromto="-.15 0 .08 .15 0 .08" size=".02" mass=".4" contype="0" conaffinity="0"/>
      {held}
    </body>
    {loose}
  </worldbody>
  <actuator><motor joint="turn" gear=".6"/></actuator>
</mujoco>
"""
"""Something held by an arm that a motor turns, something loose, and what it meets."""

SIZES = {
    "rope": 'dim="1" count="7 1 1" spacing=".045 .05 .05" radius=".011" mass=".1"',
    "cloth": 'dim="2" count="4 4 1" spacing=".06 .06 .06" radius=".008" mass=".1"',
    "solid": 'dim="3" count="3 3 2" spacing=".06 .06 .06" radius=".004" mass=".2"',
}
EDGES = '<edge equality="true"/>'
DAMPED = '<edge equality="true" damping=".01"/>'
SHEET = '<elasticity young="3e4" poisson=".2" thickness="4e-3" elastic2d="both" damping=".002"/>'
BLOCK = '<elasticity young="2e4" poisson=".2" damping=".004"/>'
ROD = '<elasticity young="1e6" poisson=".3"/>' + EDGES
FREE = '<contact contype="0" conaffinity="0" selfcollide="none"/>'
TOUCH = '<contact condim="3" friction=".6 .01 .001" selfcollide="none"/>'
FLOOR = '<geom type="plane" size="2 2 .1" pos="0 0 .55" quat="1 .03 .02 0"/>'
TABLE = '<geom type="box" size=".3 .3 .1" pos="0 0 .498" quat="1 .02 0 0"/>'


def thing(kind: str, more: str = "") -> str:
    """A geom that flexes fall on."""
    size = 'mesh="stone"' if kind == "mesh" else 'size=".06 .05 .04"'
    return f'<geom type="{kind}" {size} pos=".08 .06 .55" quat="1 .1 .2 .05" {more}/>'


def flex(shape: str, inside: str, at: str = "0 0 0", dof: str = "full") -> str:
    """A flexcomp."""
    return f'<flexcomp name="{shape}" type="grid" pos="{at}" dof="{dof}" {SIZES[shape]}>{inside}</flexcomp>'


def scene(
    held: str = "", loose: str = "", around: str = "", *, integrator: str = "Euler", step: float = 0.002,
    cone: str = "pyramidal", solver: str = "Newton", flags: str = 'energy="disable"',
) -> str:  # fmt: skip
    """The text of a scene."""
    names = {"held": held, "loose": loose, "around": around, "integrator": integrator, "step": step}
    return SCENE.format(**names, cone=cone, solver=solver, flags=flags)


def at_once(**more: str) -> dict:
    """The discrete integrator, with long steps."""
    return {"integrator": "discrete", "step": 0.004, **more}


def copied(m: mujoco.MjModel, d: mujoco.MjData) -> mujoco.MjData:
    """The same state."""
    found = mujoco.MjData(m)
    mujoco.mj_copyData(found, m, d)
    return found


def settled(xml: str, steps: tuple[int, ...] = (70, 100)) -> tuple[mujoco.MjModel, list[mujoco.MjData]]:
    """A scene in motion, in states that single numbers hold."""
    m = converging(mujoco.MjModel.from_xml_string(xml))
    d, rng, found = mujoco.MjData(m), np.random.default_rng(5), []
    d.qvel[:] = 0.1 * rng.normal(size=m.nv)
    for k in range(steps[-1] + 1):
        d.ctrl[:] = 0.3 * rng.normal(size=m.nu)
        mujoco.mj_step(m, d)
        if k in steps:
            state = copied(m, d)
            for name in ("qpos", "qvel", "ctrl", "plastic"):
                getattr(state, name)[:] = np.float32(getattr(d, name))
            found.append(state)
    return m, found


def is_steady(m: mujoco.MjModel, d: mujoco.MjData, eps: float) -> bool:
    """Do rows, contacts and their zones stay as they are within the step of the differences?"""
    base = zones(m, copied(m, d))
    return all(
        zones(m, moved(m, d, k, sign * eps)) == base for k in range(2 * m.nv + m.nu) for sign in (1, -1)
    )  # fmt: skip


def moved(m: mujoco.MjModel, d: mujoco.MjData, k: int, by: float) -> mujoco.MjData:
    """The state beside, along one of x and u."""
    found, move = copied(m, d), np.zeros(2 * m.nv + m.nu)
    move[k] = by
    mujoco.mj_integratePos(m, found.qpos, move[: m.nv], 1.0)
    found.qvel[:] += move[m.nv : 2 * m.nv]
    found.ctrl[:] += move[2 * m.nv :]
    return found


def by_steps(m: mujoco.MjModel, d: mujoco.MjData, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """A and B by centered differences of steps; `mjd_transitionFD` does not put back what rods remember (4.0), and
    refuses RK4."""
    nx = 2 * m.nv
    found = np.zeros((nx, nx + m.nu))
    for k in range(nx + m.nu):
        ends = [moved(m, d, k, eps), moved(m, d, k, -eps)]
        for end in ends:
            mujoco.mj_step(m, end)
        turn = np.zeros(m.nv)
        mujoco.mj_differentiatePos(m, turn, 2 * eps, ends[1].qpos, ends[0].qpos)
        found[:, k] = np.concatenate([turn, (ends[0].qvel - ends[1].qvel) / (2 * eps)])
    return found[:, :nx], found[:, nx:]
