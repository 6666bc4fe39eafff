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


LINKAGE = """
<mujoco>
  <option timestep="0.003" integrator="{integrator}" cone="{cone}" density="20" viscosity=".05"/>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    <site name="post" pos="0 -.2 .9"/>
    <body name="arm" pos="0 0 .8" gravcomp=".6">
      <joint name="a" axis="0 1 0" damping=".1 .02"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" fluidshape="ellipsoid"/><site name="near" pos=".1 0 .04"/>
      <body name="link" pos=".3 0 0">
        <joint name="b" axis="0 1 .2" damping=".1"/><joint name="c" axis="1 0 0" damping=".1"/>
        <geom type="capsule" fromto="0 0 0 .2 0 -.2" size=".03"/>
        <geom name="drum" type="cylinder" size=".04 .05" euler="90 0 0" contype="0" conaffinity="0"/>
        <site name="tip" pos=".2 0 -.2"/><site name="side" pos="0 0 .1"/>
      </body>
    </body>
    <body name="bar" pos="0 .3 .8" gravcomp="1">
      <joint name="e" axis="0 1 0" damping=".1" armature=".01"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
      <body name="end" pos=".3 0 0"><joint name="f" type="ball" damping=".1"/><geom size=".03" pos=".1 0 0"/></body>
    </body>
    <body name="slab" pos=".6 .3 .7"><freejoint/><geom type="box" size=".1 .05 .02" mass=".6"/>
      <body pos=".1 0 0"><joint name="g" type="slide" axis="0 0 1" damping="1" stiffness="40"/><geom size=".03"/></body>
    </body>
    <body pos="-.6 0 .12" quat="1 .3 .1 0"><freejoint/><geom type="box" size=".1 .06 .12" mass=".5"/></body>
    <body pos="-.6 .5 1.5"><freejoint/><geom type="box" size=".1 .06 .12" mass=".5"/></body>
  </worldbody>
  <tendon>
    <spatial name="muscle" range="0 .5" limited="true" damping=".2">
      <site site="near"/><geom geom="drum" sidesite="side"/><site site="tip"/></spatial>
    <spatial name="rope" stiffness="8" damping=".4 .1"><site site="post"/><site site="tip"/></spatial>
    <fixed name="pair" damping=".05" frictionloss=".03"><joint joint="a" coef="1"/><joint joint="e" coef="-.8"/></fixed>
    <fixed name="other"><joint joint="c" coef="1"/></fixed>
  </tendon>
  <equality>
    <connect body1="end" body2="slab" anchor=".2 0 0"/>
    <weld body1="arm" body2="bar" relpose="0 .3 0 1 0 0 0" solref=".05 1" torquescale=".5"/>
    <tendon tendon1="pair" tendon2="other" polycoef="0 .3 .2 0 0" solref=".1 1"/>
  </equality>
  <actuator>
    <muscle tendon="muscle" ctrlrange="-1 1" lengthrange=".1 .5"/>
    <general tendon="rope" gainprm="4" biastype="affine" biasprm="0 -3 -.5"/>
    <general joint="a" gaintype="affine" gainprm="3 1 -.4"/>
    <position tendon="pair" kp="3" kv=".2"/>
    <motor joint="f" gear="1 .5 .2"/>
    <general site="tip" refsite="post" gear="1 .3 0 .1 0 0" biastype="affine" biasprm="0 -2 -.3" gainprm="2"/>
  </actuator>
</mujoco>
"""
"""Everything that couples dofs: tendons that wrap, equalities, actuators through them, a fluid; and loose bodies."""


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
