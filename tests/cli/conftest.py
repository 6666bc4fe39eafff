"""Models and helpers of the command's tests."""

import pytest

from kinema.cli import main

ARM = """\
<mujoco model="arm">
  <option timestep="0.01"/>
  <worldbody>
    <light pos="0 0 3"/>
    <camera name="side" pos="0 -2 1" xyaxes="1 0 0 0 0 1"/>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" axis="0 1 0" damping="0.1"/>
      <geom name="upper" type="capsule" fromto="0 0 0 0.4 0 0" size=".04" contype="0" conaffinity="0"/>
      <body name="lower" pos="0.4 0 0">
        <joint name="elbow" axis="0 1 0"/>
        <geom name="lower" type="capsule" fromto="0 0 0 0.3 0 0" size=".03" contype="0" conaffinity="0"/>
        <site name="wrist" pos="0.3 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="shoulder" gear="2" ctrlrange="-1 1"/></actuator>
  <keyframe><key name="up" qpos="-1.5 0.2"/></keyframe>
</mujoco>
"""

HAND = """\
<mujoco model="hand">
  <worldbody>
    <body name="palm"><joint name="turn" axis="1 0 0"/><geom name="palm" type="box" size=".05 .03 .02"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def arm(tmp_path):
    """Path of a model of two links and one motor."""
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    return str(path)


@pytest.fixture
def hand(tmp_path):
    """Path of a model to attach."""
    path = tmp_path / "hand.xml"
    path.write_text(HAND)
    return str(path)


@pytest.fixture
def kinema(capsys):
    """Runs the command in this process: kinema("run", ...) -> (exit code, standard output, standard error)."""

    def call(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        heard = capsys.readouterr()
        return code, heard.out, heard.err

    return call
