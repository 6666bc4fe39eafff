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
