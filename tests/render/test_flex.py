"""Flexes are drawn where their vertices are, as skins and capsules; by the viewer and by the ray tracer."""

import mujoco
import numpy as np
import pytest

from kinema.mujoco_enums import Obj
from kinema.render import Renderer
from kinema.render.flex import with_flexes
from kinema.simulation import Simulation
from kinema.viewer import overlay

SOFT = """<mujoco><worldbody><light pos="0 -1 3"/>
  <flexcomp name="sheet" type="grid" dim="2" count="4 3 1" spacing=".2 .2 .2" radius=".02" mass="1" rgba="1 0 0 1">
    <edge equality="true"/></flexcomp>
  <flexcomp name="solid" type="grid" dim="3" count="3 3 3" spacing=".1 .1 .1" pos="1 0 0" radius=".01" mass="1"
    rgba="0 1 0 1"><edge equality="true"/></flexcomp>
  <flexcomp name="rope" type="grid" dim="1" count="5 1 1" spacing=".1 .1 .1" pos="0 .8 0" radius=".02" mass="1"
    rgba="0 0 1 1"><edge equality="true"/></flexcomp>
  <flexcomp name="bent" type="grid" dim="3" count="3 3 3" spacing=".1 .1 .1" pos="1 1 0" radius=".01" mass="1"
    dof="trilinear" rgba="1 1 0 1"><elasticity young="1e3"/></flexcomp>
  <camera name="top" pos=".5 .4 3" fovy="60"/></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def case():
    m = mujoco.MjModel.from_xml_string(SOFT)
    d = mujoco.MjData(m)
    d.qpos[:] = 0.02 * np.random.default_rng(1).standard_normal(m.nq)
    mujoco.mj_forward(m, d)
    return m, d


def own(m, f: int, values: np.ndarray) -> np.ndarray:
    return values[m.flex_vertadr[f] : m.flex_vertadr[f] + m.flex_vertnum[f]]


@pytest.mark.parametrize("both_sides", [False, True])
def test_vertices_are_those_of_mujoco(case, both_sides):
    m, d = case
    drawn = with_flexes(m, both_sides=both_sides)
    assert drawn.nskin == 3 and drawn.skin_flex.tolist() == [0, 1, 3]
    for k, f in enumerate(drawn.skin_flex):
        skin = overlay.Skin(drawn, k)
        want = own(m, f, d.flexvert_xpos)
        found = skin.vertices(d.xpos[None], d.xmat[None])[0].reshape(-1, *want.shape)
        assert len(found) == (2 if both_sides and m.flex_dim[f] == 2 else 1)
        assert all(np.allclose(copy, want, atol=1e-6) for copy in found)
        assert skin.kind == "flex" and skin.faces.max() < found.size // 3


def test_surfaces_are_closed_and_look_outwards(case):
    """Every edge is walked once each way, and the volume is that of the flex."""
    m, d = case
    drawn = with_flexes(m)
    for k in range(3):
        faces = overlay.Skin(drawn, k).faces
        edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        assert {tuple(e) for e in edges.tolist()} == {tuple(e[::-1]) for e in edges.tolist()}
    solid = overlay.Skin(drawn, 1)
    a, b, c = solid.vertices(d.xpos, d.xmat).astype(float)[solid.faces].swapaxes(0, 1)
    assert np.isclose(np.einsum("ni,ni->", a, np.cross(b, c)) / 6, 0.2**3, rtol=0.5)


def test_a_rope_is_rods_between_its_vertices(case):
    m, d = case
    found = overlay.ropes(m, d.xpos[None], d.xmat[None], np.zeros((1, 3)), {0})
    x = own(m, 2, d.flexvert_xpos)
    assert len(found) == 4
    assert np.allclose(found.positions, (x[:-1] + x[1:]) / 2, atol=1e-6)
    assert np.allclose(found.scales[:, 2], np.linalg.norm(x[1:] - x[:-1], axis=1) / 2, atol=1e-6)
    assert not len(overlay.ropes(m, d.xpos[None], d.xmat[None], np.zeros((1, 3)), {3}))


def test_pictures_show_every_flex_in_every_world(case):
    m, _ = case
    sim = Simulation(m, worlds=2, solver="mujoco")
    moved = np.zeros((2, m.nq))
    moved[1, m.jnt_qposadr[m.body_jntadr[m.flex_vertbodyid[:12]]] + 2] = -10.0  # the sheet far away
    sim.set_state(qpos=moved)
    renderer = Renderer(sim, "top", 160, 120, kinds=("segmentation", "depth"))
    renderer.render()
    seen = renderer.segmentation.numpy()[:, 0]
    flexes = [set(np.unique(picture[picture[..., 1] == Obj.FLEX][:, 0]).tolist()) for picture in seen]
    assert flexes[0] == {0, 1, 2, 3} and flexes[1] >= {1, 2, 3}
    top = renderer.depth.numpy()[0, 0][seen[0][..., 1] == Obj.FLEX]
    assert np.isclose(np.median(renderer.depth.numpy()[0, 0][(seen[0] == [0, Obj.FLEX]).all(axis=2)]), 2.98, atol=0.005)
    assert top.min() < 2.9  # the solids are higher
