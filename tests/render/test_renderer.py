"""The renderer: many worlds and cameras at once, arrays that stay, what is drawn, repeatability, errors."""

import numpy as np
import pytest
import warp as wp

from kinema import mjcf
from kinema.errors import BuildError
from kinema.render import FreeCamera, Renderer, render
from kinema.simulation import Simulation

SCENE = """<mujoco>
  <asset><texture name="t" type="2d" builtin="checker" rgb1=".2 .3 .4" rgb2=".4 .5 .6" width="32" height="32"/>
    <material name="floor" texture="t" texrepeat="4 4" reflectance=".2"/></asset>
  <worldbody>
    <light pos="0 -1 3" dir="0 .3 -1"/>
    <geom type="plane" size="2 2 .1" material="floor"/>
    <body pos="0 0 .5"><joint name="slide" type="slide" axis="1 0 0"/><geom type="box" size=".2 .2 .2" rgba="1 0 0 1"/>
      <geom type="sphere" size=".15" pos="0 0 .4" rgba="0 1 0 1" group="3"/>
      <site name="tip" pos="0 0 .35" size=".1" rgba="0 0 1 1"/></body>
    <body pos=".8 0 .5"><joint name="hinge" axis="0 1 0"/><geom type="capsule" size=".05 .2"/><site name="end"/></body>
    <camera name="front" pos="0 -3 1.5" xyaxes="1 0 0 0 .4 .9"/>
    <camera name="top" pos="0 0 4" xyaxes="1 0 0 0 1 0"/>
  </worldbody>
  <tendon><spatial name="cord" width=".03" rgba="1 1 0 1"><site site="tip"/><site site="end"/></spatial></tendon>
</mujoco>"""
GEOM, SITE, TENDON = 5, 6, 18


@pytest.fixture(scope="module")
def sim():
    sim = Simulation(SCENE, worlds=5)
    sim.set_state(qpos=np.stack([np.linspace(-0.8, 0.8, 5), np.linspace(0, 1, 5)], axis=1))
    return sim


def test_worlds_and_cameras_at_once(sim):
    """Every picture of a batch is the picture of that world alone, bit by bit."""
    renderer = Renderer(sim, ["front", "top"], 50, 37, kinds=("rgb", "depth", "segmentation"), antialias=True)
    renderer.render()
    assert renderer.rgb.shape == (5, 2, 37, 50)
    rgb = renderer.rgb.numpy()
    assert len({picture.tobytes() for picture in rgb[:, 0]}) == 5
    for world in (0, 3):
        alone = Simulation(SCENE)
        alone.set_state(qpos=sim.d.qpos[world])
        for k, camera in enumerate(("front", "top")):
            np.testing.assert_array_equal(render(alone, camera, 50, 37)[0], rgb[world, k])
            depth, seen = (render(alone, camera, 50, 37, kind=kind)[0] for kind in ("depth", "segmentation"))
            np.testing.assert_array_equal(depth[..., 0], renderer.depth.numpy()[world, k])
            np.testing.assert_array_equal(seen, renderer.segmentation.numpy()[world, k])


def test_chosen_worlds(sim):
    everything = render(sim, "front", 40, 30)
    np.testing.assert_array_equal(render(sim, "front", 40, 30, worlds=[3, 1]), everything[[3, 1]])
    np.testing.assert_array_equal(render(sim, "front", 40, 30, worlds=-1), everything[[4]])
    np.testing.assert_array_equal(render(sim, "front", 40, 30, worlds=np.arange(5) == 2), everything[[2]])


def test_threads_do_not_matter(sim):
    pictures = []
    for threads in (1, 3):
        renderer = Renderer(sim, "front", 120, 90, threads=threads)
        renderer.render()
        pictures.append(renderer.rgb.numpy().copy())
    np.testing.assert_array_equal(*pictures)


def test_pictures_follow_the_state():
    sim = Simulation(SCENE)
    renderer = Renderer(sim, "front", 40, 30, kinds=("segmentation",))
    columns = []
    for x in (-0.5, 0.5):
        sim.set_state(qpos=[x, 0])
        renderer.render()
        seen = renderer.segmentation.numpy()[0, 0]
        columns.append(np.argwhere((seen[..., 0] == 1) & (seen[..., 1] == GEOM))[:, 1].mean())
    assert columns[1] - columns[0] > 5
    sim.set_state(qpos=[-0.5, 0])
    renderer.render(refresh=False)  # poses are still those of the last picture
    seen = renderer.segmentation.numpy()[0, 0]
    assert np.argwhere((seen[..., 0] == 1) & (seen[..., 1] == GEOM))[:, 1].mean() == columns[1]


def test_drawing_does_not_disturb_the_run():
    one, other = Simulation(SCENE), Simulation(SCENE)
    for sim in (one, other):
        sim.set_state(qvel=[1, 2])
    for _ in range(3):
        one.step(2)
        one.render("front", 16, 12)
        other.step(2)
    for name, value in one.get_state().items():
        np.testing.assert_array_equal(value, other.get_state()[name], err_msg=name)


def test_groups_and_kinds_of_objects(sim):
    def kinds(**options) -> set:
        seen = render(sim, "front", 80, 60, kind="segmentation", worlds=2, **options)[0].reshape(-1, 2)
        return {tuple(pair) for pair in np.unique(seen, axis=0).tolist()}

    usual = kinds()
    assert {(0, GEOM), (1, GEOM), (0, SITE), (0, TENDON), (-1, -1)} <= usual
    assert (2, GEOM) not in usual  # its group is not drawn unless asked for
    assert (2, GEOM) in kinds(geom_groups=(3,)) and (1, GEOM) not in kinds(geom_groups=(3,))
    assert not {kind for _, kind in kinds(site_groups=(), tendon_groups=())} & {SITE, TENDON}


