"""The document that the tests of Physics run, and MuJoCo's run of it, stepped as dm_control steps."""

from __future__ import annotations

import mujoco
import numpy as np

from kinema import mjcf

XML = """
<mujoco model="scene">
  <option timestep="0.004"/>
  <asset><material name="skin" rgba="0.5 0.5 0.5 1"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 0.1"/>
    <camera name="eye" pos="0 -2 1" xyaxes="1 0 0 0 0.4 1"/>
    <body name="post" pos="0.1 0.2 0.3" quat="0.9 0.1 0.3 0.2">
      <geom name="post" type="capsule" size="0.02 0.1"/>
      <site name="top" pos="0 0 0.1" euler="10 20 30"/>
    </body>
    <body name="target" mocap="true" pos="0.5 0.5 0.5">
      <geom name="target" size="0.02" contype="0" conaffinity="0"/>
    </body>
    <body name="ball" pos="-1 0 0.09"><freejoint name="root"/><geom name="ball" size="0.1" mass="0.5"/>
      <site name="centre"/></body>
    <body name="upper" pos="1 0 1">
      <joint name="shoulder" type="ball" damping="0.2"/>
      <geom name="upper" type="capsule" size="0.04" fromto="0 0 0 0.3 0 0"/>
      <body name="lower" pos="0.3 0 0">
        <joint name="elbow" axis="0 1 0" damping="0.1" range="-90 90" limited="true"/>
        <joint name="stretch" type="slide" axis="1 0 0" stiffness="200" damping="2"/>
        <geom name="lower" type="capsule" size="0.03" fromto="0 0 0 0.25 0 0" material="skin"/>
        <site name="tip" pos="0.25 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="servo" joint="elbow" kp="5"/>
    <general name="muscle" joint="stretch" dyntype="filter" dynprm="0.05" gainprm="20"/>
  </actuator>
  <sensor>
    <jointpos name="angle" joint="elbow"/>
    <framepos name="where" objtype="site" objname="tip"/>
    <accelerometer name="shake" site="tip"/>
    <gyro name="turn" site="tip"/>
    <actuatorfrc name="effort" actuator="servo"/>
  </sensor>
  <custom><numeric name="gains" data="1 2 3"/></custom>
  <keyframe>
    <key name="up" time="2" qpos="-1 0 0.5 1 0 0 0 1 0 0 0 0.4 0.01" ctrl="0.3 0.2" act="0.1" mpos="0.1 0.2 0.3"/>
  </keyframe>
</mujoco>
"""


def document() -> mjcf.RootElement:
    """The document."""
    return mjcf.from_xml_string(XML)


class Oracle:
    """MuJoCo's run of the same document, stepped and reset as dm_control's Physics does."""

    def __init__(self, xml: str | None = None):
        self.m = mujoco.MjModel.from_xml_string(xml or document().to_xml_string())
        self.d = mujoco.MjData(self.m)
        self.after_reset()

    def after_reset(self) -> None:
        kept = self.m.opt.disableflags
        self.m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        mujoco.mj_forward(self.m, self.d)
        self.m.opt.disableflags = kept

    def reset(self, key: int | None = None) -> None:
        if key is None:
            mujoco.mj_resetData(self.m, self.d)
        else:
            mujoco.mj_resetDataKeyframe(self.m, self.d, key)
        self.after_reset()

    def step(self, nstep: int = 1) -> None:
        mujoco.mj_step2(self.m, self.d)
        if nstep > 1:
            mujoco.mj_step(self.m, self.d, nstep - 1)
        mujoco.mj_step1(self.m, self.d)


POSITION = ("xpos", "xquat", "xmat", "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat", "site_xpos",
            "site_xmat", "cam_xpos", "subtree_com", "actuator_length", "cvel", "qfrc_bias", "qfrc_passive")  # fmt: skip
STATE = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat")
ACCELERATION = ("qacc", "act_dot", "actuator_force", "qfrc_actuator", "qfrc_constraint")


def assert_same(
    physics, oracle: Oracle, names=(*POSITION, *STATE, *ACCELERATION, "sensordata"), tolerance=2e-3
) -> None:
    """Fields of mjData agree, each to the tolerance of its scale."""
    for name in names:
        wanted = np.asarray(getattr(oracle.d, name))
        scale = max(1.0, np.abs(wanted).max(initial=0))
        found = getattr(physics.data, name)
        assert found.shape == wanted.shape, name
        np.testing.assert_allclose(found, wanted, atol=tolerance * scale, rtol=0, err_msg=name)
