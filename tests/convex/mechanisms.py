"""Small mechanisms that use what the public models do not."""

SPRINGS = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body name="free" pos="0 0 1">
      <freejoint name="f"/>
      <geom type="box" size=".1 .2 .3" density="300"/>
      <body name="ball" pos="0.3 0 0">
        <joint name="b" type="ball" stiffness="3 0.5 0.2" damping="0.4 0.1 0.05" armature="0.01"/>
        <geom type="capsule" fromto="0 0 0 0.3 0.1 0" size=".05"/>
        <body name="hinge" pos="0.3 0.1 0">
          <joint name="h" type="hinge" axis="0 1 1" stiffness="2 -0.3 0.4" springref="20" damping="0.2 0.3 0.1"/>
          <joint name="s" type="slide" axis="1 0 0.5" stiffness="50 3 7" damping="1"/>
          <geom type="cylinder" size=".05 .1"/>
        </body>
      </body>
    </body>
    <body name="arm" pos="1 0 1" gravcomp="0.7">
      <joint name="a1" axis="0 1 0" damping="0.1" armature="0.02"/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0" size=".04"/>
      <body pos="0.4 0 0" gravcomp="1.5">
        <joint name="a2" axis="0 0 1" frictionloss="0.1"/>
        <geom type="ellipsoid" size=".1 .05 .03"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="a1" gear="3" armature="0.05" damping="0.2 0.1"/>
    <motor joint="a2" gear="2"/>
    <position joint="a1" gear="0.5" kp="10" kv="1" armature="0.03" damping="0.1"/>
  </actuator>
</mujoco>
"""

FLUID = """
<mujoco>
  <option timestep="0.002" density="1.2" viscosity="0.3" wind="0.5 -0.2 0.1" integrator="{integrator}"/>
  <worldbody>
    <body pos="0 0 1">
      <freejoint/>
      <geom type="box" size=".1 .2 .3" density="300"/>
      <body pos="0.3 0 0">
        <joint type="ball"/>
        <geom type="ellipsoid" size=".2 .05 .1" fluidshape="ellipsoid" fluidcoef="0.5 0.25 1.5 1.0 1.0"/>
        <geom type="capsule" size=".03 .1" pos="0.2 0 0" euler="30 40 0" fluidshape="ellipsoid"/>
        <body pos="0.4 0 0">
          <joint axis="0 1 1"/>
          <geom type="cylinder" size=".05 .2" fluidshape="ellipsoid" fluidcoef="0.3 0.2 1 0.8 0.6"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

LOOKING = """
<mujoco>
  <worldbody>
    <camera name="still" pos="0 -3 1" euler="80 0 0"/>
    <camera name="watching" mode="targetbody" target="b" pos="2 2 2"/>
    <camera name="watchingcom" mode="targetbodycom" target="a" pos="-2 2 2"/>
    <light name="beam" mode="targetbody" target="b" pos="2 2 3"/>
    <light name="beamcom" mode="targetbodycom" target="a" pos="0 2 3"/>
    <body name="a" pos="0 0 1">
      <freejoint/>
      <geom size=".1"/>
      <camera name="fixed" pos="0 0 .2" euler="10 20 30"/>
      <camera name="track" mode="track" pos="0 -1 0"/>
      <camera name="trackcom" mode="trackcom" pos="0 1 0"/>
      <light name="on" pos="0 0 .3" dir="0 1 -1"/>
      <light name="tracking" mode="track" pos="0 0 .3" dir="0 1 -1"/>
      <light name="trackingcom" mode="trackcom" pos="0 0 .3" dir="1 0 -1"/>
      <body name="b" pos="0.5 0 0">
        <joint axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 .5 0 0" size=".05"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

YIELDING = """
<mujoco>
  <worldbody>
    <body>
      <joint name="h" axis="0 1 0" stiffness="5" springyield="0.2"/>
      <geom type="capsule" fromto="0 0 0 .5 0 0" size=".05"/>
      <body pos=".5 0 0">
        <joint name="b" type="ball" stiffness="4" springyield="0.3"/>
        <geom type="capsule" fromto="0 0 0 .5 0 0" size=".05"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

RESTING = """
<mujoco>
  <option timestep="0.002" cone="{cone}" integrator="{integrator}"/>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body pos="0 0 .099">
      <freejoint/>
      <geom size=".1" friction="0.8 0.02 0.01" condim="6"/>
      <body pos=".15 0 0">
        <joint name="h" axis="0 1 0" range="-0.1 0.1" limited="true" frictionloss="0.3" damping="0.2"/>
        <geom type="capsule" fromto="0 0 0 .2 0 0" size=".04" condim="3"/>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="h" polycoef="0.05 0 0 0 0"/></equality>
</mujoco>
"""
