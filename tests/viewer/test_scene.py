"""What is drawn, against MuJoCo's own list of what it would draw (mjv_updateScene)."""

import io

import mujoco
import numpy as np
import pytest

from kinema.viewer.glb import to_glb
from kinema.viewer.scene import SHOWN_GROUPS, grid_offsets, placed, quaternions, scene_of

EVERYTHING = """
<mujoco>
  <statistic extent="2" center="0 0 .5" meansize=".2"/>
  <asset>
    <texture name="checker" type="2d" builtin="checker" width="16" height="16" rgb1="1 0 0" rgb2="0 0 1"/>
    <texture name="cross" type="cube" builtin="flat" mark="cross" width="16" height="96" rgb1=".8 .1 .1"
             markrgb="1 1 1"/>
    <texture name="even" type="2d" builtin="flat" width="4" height="4" rgb1=".5 .5 .5" rgb2=".5 .5 .5"/>
    <material name="checker" texture="checker" texrepeat="5 5"/>
    <material name="cross" texture="cross" rgba=".9 .9 .9 1"/>
    <material name="even" texture="even" rgba="1 .5 0 1"/>
    <material name="glass" rgba="0 1 0 .3"/>
    <material name="lamp" rgba="1 1 0 1" emission=".8"/>
    <mesh name="tetra" vertex="0 0 0  .2 0 0  0 .2 0  0 0 .2"/>
    <hfield name="hill" nrow="3" ncol="3" size="1 1 .2 .1" elevation="0 0 0 0 1 0 0 0 0"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 .1" material="checker"/>
    <geom name="mat" type="plane" size=".5 .5 .1" pos="0 2 .01" rgba=".1 .2 .3 1"/>
    <geom name="hill" type="hfield" hfield="hill" pos="3 0 0"/>
    <geom name="post" type="cylinder" size=".05 .3" pos="1 1 .3" material="even"/>
    <geom name="lamp" size=".05" pos="1 1 1" material="lamp"/>
    <body name="a" pos="0 0 1">
      <freejoint/>
      <geom name="ball" type="sphere" size=".1" rgba="1 0 0 1"/>
      <geom name="egg" type="ellipsoid" size=".1 .2 .05" pos=".3 0 0" euler="20 30 40"/>
      <geom name="brick" type="box" size=".1 .2 .3" pos="0 .4 0" material="cross" group="1"/>
      <geom name="rod" type="capsule" size=".04 .2" pos="0 -.4 0" material="glass" group="2"/>
      <geom name="twin" type="capsule" size=".04 .2" pos="0 -.5 0" euler="90 0 0" group="2" rgba="0 0 1 1"/>
      <geom name="tetra" type="mesh" mesh="tetra" pos="0 0 .4" group="3"/>
      <geom name="ghost" type="sphere" size=".2" rgba="1 1 1 0"/>
      <site name="s" size=".03" pos=".1 .1 .1" rgba="1 1 0 1"/>
      <site name="t" type="box" size=".03 .02 .01" pos=".1 .2 .1" group="4"/>
    </body>
    <body name="moved" mocap="true" pos="0 0 2"><geom name="marker" size=".02"/><body><geom size=".01"/></body></body>
  </worldbody>
</mujoco>
"""


def drawn_by_mujoco(m, d, groups=range(6), flags=()):
    option = mujoco.MjvOption()
    option.geomgroup[:], option.sitegroup[:], option.tendongroup[:], option.skingroup[:] = 0, 0, 0, 0
    for group in groups:
        option.geomgroup[group] = option.sitegroup[group] = option.tendongroup[group] = option.skingroup[group] = 1
    for flag in flags:
        option.flags[flag] = 1
    scene = mujoco.MjvScene(m, 4000)
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(m, camera)
    mujoco.mjv_updateScene(m, d, option, mujoco.MjvPerturb(), camera, mujoco.mjtCatBit.mjCAT_ALL, scene)
    return scene


@pytest.fixture(scope="module")
def case():
    m = mujoco.MjModel.from_xml_string(EVERYTHING)
    d = mujoco.MjData(m)
    d.qpos[:7] = (0.3, -0.2, 1.5, 0.5, 0.5, -0.5, 0.5)
    d.mocap_pos[0] = (1, 1, 2)
    mujoco.mj_forward(m, d)
    return m, d, scene_of(m)


