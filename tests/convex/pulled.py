"""Models with every kind of tendon, transmission, actuator and sensor, and what tests of them share."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

SHARED = Path(__file__).parents[2].parent / "shared" / "models"

TRANSMISSIONS = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <site name="w0" pos="0.3 0 1" euler="20 30 40"/>
    <body name="free" pos="0 0 1">
      <freejoint name="free"/>
      <geom size=".1 .2 .3" type="box"/>
      <site name="f0" pos=".1 .05 .2" euler="10 20 30"/>
      <body name="arm" pos=".2 0 0">
        <joint name="ball" type="ball"/>
        <geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/>
        <site name="a0" pos=".3 0 0" euler="5 40 10"/>
        <body name="fore" pos=".3 0 0">
          <joint name="h" axis="0 1 0"/>
          <joint name="s" type="slide" axis="1 0 0"/>
          <geom size=".05"/>
          <site name="r0" pos=".1 .02 .01" euler="50 0 10"/>
        </body>
        <body name="fore2" pos=".3 .1 0">
          <joint name="h2" axis="0 1 1"/>
          <geom size=".05"/>
          <site name="r1" pos=".1 .02 .05"/>
        </body>
      </body>
    </body>
    <body name="crank" pos="1 0 1">
      <joint name="c" axis="0 1 0"/>
      <geom type="capsule" size=".02" fromto="0 0 0 .2 0 0"/>
      <site name="cs" pos=".2 0 .02"/>
    </body>
    <body name="slide" pos="1.5 0 1">
      <joint name="sl" type="slide" axis="1 0 0"/>
      <joint name="sl2" axis="0 1 0"/>
      <geom size=".05"/>
      <site name="ss" zaxis="-1 0 0"/>
    </body>
  </worldbody>
  <tendon>
    <spatial name="t1" stiffness="10 2 3" damping="1 .2 .3" springlength="0.1 0.2">
      <site site="w0"/><site site="f0"/><site site="a0"/>
      <pulley divisor="2"/><site site="a0"/><site site="r0"/>
      <pulley divisor="3"/><site site="a0"/><site site="r1"/><site site="f0"/>
    </spatial>
    <fixed name="t2" stiffness="3" damping="2">
      <joint joint="h" coef="2"/><joint joint="c" coef="-1"/><joint joint="sl" coef=".5"/>
    </fixed>
  </tendon>
  <actuator>
    <motor joint="free" gear="1 2 3 4 5 6"/>
    <motor jointinparent="free" gear="1 2 3 4 5 6"/>
    <motor joint="ball" gear="1 2 3"/>
    <motor jointinparent="ball" gear="1 2 3"/>
    <motor joint="h" gear="2"/>
    <motor joint="s" gear="-3"/>
    <motor name="on_t1" tendon="t1" gear="2" damping=".7"/>
    <motor tendon="t2" gear="3"/>
    <motor name="thruster" site="f0" gear="1 2 3 4 5 6"/>
    <motor site="r0" gear="0 0 1 0 0 0"/>
    <motor site="r0" refsite="f0" gear="1 2 3 0 0 0"/>
    <motor site="r0" refsite="r1" gear="0 0 0 1 2 3"/>
    <motor name="from_world" site="r0" refsite="w0" gear="1 2 3 0 0 0"/>
    <motor site="cs" refsite="r1" gear="1 2 3 1 2 3"/>
    <general name="crank" cranksite="cs" slidersite="ss" cranklength=".5" gear="2"/>
    <general name="short_crank" cranksite="cs" slidersite="ss" cranklength=".05" gear="2"/>
    <orientation joint="ball" kp="10"/>
    <orientation site="r0" refsite="f0" kp="10"/>
  </actuator>
</mujoco>
"""

