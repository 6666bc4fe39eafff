"""Tendons, contacts, forces, inertias and skins against MuJoCo's own list of what it would draw."""

import mujoco
import numpy as np
import pytest

from kinema.viewer import overlay
from tests.viewer.test_scene import drawn_by_mujoco

HERE = np.zeros((1, 3))

TENDONS = """
<mujoco>
  <worldbody>
    <site name="a" pos="-.5 0 .2"/>
    <body pos="0 0 0">
      <joint type="hinge" axis="0 1 0"/>
      <geom name="pulley" type="cylinder" size=".15 .1" euler="90 0 0"/>
      <site name="side" pos="0 0 .3"/>
      <body pos=".5 0 0"><joint axis="0 1 0"/><geom size=".05"/><site name="b" pos="0 0 .1"/>
        <site name="c" pos=".2 0 0"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <spatial name="wrapped" width=".01" rgba="1 0 0 1" springlength="0">
      <site site="a"/><geom geom="pulley" sidesite="side"/><site site="b"/>
    </spatial>
    <spatial name="forked" width=".004" rgba="0 1 0 1" group="3">
      <site site="a"/><site site="side"/><pulley divisor="2"/><site site="b"/><site site="c"/>
    </spatial>
    <spatial name="unseen" rgba="1 1 1 0"><site site="a"/><site site="c"/></spatial>
  </tendon>
</mujoco>
"""


def paths(m, d):
    return {
        "ten_wrapadr": d.ten_wrapadr[None], "ten_wrapnum": d.ten_wrapnum[None],
        "wrap_obj": d.wrap_obj.reshape(1, -1), "wrap_xpos": d.wrap_xpos.reshape(1, -1, 3),
        "geom_xpos": d.geom_xpos[None], "geom_xmat": d.geom_xmat[None],
    }  # fmt: skip


def theirs(scene, objtype, objid=None):
    return [g for g in scene.geoms[: scene.ngeom] if g.objtype == objtype and objid in (None, g.objid)]


def ends(positions, axes, half):
    """Both ends of rods."""
    return np.stack([positions - axes * half[:, None], positions + axes * half[:, None]], axis=1)


def found_ends(found):
    axes = np.zeros((len(found), 3))
    for axis, wxyz in zip(axes, found.wxyzs, strict=True):
        mujoco.mju_rotVecQuat(axis, np.array([0, 0, 1.0]), wxyz.astype(float))
    return ends(found.positions, axes, found.scales[:, 2])


@pytest.mark.parametrize("wrap", ["cylinder", "sphere"])
@pytest.mark.parametrize("groups", [(0, 1, 2), (3,), range(6)])
def test_tendons(groups, wrap):
    m = mujoco.MjModel.from_xml_string(TENDONS.replace('type="cylinder"', f'type="{wrap}"'))
    d = mujoco.MjData(m)
    d.qpos[:] = 0.3, -0.5
    mujoco.mj_forward(m, d)
    found = overlay.tendons(m, paths(m, d), HERE, set(groups), overlay.tendon_colors(m))
    mine = found_ends(found)
    geoms = [g for g in theirs(drawn_by_mujoco(m, d, groups), mujoco.mjtObj.mjOBJ_TENDON) if g.rgba[3] > 0]
    assert len(geoms) > 0
    straight = 0
    for geom in geoms:
        want = ends(geom.pos[None], geom.mat[:, 2][None], geom.size[2:3])[0]
        away = np.abs(mine - want).max(axis=(1, 2))
        if away.min() < 1e-5:  # a straight piece is the same piece
            straight += 1
            k = int(away.argmin())
            np.testing.assert_allclose(found.scales[k], geom.size, atol=1e-6)
            np.testing.assert_allclose(found.rgb[k], geom.rgba[:3], atol=1e-6)
        else:  # a piece of an arc: its ends lie on the arc, which is cut otherwise here
            for end in want:
                assert nearest(mine, end) < 1e-3
    assert straight == (2 if 0 in groups else 0) + (2 if 3 in groups else 0)
    length = {i: 2 * sum(g.size[2] for g in geoms if g.objid == i) for i in (0, 1)}
    want_length = sum(length.values())
    assert 2 * found.scales[:, 2].sum() == pytest.approx(want_length, rel=2e-4)
    if 0 in groups:
        wrapped = 2 * found.scales[found.rgb[:, 0] == 1, 2].sum()
        assert wrapped == pytest.approx(d.ten_length[0], rel=2e-4)


def nearest(rods, point) -> float:
    """Distance of a point from the nearest rod."""
    a, along = rods[:, 0], rods[:, 1] - rods[:, 0]
    t = np.clip(((point - a) * along).sum(axis=1) / (along**2).sum(axis=1), 0, 1)
    return float(np.linalg.norm(a + t[:, None] * along - point, axis=1).min())


@pytest.mark.parametrize("angle", [0.5, 2.0, 3.5, 5.0])
@pytest.mark.parametrize("way", [1, -1])
def test_arcs_go_the_way_the_tendon_comes(angle, way):
    axis, center = np.array([[0, 0, 1.0]]), np.array([[1.0, 2.0, 3.0]])
    start = center + [[0.5, 0, -0.1]]
    end = center + [[0.5 * np.cos(angle), way * 0.5 * np.sin(angle), 0.3]]
    points = overlay.arcs(start, end, np.array([[0, way * 1.0, 0.2]]), center, axis, np.array([True]))[0]
    np.testing.assert_allclose(points[[0, -1]], np.vstack([start, end]), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm((points - center)[:, :2], axis=1), 0.5)
    turned = np.unwrap(np.arctan2(*(points - center)[:, 1::-1].T))
    assert turned[-1] - turned[0] == pytest.approx(way * angle)


