"""Models that derivatives are tried on, and states of them."""

import mujoco
import numpy as np

from ..conformance.gradients import converging

WALKER = """
<mujoco>
  <option timestep="0.004" integrator="{integrator}" cone="{cone}" impratio="2"/>
  <default><geom condim="4" friction=".7 .02 .001"/></default>
  <worldbody>
    <geom type="plane" size="3 3 .1" quat="1 .02 .01 0"/>
    <body name="trunk" pos="0 0 .33" quat="1 .05 .1 .3">
      <freejoint/>
      <geom type="box" size=".2 .1 .04" mass="3"/>
      <body pos=".2 .1 0">
        <joint type="ball" stiffness="4" damping=".3"/>
        <geom type="capsule" fromto="0 0 0 .05 .05 -.2" size=".03"/>
        <body pos=".05 .05 -.2">
          <joint name="knee" axis="0 1 .1" damping=".2" stiffness="2" range="-20 20" limited="true"/>
          <joint name="toe" type="slide" axis="0 0 1" damping="4" stiffness="200" frictionloss=".1"/>
          <geom type="sphere" size=".04" pos="0 .02 -.1"/>
        </body>
      </body>
      <body pos="-.2 -.1 0">
        <joint name="hip" axis="0 1 0" damping=".1" armature=".01"/>
        <joint name="swing" axis="1 0 0" damping=".1" frictionloss=".05"/>
        <geom type="capsule" fromto="0 0 0 -.05 -.05 -.25" size=".03" condim="6"/>
      </body>
    </body>
    <body name="ball" pos=".5 .1 .12">
      <freejoint/><geom size=".1" mass=".4" condim="1"/>
      <body pos="0 0 .1"><joint axis="1 0 0" damping=".01"/><geom size=".02" pos="0 .05 .05" mass=".05"/></body>
    </body>
    <body name="can" pos="-.6 .3 .11" quat="1 .1 0 0">
      <freejoint/><geom type="ellipsoid" size=".1 .08 .12" mass=".5" condim="3"/>
      <body pos="0 0 .13"><joint axis="0 1 0" damping=".01"/><geom size=".02" pos="0 .05 .05" mass=".05"/></body>
    </body>
  </worldbody>
  <actuator>
    <position joint="knee" kp="8" kv=".4" ctrlrange="-1 1" ctrllimited="true"/>
    <motor joint="knee" gear=".5"/>
    <general joint="toe" dyntype="filter" dynprm=".05" gainprm="20" biastype="affine" biasprm="0 -30 -1"/>
    <velocity joint="hip" kv=".6" forcerange="-1 1"/>
  </actuator>
</mujoco>
"""
"""A base with legs, of every kind of joint, and loose things; on a tilted floor."""


def settled(xml: str, steps: tuple[int, int] = (39, 59)) -> tuple[mujoco.MjModel, list[mujoco.MjData]]:
    """A model that has fallen and moves a little, in two states that single numbers hold."""
    m = converging(mujoco.MjModel.from_xml_string(xml))
    d, rng, found = mujoco.MjData(m), np.random.default_rng(3), []
    for k in range(steps[-1] + 1):
        d.ctrl[:] = 0.3 * rng.normal(size=m.nu)
        mujoco.mj_step(m, d)
        if k in steps:
            state = mujoco.MjData(m)
            for name in ("qpos", "qvel", "act", "ctrl"):
                getattr(state, name)[:] = np.float32(getattr(d, name))
            found.append(state)
    return m, found
