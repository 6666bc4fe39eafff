"""Small models that the tests of Simulation share, so that they share kernels."""

ARM = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body name="arm" pos="0 0 1">
      <joint name="a" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0" size=".04" contype="0" conaffinity="0"/>
      <body name="hand" pos="0.4 0 0">
        <joint name="b" axis="0 0 1"/>
        <geom type="box" size=".1 .05 .03" contype="0" conaffinity="0"/>
      </body>
    </body>
    <body name="target" mocap="true"><geom size=".02" contype="0" conaffinity="0"/></body>
  </worldbody>
  <actuator><motor joint="a" gear="2"/></actuator>
  <keyframe><key name="up" qpos="0.3 -0.2" qvel="1 2" ctrl="0.5" time="3"/></keyframe>
</mujoco>
"""

LIMBS = """
<mujoco>
  <option timestep="0.005"/>
  <asset>
    <texture name="checker" type="2d" builtin="checker" width="8" height="8" rgb1="1 0 0" rgb2="0 1 0"/>
    <material name="grid" texture="checker" reflectance="0.3"/>
  </asset>
  <worldbody>
    <light name="sun" pos="0 0 3" dir="0 0 -1"/>
    <camera name="eye" pos="0 -2 1" xyaxes="1 0 0 0 0.5 1" fovy="50"/>
    <body name="trunk" pos="0 0 1">
      <freejoint name="root"/>
      <geom name="belly" type="box" size=".1 .2 .1" material="grid"/>
      <site name="hook" pos=".1 0 0"/>
      <body name="shank" pos="0 0 -.15">
        <joint name="knee" axis="0 1 0" range="-60 60" damping="0.5" stiffness="2"/>
        <geom name="shin" type="capsule" fromto="0 0 0 0 0 -.3" size=".03" friction="0.8 0.01 0.001"/>
        <site name="tip" pos="0 0 -.3"/>
      </body>
    </body>
    <body name="target" mocap="true" pos="1 0 1"><geom size=".02" contype="0" conaffinity="0"/></body>
  </worldbody>
  <tendon><spatial name="cord" stiffness="5"><site site="hook"/><site site="tip"/></spatial></tendon>
  <actuator>
    <motor name="pull" joint="knee" gear="3"/>
    <general name="muscle" tendon="cord" dyntype="filter" dynprm="0.05" gainprm="10"/>
  </actuator>
  <equality><joint name="tie" joint1="knee" polycoef="0.1 0 0 0 0" active="false"/></equality>
  <sensor>
    <gyro name="imu" site="tip"/>
    <jointpos name="angle" joint="knee"/>
  </sensor>
  <custom><numeric name="pair" data="3 4"/></custom>
  <keyframe><key name="up" qpos="0 0 1.2 0.9 0.1 0.4 0 0.3" qvel="1 2 3 0.1 0.2 0.3 -1" act="0.2" ctrl="0.5 0.7"/>
  </keyframe>
</mujoco>
"""

REMEMBERING = """
<mujoco>
  <option timestep="0.01"/>
  <extension>
    <plugin plugin="mujoco.pid">
      <instance name="hold">
        <config key="kp" value="20"/><config key="ki" value="8"/><config key="kd" value="1"/>
        <config key="slewmax" value="3"/>
      </instance>
    </plugin>
  </extension>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <body name="ball" pos="0 0 .3"><freejoint/><geom size=".1" mass="1"/></body>
    <body name="arm" pos="0 1 1">
      <joint name="a" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0" size=".04" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <actuator>
    <plugin joint="a" plugin="mujoco.pid" instance="hold" actdim="2"/>
    <motor joint="a" delay=".03" nsample="5"/>
  </actuator>
  <sensor>
    <jointpos joint="a" delay=".025" nsample="5" interp="linear"/>
    <jointvel joint="a" interval=".03" nsample="3"/>
  </sensor>
</mujoco>
"""
"""A state of every sort: warm start of contacts, plugin's activations, past controls and readings."""