def test_tendons_of_several_worlds():
    m = mujoco.MjModel.from_xml_string(TENDONS)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    one = overlay.tendons(m, paths(m, d), HERE, range(6), overlay.tendon_colors(m))
    two = {name: np.repeat(values, 2, axis=0) for name, values in paths(m, d).items()}
    offsets = np.array([[0, 0, 0], [5.0, 1, 0]])
    both = overlay.tendons(m, two, offsets, range(6), overlay.tendon_colors(m))
    assert len(both) == 2 * len(one)
    for offset in offsets:
        for position in one.positions + offset:
            assert np.abs(both.positions - position).max(axis=1).min() < 1e-6


CONTACTS = """
<mujoco>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body pos="0 0 .19" euler="0 30 0"><freejoint/><geom type="box" size=".1 .1 .2"/></body>
    <body pos=".5 0 .095"><freejoint/><geom size=".1"/></body>
  </worldbody>
</mujoco>
"""


def contacts(d):
    frame = d.contact.frame.reshape(1, -1, 3, 3)
    return np.array([d.ncon]), d.contact.pos[None], frame


def test_contacts_and_forces():
    m = mujoco.MjModel.from_xml_string(CONTACTS)
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, 3)
    mujoco.mj_forward(m, d)
    assert d.ncon >= 2
    flags = (mujoco.mjtVisFlag.mjVIS_CONTACTPOINT, mujoco.mjtVisFlag.mjVIS_CONTACTFORCE)
    scene = drawn_by_mujoco(m, d, flags=flags)
    decor = [g for g in scene.geoms[: scene.ngeom] if g.category == mujoco.mjtCatBit.mjCAT_DECOR]
    discs = [g for g in decor if g.type == mujoco.mjtGeom.mjGEOM_CYLINDER]
    arrows = [g for g in decor if g.type == mujoco.mjtGeom.mjGEOM_ARROW]
    found = overlay.contact_discs(m, *contacts(d), HERE)
    assert len(found) == len(discs) == d.ncon
    for k, geom in enumerate(discs):
        np.testing.assert_allclose(found.positions[k], geom.pos, atol=1e-6)
        np.testing.assert_allclose(found.scales[k], geom.size, rtol=1e-5)
    force = np.zeros((1, d.ncon, 6))
    for k in range(d.ncon):
        mujoco.mj_contactForce(m, d, k, force[0, k])
    points = overlay.contact_arrows(m, *contacts(d), force, HERE)
    assert len(points) == len(arrows) == d.ncon
    for (a, b), geom in zip(points, arrows, strict=True):
        np.testing.assert_allclose(a, geom.pos, atol=1e-6)
        along = (b - a) / np.linalg.norm(b - a)
        np.testing.assert_allclose(along, geom.mat[:, 2], atol=1e-4)
        assert np.linalg.norm(b - a) == pytest.approx(geom.size[2], rel=1e-4)


def test_nothing_is_drawn_of_contacts_that_are_not():
    m = mujoco.MjModel.from_xml_string(CONTACTS)
    pos, frame = np.zeros((2, 5, 3)), np.tile(np.eye(3), (2, 5, 1, 1))
    found = overlay.contact_discs(m, np.array([0, 2]), pos, frame, np.array([[0, 0, 0], [1.0, 0, 0]]))
    np.testing.assert_allclose(found.positions, [[1, 0, 0]] * 2)


def test_inertia():
    m = mujoco.MjModel.from_xml_string(CONTACTS)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    found = overlay.inertias(m, d.xipos[None], d.ximat[None], HERE)
    scene = drawn_by_mujoco(m, d, flags=(mujoco.mjtVisFlag.mjVIS_INERTIA,))
    boxes = [g for g in scene.geoms[: scene.ngeom] if g.category == mujoco.mjtCatBit.mjCAT_DECOR]
    assert len(boxes) == len(found) == 2
    for k, geom in enumerate(boxes):
        np.testing.assert_allclose(found.positions[k], geom.pos, atol=1e-6)
        np.testing.assert_allclose(found.scales[k], geom.size, rtol=1e-5)
        np.testing.assert_allclose(found.rgb[k], geom.rgba[:3], atol=1e-6)


def test_rods_of_no_length_and_downwards():
    a = np.zeros((2, 3))
    b = np.array([[0, 0, 0], [0, 0, -2.0]])
    found = overlay.rods(a, b, np.array([0.1, 0.1]), np.ones((2, 3)))
    assert np.isfinite(found.wxyzs).all()
    np.testing.assert_allclose(found.scales[:, 2], [0, 1])
    np.testing.assert_allclose(found.wxyzs[1], [0, 1, 0, 0])


def test_skin(dm_control_assets):
    path = dm_control_assets / "suite" / "dog.xml"
    xml = path.read_text()
    if "<skin" not in xml:
        pytest.skip("dm_control's dog has no skin any more")
    from dm_control.suite import dog

    text, assets = dog.get_model_and_assets(10, 0)
    m = mujoco.MjModel.from_xml_string(text if isinstance(text, str) else text.decode(), assets)
    d = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    d.qpos[7:] += 0.2 * rng.normal(size=m.nq - 7)
    mujoco.mj_forward(m, d)
    scene = drawn_by_mujoco(m, d, flags=(mujoco.mjtVisFlag.mjVIS_SKIN,))
    assert m.nskin
    skin = overlay.Skin(m, 0)
    vertices = skin.vertices(d.xpos, d.xmat)
    want = np.array(scene.skinvert[: 3 * m.skin_vertnum[0]]).reshape(-1, 3)
    assert np.ptp(want) > 0.1
    assert skin.faces.max() < len(vertices)
    np.testing.assert_allclose(vertices, want, atol=1e-4 + float(m.skin_inflate[0]))
