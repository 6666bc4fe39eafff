"""mjcf.Physics.render: dm_control's overlays, flag overrides and scene options."""

import mujoco
import numpy as np
import pytest

from kinema import mjcf
from kinema.errors import KinemaError
from kinema.physics import options

MODEL = """<mujoco><visual><global elevation="-8" azimuth="120"/></visual>
  <asset><texture type="skybox" builtin="gradient" rgb1=".2 .5 .9" rgb2="0 0 .2" width="32" height="32"/>
    <material name="mirror" reflectance=".5"/></asset>
  <worldbody><light pos="1 0 3" dir="-.3 0 -1"/><geom type="plane" size="0 0 .1" material="mirror"/>
  <body name="box" pos="0 0 .199"><freejoint/><geom type="box" size=".2 .2 .2" rgba=".8 .3 .2 1"/></body>
  <body name="arm" pos=".5 0 .8"><joint name="hip" axis="1 0 0"/><geom size=".05"/></body>
  </worldbody></mujoco>"""
SIZE = {"height": 60, "width": 80}


@pytest.fixture(scope="module")
def physics():
    return mjcf.Physics.from_xml_string(MODEL)


class Text:
    """What dm_control's TextOverlay keeps."""

    def __init__(self, title="", body="", position="top left"):
        self.title, self.body, self.position = title, body, position


def test_numbers_are_mujocos():
    names = {name.removeprefix("mjRND_").lower(): int(getattr(mujoco.mjtRndFlag, name))
             for name in dir(mujoco.mjtRndFlag) if name.startswith("mjRND_")}  # fmt: skip
    assert names == {name: i for i, name in enumerate(options.FLAGS)}
    assert set(options.SWITCHED) | set(options.AS_IT_IS) == set(names)
    flags = {"contacts": "CONTACTPOINT", "forces": "CONTACTFORCE", "joints": "JOINT", "inertia": "INERTIA"}
    for name, flag in flags.items():
        assert options.DECORATED[name] == int(getattr(mujoco.mjtVisFlag, f"mjVIS_{flag}"))
    for number, name in options.LABELLED.items():
        assert number == int(getattr(mujoco.mjtLabel, f"mjLABEL_{name.upper()}"))
    assert int(mujoco.mjtFrame.mjFRAME_BODY) == options.BODY_FRAMES


@pytest.mark.parametrize("flag", ["shadow", "reflection", "skybox", mujoco.mjtRndFlag.mjRND_HAZE])
def test_flags_are_switched(physics, flag):
    plain = physics.render(**SIZE)
    assert np.array_equal(plain, physics.render(render_flag_overrides={flag: True}, **SIZE))
    assert not np.array_equal(plain, physics.render(render_flag_overrides={flag: False}, **SIZE))


def test_flags_of_opengl_are_refused_unless_they_are_so_anyway(physics):
    physics.render(render_flag_overrides={"wireframe": False}, **SIZE)
    with pytest.raises(KinemaError, match="wireframe"):
        physics.render(render_flag_overrides={"wireframe": True}, **SIZE)
    with pytest.raises(KinemaError, match="did you mean 'shadow'"):
        physics.render(render_flag_overrides={"shadows": True}, **SIZE)


def test_texts(physics):
    plain, text = physics.render(**SIZE), Text("time", "0.1", "bottom right")
    found = physics.render(overlays=[text], **SIZE)
    rows, columns = np.nonzero(np.any(found != plain, axis=-1))
    assert rows.min() > 30 and columns.min() > 20 and len(rows) > 30
    text.position = int(mujoco.mjtGridPos.mjGRID_BOTTOMRIGHT)
    assert np.array_equal(found, physics.render(overlays=[text], **SIZE))
    with pytest.raises(KinemaError, match="title and a body"):
        physics.render(overlays=["hello"], **SIZE)
    with pytest.raises(KinemaError, match="on colours"):
        physics.render(overlays=[text], depth=True, **SIZE)


def test_a_scene_option_asks_for_decorations(physics):
    option = mujoco.MjvOption()
    plain = physics.render(scene_option=option, **SIZE)
    for flag in (mujoco.mjtVisFlag.mjVIS_CONTACTPOINT, mujoco.mjtVisFlag.mjVIS_JOINT):
        option.flags[flag] = 1
        assert not np.array_equal(plain, physics.render(scene_option=option, **SIZE))
        option.flags[flag] = 0
    option.label = mujoco.mjtLabel.mjLABEL_BODY
    assert not np.array_equal(plain, physics.render(scene_option=option, **SIZE))
    assert physics.render(scene_option=option, depth=True, **SIZE).shape == (60, 80)