OBJECT = {"geom": mujoco.mjtObj.mjOBJ_GEOM, "site": mujoco.mjtObj.mjOBJ_SITE}


def instances(m, d, scene):
    """Every drawn instance: (kind, id) -> (batch, member, position, quaternion)."""
    found = {}
    for batch in scene.batches:
        xpos, xmat = getattr(d, f"{batch.kind}_xpos"), getattr(d, f"{batch.kind}_xmat")
        positions, wxyzs = placed(batch, xpos[None], xmat[None], np.zeros((1, 3)))
        for k, i in enumerate(batch.ids):
            assert (batch.kind, i) not in found
            found[batch.kind, int(i)] = (batch, k, positions[k], wxyzs[k])
    return found


def test_everything_mujoco_draws_is_drawn_where_it_draws_it(case):
    m, d, scene = case
    found = instances(m, d, scene)
    theirs = {}
    for geom in drawn_by_mujoco(m, d).geoms[: drawn_by_mujoco(m, d).ngeom]:
        for kind, objtype in OBJECT.items():
            if geom.objtype == objtype:
                theirs[kind, int(geom.objid)] = geom
    assert set(found) == set(theirs)
    assert len(found) == 15
    for key, (batch, k, position, wxyz) in found.items():
        geom = theirs[key]
        if not batch.once:  # MuJoCo moves planes without end along with the camera
            np.testing.assert_allclose(position, geom.pos, atol=1e-6)
        turned = np.zeros(9)
        mujoco.mju_quat2Mat(turned, wxyz.astype(float))
        np.testing.assert_allclose(turned, geom.mat.reshape(-1), atol=1e-6)
        extent = np.abs(batch.surface.vertices).max(axis=0) * batch.scales[k]
        if geom.type in (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_ELLIPSOID, mujoco.mjtGeom.mjGEOM_BOX,
                         mujoco.mjtGeom.mjGEOM_CYLINDER):  # fmt: skip
            np.testing.assert_allclose(extent, geom.size, rtol=1e-5)
        if geom.type == mujoco.mjtGeom.mjGEOM_CAPSULE:
            np.testing.assert_allclose(extent, geom.size + [0, 0, geom.size[0]], rtol=1e-5)


def test_colours(case):
    m, d, scene = case
    found = instances(m, d, scene)
    for geom in drawn_by_mujoco(m, d).geoms[: drawn_by_mujoco(m, d).ngeom]:
        for kind, objtype in OBJECT.items():
            if geom.objtype != objtype:
                continue
            batch, k, *_ = found[kind, int(geom.objid)]
            want = np.array(geom.rgba)
            if m.geom("post").id == geom.objid and kind == "geom":
                want[:3] *= 0.5  # an even texture is a colour, and multiplies
                assert batch.paint is None
            np.testing.assert_allclose(batch.rgba[k], want, atol=5e-3)


def test_textures_are_laid_where_they_are_asked_for(case):
    m, _, scene = case
    painted = {int(b.ids[0]): b for b in scene.batches if b.paint is not None}
    assert set(painted) == {m.geom("floor").id, m.geom("brick").id, m.geom("lamp").id}
    lamp = painted[m.geom("lamp").id]
    assert lamp.paint.image is None and lamp.paint.emission == pytest.approx(0.8)
    np.testing.assert_allclose(np.linalg.norm(lamp.surface.vertices, axis=1), 0.05, rtol=1e-5)
    floor, brick = painted[m.geom("floor").id], painted[m.geom("brick").id]
    assert np.ptp(floor.surface.uv[:, 0]) == pytest.approx(np.ptp(floor.surface.vertices[:, 0]) / 2 * 5, rel=1e-5)
    assert brick.paint.image.shape == (96, 16, 3)
    faces = np.floor(brick.surface.uv[brick.surface.faces].mean(axis=1)[:, 1] * 6)
    assert set(faces) == set(range(6))


