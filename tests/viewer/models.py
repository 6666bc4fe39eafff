"""The model most viewer tests use: small, without contacts or limits, so that its kernels compile fast."""

ARM = """
<mujoco model="arm">
  <option timestep="0.005"/>
  <statistic extent="1.2" center="0 0 .5"/>
  <asset>
    <texture name="checker" type="2d" builtin="checker" width="64" height="64" rgb1=".1 .1 .1" rgb2=".9 .9 .9"/>
    <material name="checker" texture="checker" texrepeat="2 2" texuniform="true"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 .1" material="checker" contype="0" conaffinity="0"/>
    <camera name="side" pos="0 -3 .6" xyaxes="1 0 0 0 0 1"/>
    <body name="upper" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" damping=".2"/>
      <geom name="red" type="capsule" fromto="0 0 0 .4 0 0" size=".06" rgba="1 0 0 1" contype="0" conaffinity="0"/>
      <site name="tip" pos=".4 0 .1" rgba="1 1 0 1" size=".02"/>
      <body name="fore" pos=".4 0 0">
        <joint name="elbow" axis="0 1 0" damping=".2"/>
        <geom name="blue" type="box" size=".15 .08 .08" pos=".2 0 0" rgba="0 0 1 1" contype="0" conaffinity="0"/>
      </body>
    </body>
    <body name="post" pos="-.6 0 .3">
      <joint name="lift" type="slide" axis="0 0 1" damping="5" stiffness="50" springref=".2"/>
      <geom name="green" size=".12" mass="1" rgba="0 1 0 1" contype="0" conaffinity="0"/>
      <geom name="hidden" size=".2" mass="0" rgba="1 0 1 1" group="3" contype="0" conaffinity="0"/>
      <site name="anchor" size=".01"/>
    </body>
  </worldbody>
  <tendon><spatial name="string" width=".01" rgba="1 .5 0 1"><site site="tip"/><site site="anchor"/></spatial></tendon>
  <actuator>
    <motor name="push" joint="shoulder" gear="5" ctrlrange="-1 1" ctrllimited="true"/>
    <position name="hold" joint="elbow" kp="3"/>
  </actuator>
  <sensor><jointpos name="angle" joint="shoulder"/><framepos name="where" objtype="site" objname="tip"/></sensor>
  <keyframe><key name="up" qpos="-1 0 0.1" ctrl=".2 .3"/><key qpos="1 0 0"/></keyframe>
</mujoco>
"""
