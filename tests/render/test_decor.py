"""Decorations against those of MuJoCo's own scene (mjv_updateScene), and that they are drawn."""

import mujoco
import numpy as np
import pytest

from kinema import Simulation
from kinema.errors import BuildError
from kinema.mujoco_enums import Geom
from kinema.render import FreeCamera, Renderer
from kinema.render.decor import decorations
from kinema.render.labels import projected, write_text

MODEL = """<mujoco><worldbody><light pos="0 0 4"/><geom type="plane" size="3 3 .1"/>
  <body name="arm" pos="0 0 .8"><joint name="hip" axis="0 1 0" pos=".1 0 0"/><geom size=".1" pos=".3 0 0"/>
    <body name="fore" pos=".3 0 0"><joint name="slider" type="slide" axis="1 0 1"/><geom size=".1"/></body></body>
  <body name="box" pos="1 0 .09"><freejoint/><geom type="box" size=".1 .2 .1"/></body>
  <body name="ball" pos="1 1 1"><joint type="ball"/><geom size=".1"/></body></worldbody></mujoco>"""
VISUAL = mujoco.mjtVisFlag
ARROWS = (mujoco.mjtGeom.mjGEOM_ARROW, mujoco.mjtGeom.mjGEOM_ARROW1)
CAMERA = FreeCamera(azimuth=60, elevation=-25, distance=3.0, lookat=(0.5, 0, 0.3))


@pytest.fixture(scope="module")
def sim():
    sim = Simulation(MODEL, worlds=2, device="cpu")
    sim.step(20)
    sim.forward()
    return sim


def mujocos(sim, flag: int, world: int = 0) -> list:
    """MuJoCo's geoms of a decoration, in the state of a world."""
    m = mujoco.MjModel.from_xml_string(MODEL)
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = sim.d.qpos[world], sim.d.qvel[world]
    mujoco.mj_forward(m, d)
    option, scene = mujoco.MjvOption(), mujoco.MjvScene(m, 200)
    option.flags[:] = 0
    option.flags[flag] = 1
    mujoco.mjv_updateScene(m, d, option, None, mujoco.MjvCamera(), mujoco.mjtCatBit.mjCAT_DECOR, scene)
    return [scene.geoms[i] for i in range(scene.ngeom)]


def ends(marks) -> np.ndarray:
    """Beginnings and ends of arrows: a shaft begins where the arrow does, a head ends where it does."""
    shaft, tip = marks.of(Geom.CYLINDER), marks.of(Geom.ELLIPSOID)
    return np.hstack([
        shaft.pos - shaft.size[:, 2:] * shaft.mat[:, :, 2], tip.pos + tip.size[:, 2:] * tip.mat[:, :, 2]
    ])  # fmt: skip


def expected_ends(geoms) -> np.ndarray:
    arrows = [g for g in geoms if g.type in ARROWS]
    assert arrows
    return np.array([[*g.pos, *(g.pos + g.size[2] * g.mat[:, 2])] for g in arrows])


@pytest.mark.parametrize("name", ["joints", "forces"])
def test_arrows(sim, name):
    flag = {"joints": VISUAL.mjVIS_JOINT, "forces": VISUAL.mjVIS_CONTACTFORCE}[name]
    [found] = decorations(sim, np.array([0]), [name])
    geoms = [g for g in mujocos(sim, flag)]
    np.testing.assert_allclose(ends(found), expected_ends(geoms), atol=2e-3)
    np.testing.assert_allclose(found.rgba[0], geoms[0].rgba, atol=1e-6)
    boxes = [g for g in geoms if g.type in (Geom.BOX, Geom.SPHERE)]
    others = np.concatenate([found.of(Geom.BOX).pos, found.of(Geom.SPHERE).pos])
    np.testing.assert_allclose(others, np.array([g.pos for g in boxes]).reshape(-1, 3), atol=1e-4)


def test_contacts(sim):
    [found] = decorations(sim, np.array([0]), ["contacts"])
    geoms = mujocos(sim, VISUAL.mjVIS_CONTACTPOINT)
    assert len(found) == len(geoms) == 4
    np.testing.assert_allclose(found.pos, [g.pos for g in geoms], atol=1e-4)
    np.testing.assert_allclose(found.size, [g.size for g in geoms], rtol=1e-5)


def test_inertia_and_frames(sim):
    [found] = decorations(sim, np.array([1]), ["inertia"])
    np.testing.assert_allclose(found.of(Geom.BOX).size[2], [0.1, 0.2, 0.1], rtol=1e-4)  # the box itself
    [found] = decorations(sim, np.array([1]), ["frames"])
    assert len(found) == 3 * sim.model.nbody
    body = sim.model.names("body").index("fore")
    x = found.pos[body] - sim.d.xpos[1, body]
    np.testing.assert_allclose(x / np.linalg.norm(x), sim.d.xmat[1, body].reshape(3, 3)[:, 0], atol=1e-5)


def test_they_are_drawn_where_they_are_and_cast_no_shadow(sim):
    plain = sim.render(CAMERA, 160, 120, antialias=False)
    shown = sim.render(CAMERA, 160, 120, antialias=False, overlays="contacts")
    renderer = Renderer(sim, CAMERA, 160, 120)
    renderer.render()
    views = renderer.views
    where = np.asarray(sim.engine.read("contact_pos"))[0][:4]
    at = projected(where, views.pos.numpy()[0, 0], views.mat.numpy()[0, 0], views.lens.numpy()[0, 0], False, 160, 120)
    changed = np.any(plain != shown, axis=-1)
    rows, columns = np.nonzero(changed[0])
    near = np.min(np.hypot(columns[:, None] - at[:, 0], rows[:, None] - at[:, 1]), axis=1)
    assert 10 < changed[0].sum() < 400 and near.max() < 12
    assert np.array_equal(changed[0], changed[1])


def test_more_than_there_was_room_for():
    """Forty contacts after none: the picture makes room."""
    box = '<body pos="{} {} .3"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
    bodies = '<geom type="plane" size="9 9 .1"/>' + "".join(box.format(i % 5, i // 5) for i in range(10))
    sim = Simulation(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>", device="cpu")
    renderer = Renderer(sim, None, 32, 24, overlays=("contacts", "frames"))
    renderer.render()
    few = sum(renderer._room.values())
    sim.step(200)
    renderer.render()
    assert sim.d.ncon[0] == 40 and sum(renderer._room.values()) > few


def test_names_are_written(sim):
    plain, named = sim.render(CAMERA, 160, 120), sim.render(CAMERA, 160, 120, labels="body")
    assert 50 < np.any(plain != named, axis=-1)[0].sum() < 4000
    both = write_text(plain[0], "time\nspeed", "1.0\n2.0", "top right")
    changed = np.nonzero(np.any(both != plain[0], axis=-1))
    assert changed[0].max() < 40 and changed[1].min() > 80


def test_what_is_refused(sim):
    with pytest.raises(BuildError, match="did you mean 'contacts'"):
        sim.render(overlays="contact")
    with pytest.raises(BuildError, match="colours only"):
        sim.render(kind="depth", overlays="contacts")
    with pytest.raises(BuildError, match="did you mean 'joint'"):
        sim.render(labels="jont")
    with pytest.raises(BuildError, match="did you mean 'top left'"):
        write_text(np.zeros((9, 9, 3), np.uint8), "", "", "topleft")