def test_colours_by_world(sim):
    renderer = Renderer(sim, "top", 40, 30, worlds=[0, 1], shadows=False)
    rgba = np.repeat(renderer.items.rgba[None], 2, axis=0)
    box = int(np.flatnonzero((renderer.items.objtype == GEOM) & (renderer.items.owner == 1))[0])
    rgba[0, box], rgba[1, box] = (0, 1, 0, 1), (0, 0, 1, 1)
    renderer.set_rgba(rgba)
    renderer.render()
    seen = render(sim, "top", 40, 30, worlds=[0, 1], kind="segmentation")
    for world, channel in ((0, 1), (1, 2)):
        colours = renderer.rgb.numpy()[world, 0][(seen[world] == (1, GEOM)).all(axis=-1)]
        assert len(colours) > 5 and np.all(colours.argmax(axis=1) == channel)


def test_a_new_look_is_seen():
    """Colours written to a model between pictures."""
    physics = mjcf.Physics.from_xml_string(SCENE)
    before = physics.render(30, 40, "front")
    assert before.shape == (30, 40, 3)
    physics.model.geom_rgba[1] = 0, 1, 1, 1
    after = physics.render(30, 40, "front")
    seen = physics.render(30, 40, "front", segmentation=True)
    chosen = (seen == (1, GEOM)).all(axis=-1)
    assert np.all(after[chosen][:, 0] < before[chosen][:, 0])
    depth = physics.render(30, 40, "front", depth=True)
    assert depth.shape == (30, 40) and depth.dtype == np.float32


def test_physics_follows_dm_control():
    physics = mjcf.Physics.from_xml_string(SCENE, worlds=2)
    first = physics.render(24, 32)
    assert first.shape == (2, 24, 32, 3)
    with physics.reset_context():
        physics.data.qpos[:] = 0.7, 0.5
    assert np.any(physics.render(24, 32) != first)
    with pytest.raises(BuildError, match="overlays"):
        physics.render(overlays=("text",))  # a text has a title and a body
    with pytest.raises(BuildError, match="one at a time"):
        physics.render(depth=True, segmentation=True)


def test_arrays_are_shared_with_torch(sim):
    torch = pytest.importorskip("torch")
    renderer = Renderer(sim, "front", 24, 16, kinds=("rgb", "depth"))
    colours, depth = wp.to_torch(renderer.rgb), wp.to_torch(renderer.depth)
    assert colours.shape == (5, 1, 16, 24, 3) and colours.dtype == torch.uint8
    renderer.render()
    np.testing.assert_array_equal(colours.numpy(), renderer.rgb.numpy())
    assert colours.any() and depth.min() > 0


def test_worlds_that_mujoco_runs():
    pictures = []
    for solver in ("convex", "mujoco"):
        sim = Simulation(SCENE, solver=solver)
        sim.set_state(qpos=[0.4, 0.3])
        pictures.append(render(sim, "front", 40, 30))
    np.testing.assert_allclose(pictures[0].astype(int), pictures[1], atol=1)
    assert pictures[0].std() > 10


def test_antialiasing_touches_outlines_only(sim):
    rough, smooth = (render(sim, "front", 80, 60, worlds=0, antialias=a)[0].astype(int) for a in (False, True))
    changed = np.abs(rough - smooth).max(axis=2) > 0
    seen = render(sim, "front", 80, 60, worlds=0, kind="segmentation")[0]
    key = seen[..., 0] * 100 + seen[..., 1]
    outline = np.zeros_like(changed)
    outline[:, 1:] |= key[:, 1:] != key[:, :-1]
    outline[:, :-1] |= key[:, 1:] != key[:, :-1]
    outline[1:] |= key[1:] != key[:-1]
    outline[:-1] |= key[1:] != key[:-1]
    assert 0.3 * outline.sum() < (changed & outline).sum()
    assert (changed & ~outline).sum() < 0.02 * changed.size  # depth jumps within one object


def test_an_empty_world():
    sim = Simulation("<mujoco><worldbody/></mujoco>")
    assert not sim.render(None, 8, 8).any()
    assert np.all(sim.render(None, 8, 8, kind="segmentation") == -1)


def test_errors_teach(sim):
    with pytest.raises(BuildError, match="did you mean 'depth'"):
        sim.render(kind="deth")
    with pytest.raises(BuildError, match="0 x 10 pixels"):
        sim.render(width=0, height=10)
    with pytest.raises(BuildError, match="worlds 0 to 4"):
        sim.render(worlds=[7])
    with pytest.raises(BuildError, match="Renderer draws several"):
        sim.render(["front", "top"])
    with pytest.raises(BuildError, match="some worlds at a time"):
        sim.render("front", 40000, 40000)
    with pytest.raises(BuildError, match="three coordinates"):
        FreeCamera(lookat=[1, 2])


def test_free_cameras_take_any_point(sim):
    views = [FreeCamera(lookat=point) for point in ((0, 0, 1), [0, 0, 1], np.array([0.0, 0.0, 1.0]))]
    pictures = [render(sim, view, 16, 12, worlds=0) for view in views]
    assert pictures[0].any() and all(np.array_equal(pictures[0], other) for other in pictures)