ACTUATORS = """
<mujoco>
  <option timestep="0.002" integrator="{integrator}"><flag constraint="disable"/></option>
  <default><joint armature="1" damping="1"/></default>
  <worldbody>
    <site name="w0" pos="0.3 0 1" euler="20 30 40"/>
    <body name="free" pos="0 0 1">
      <freejoint name="free"/>
      <geom size=".1 .2 .3" type="box"/>
      <site name="f0" pos=".1 .05 .2" euler="10 20 30"/>
    </body>
    <body name="arm" pos=".2 0 0">
      <joint name="ball" type="ball"/>
      <geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/>
      <site name="a0" pos=".3 0 0" euler="5 40 10"/>
      <body name="fore" pos=".3 0 0" gravcomp=".7">
        <joint name="h" axis="0 1 0" actuatorgravcomp="true" actuatorfrcrange="-8 9"/>
        <joint name="s" type="slide" axis="1 0 0"/>
        <geom size=".05"/>
        <site name="r0" pos=".1 .02 .01" euler="50 0 10"/>
      </body>
      <body name="fore2" pos=".3 .1 0">
        <joint name="h2" axis="0 1 1"/>
        <geom size=".05"/>
        <site name="r1" pos=".1 .02 .05"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <spatial name="t1" actuatorfrcrange="-3 3"><site site="w0"/><site site="f0"/><site site="a0"/></spatial>
    <fixed name="t2" actuatorfrcrange="-2 2"><joint joint="h" coef="2"/><joint joint="h2" coef="-1"/></fixed>
    <fixed name="t3"><joint joint="h" coef="2"/><joint joint="h2" coef="-1"/></fixed>
  </tendon>
  <actuator>
    <motor joint="free" gear="1 2 3 4 5 6" ctrlrange="-.1 .1"/>
    <position joint="h" kp="10" kv="1"/>
    <position joint="ball" gear="1 2 3" kp="5"/>
    <position site="r0" refsite="w0" gear="0 0 0 1 2 3" kp="5" timeconst=".1"/>
    <intvelocity joint="ball" gear="1 0 0" kp="5" actrange="-10 10"/>
    <intvelocity joint="h2" kp="5" actrange="-.5 .5"/>
    <velocity joint="s" kv="3"/>
    <damper joint="s" kv="3" ctrlrange="0 1"/>
    <cylinder joint="s" timeconst=".1" area="2" bias="1 2 3"/>
    <muscle tendon="t1" lengthrange="0.1 2" ctrlrange="0 1"/>
    <muscle tendon="t3" lengthrange="-1 1" force="30" tausmooth=".3"/>
    <muscle tendon="t3" lengthrange="-.4 .5" force="30"/>
    <general joint="h" dyntype="filter" dynprm=".1" gaintype="affine" gainprm="1 2 3" biastype="affine"
             biasprm="3 2 1" actearly="true" actlimited="true" actrange="-.1 .1" group="2"/>
    <general joint="h" dyntype="filterexact" dynprm=".1" gaintype="affine" gainprm="1 2 3" actearly="true"/>
    <general joint="h2" dyntype="user" actdim="3" gaintype="user" biastype="user"/>
    <motor tendon="t2" gear="2"/>
    <motor tendon="t2" gear="3"/>
    <position tendon="t1" kp="20" forcerange="-.5 .5"/>
    <pid joint="h" kp="10" kv="1" ki="3" imax=".02" slewmax="5"/>
    <pid joint="ball" gear="0 1 0" kp="10" kv="1" ki="3" slewmax="100" input="pos vel ff" forcerange="-5 5"/>
    <pid joint="h2" kp="10" kv="1" input="vel"/>
    <orientation joint="ball" kp="10" kv=".3"/>
    <orientation site="r0" refsite="r1" kp="10" kv=".3" input="quat" forcerange="0 2"/>
    <dcmotor joint="h" motorconst=".05" resistance="2" group="1"/>
    <dcmotor joint="h2" motorconst=".05" resistance="2" inductance="0 .01" thermal="2 3 0 .004 25 20"
             lugre="10 .5 1 1.5 .1" cogging=".1 3 .2"/>
    <dcmotor joint="s" motorconst=".05" resistance="2" input="pos vel ff voltage" controller="3 2 1 5 .1 10"/>
    <dcmotor joint="h2" motorconst=".05" resistance="2" input="none" lugre="10 .5 1 1.5 .1"/>
    <position joint="h" kp="10" delay=".01" nsample="6"/>
    <pid joint="h2" kp="3" kv="1" delay=".005" nsample="6" interp="linear"/>
    <motor joint="s" delay=".007" nsample="8" interp="cubic"/>
  </actuator>
</mujoco>
"""


def shared_model(path: str) -> mujoco.MjModel:
    """One of the public robots beside the project."""
    if not (SHARED / path).exists():
        pytest.skip(f"the public models are not here: {path}")
    return mujoco.MjModel.from_xml_path(str((SHARED / path).resolve()))


def dense(rows: int, columns: int, nnz, adr, colind, values) -> np.ndarray:
    """A sparse matrix by rows as a full one."""
    full = np.zeros((rows, columns))
    for r in range(rows):
        for k in range(adr[r], adr[r] + nnz[r]):
            full[r, colind[k]] += values[k]
    return full


def dense_moment(m: mujoco.MjModel, source) -> np.ndarray:
    """actuator_moment of mjData, or of anything with the same arrays, as a full matrix."""
    return dense(m.nout, m.nv, source.moment_rownnz, source.moment_rowadr, source.moment_colind, source.actuator_moment)


def dense_tendon(m: mujoco.MjModel, values) -> np.ndarray:
    """ten_J as a full matrix."""
    return dense(m.ntendon, m.nv, m.ten_J_rownnz, m.ten_J_rowadr, m.ten_J_colind, values)


def moved(m: mujoco.MjModel, seed: int, scale: float = 0.3) -> mujoco.MjData:
    """MuJoCo's data at a random state, forward computed."""
    d = mujoco.MjData(m)
    rng = np.random.default_rng(seed)
    mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), scale)
    d.qvel[:] = rng.normal(size=m.nv)
    d.ctrl[:] = rng.normal(size=m.nu)
    d.act[:] = rng.uniform(size=m.na)
    mujoco.mj_forward(m, d)
    return d