def test_batches(case):
    m, _, scene = case
    by_geom = {int(i): b for b in scene.batches if b.kind == "geom" for i in b.ids}
    assert by_geom[m.geom("ball").id].moving and not by_geom[m.geom("post").id].moving
    assert by_geom[m.geom("marker").id].moving and by_geom[m.ngeom - 1].moving  # mocap bodies move, and what they carry
    assert by_geom[m.geom("floor").id].once and not by_geom[m.geom("mat").id].once
    assert by_geom[m.geom("ball").id] is by_geom[m.geom("egg").id]  # one ball, two scales
    assert by_geom[m.geom("rod").id] is not by_geom[m.geom("twin").id]  # glass is drawn apart
    assert len({b.name for b in scene.batches}) == len(scene.batches)
    assert {b.group for b in scene.batches} - set(SHOWN_GROUPS) == {3, 4}


def test_quaternions_of_any_turn():
    rng = np.random.default_rng(1)
    q = rng.normal(size=(200, 4))
    q = np.vstack([q, np.eye(4), [[0, 1, 1, 0], [0, 0, 1, -1], [1e-9, 1, 0, 0]]])
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    matrices = np.empty((len(q), 9))
    for row, one in zip(matrices, q, strict=True):
        mujoco.mju_quat2Mat(row, one)
    back = quaternions(matrices.reshape(-1, 3, 3))
    np.testing.assert_allclose(np.abs(np.einsum("ni,ni->n", q, back)), 1, atol=1e-9)
    assert quaternions(matrices.reshape(3, -1, 9)).shape == (3, len(q) // 3, 4)


@pytest.mark.parametrize("worlds", [1, 2, 9, 10, 256])
def test_grid(worlds):
    offsets = grid_offsets(worlds, 2.0)
    assert offsets.shape == (worlds, 3)
    assert len({tuple(row) for row in offsets}) == worlds
    if worlds > 1:
        gaps = np.linalg.norm(offsets[:, None] - offsets[None], axis=-1) + 9 * np.eye(worlds)
        np.testing.assert_allclose(gaps.min(axis=1), 2.0)
    np.testing.assert_allclose(offsets.max(axis=0), -offsets.min(axis=0), atol=1e-9)


def test_worlds_are_laid_side_by_side(case):
    m, d, scene = case
    batch = next(b for b in scene.batches if b.kind == "geom" and m.geom("ball").id in b.ids)
    offsets = grid_offsets(4, 3.0)
    positions, _ = placed(batch, np.tile(d.geom_xpos, (4, 1, 1)), np.tile(d.geom_xmat, (4, 1, 1)), offsets)
    k = len(batch.ids)
    assert len(positions) == 4 * k
    for world in range(4):
        want = d.geom_xpos[batch.ids] + offsets[world]
        np.testing.assert_allclose(positions[world * k : world * k + k], want, atol=1e-6)


def test_paint_as_gltf(case):
    """What is sent to a page can be read back: places, coordinates, picture, colour."""
    trimesh = pytest.importorskip("trimesh")
    m, _, scene = case
    for name in ("floor", "lamp"):
        batch = next(b for b in scene.batches if b.kind == "geom" and m.geom(name).id in b.ids)
        loaded = trimesh.load(io.BytesIO(to_glb(batch.surface, batch.paint)), file_type="glb", process=False)
        mesh = next(iter(loaded.geometry.values()))
        np.testing.assert_allclose(mesh.vertices, batch.surface.vertices, atol=1e-6)
        material = mesh.visual.material
        if name == "floor":
            np.testing.assert_allclose(mesh.visual.uv * [1, -1] + [0, 1], batch.surface.uv, atol=1e-4)
            np.testing.assert_array_equal(np.asarray(material.baseColorTexture), batch.paint.image)
        else:
            np.testing.assert_allclose(material.emissiveFactor, [0.8, 0.8, 0], atol=1e-6)


def test_many_worlds_cost_few_batches(dm_control_assets):
    """256 humanoids are some thousands of instances in a couple of dozen batches, most of them of sites."""
    m = mujoco.MjModel.from_xml_path(str(dm_control_assets / "suite" / "humanoid.xml"))
    scene = scene_of(m, detail=8)
    shown = [b for b in scene.batches if b.group in SHOWN_GROUPS]
    assert len(shown) <= 12 and sum(len(b.ids) for b in shown) == m.ngeom
    triangles = sum(len(b.surface.faces) * len(b.ids) for b in shown)
    assert 256 * triangles < 500_000
    assert sum(b.once for b in shown) == 1
