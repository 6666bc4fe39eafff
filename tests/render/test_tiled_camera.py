"""Newton's tiled camera over our tracer: distances, shapes and normals in closed form, rays as Newton's."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from kinema import ModelBuilder, Simulation
from kinema.errors import BuildError
from kinema.render import FreeCamera, render
from kinema.sensors import SensorTiledCamera

WIDTH, HEIGHT = 33, 25
FOV = 0.9


@pytest.fixture(scope="module")
def scene():
    """A ball over a floor, in two worlds of one structure and, with a box instead, in a third; placed apart."""
    main = ModelBuilder()
    main.add_ground_plane(label="ground")
    for k in range(3):
        world = ModelBuilder()
        body = world.add_body(xform=((0, 0, 1.0), (0, 0, 0, 1)), label="thing")
        if k < 2:
            world.add_shape_sphere(body, radius=0.25 + 0.1 * k, label="ball")
        else:
            world.add_shape_box(body, hx=0.3, hy=0.3, hz=0.3, label="box")
        main.add_world(world, xform=((10.0 * k, 0, 0), (0, 0, np.sin(0.2 * k), np.cos(0.2 * k))))
    model = main.finalize(device="cpu")
    return model, SensorTiledCamera(model)


def cameras(model, above=4.0):
    """One that looks straight down at each world's thing, and one away from everything."""
    down = [wp.transform((10.0 * k, 0.0, above), wp.quat_identity()) for k in range(model.world_count)]
    up = [wp.transform((10.0 * k, 0.0, above), wp.quat(1.0, 0.0, 0.0, 0.0)) for k in range(model.world_count)]
    return wp.array([down, up], dtype=wp.transform, device="cpu")


def drawn(scene, **more):
    model, sensor = scene
    utils = sensor.utils
    rays = utils.compute_camera_rays_pinhole(WIDTH, HEIGHT, camera_fovs=[FOV, FOV])
    kinds = ("depth", "forward_depth", "shape_index", "normal", "albedo", "color")
    made = {f"{kind}_image": getattr(utils, f"create_{kind}_image_output")(WIDTH, HEIGHT, 2) for kind in kinds}
    sensor.update(model.state(), cameras(model), rays, **made, **more)
    return {name: array.numpy() for name, array in made.items()}, rays


def test_distances_shapes_and_normals(scene):
    model, _ = scene
    found, rays = drawn(scene)
    middle = (HEIGHT // 2, WIDTH // 2)
    tops = np.array([1.25, 1.35, 1.3])
    np.testing.assert_allclose(found["depth_image"][:, 0][(slice(None), *middle)], 4.0 - tops, atol=2e-4)
    assert [model.shape_label[k] for k in found["shape_index_image"][:, 0][(slice(None), *middle)]] == [
        label for label in model.shape_label if label.endswith(("ball", "box"))
    ]
    np.testing.assert_allclose(found["normal_image"][:, 0][(slice(None), *middle)], [[0, 0, 1]] * 3, atol=1e-3)
    direction = rays.numpy()[0, :, :, 1]
    corner = found["shape_index_image"][0, 0, 0, 0]
    assert model.shape_label[corner] == "ground"
    slant = -direction[0, 0, 2]
    np.testing.assert_allclose(found["depth_image"][0, 0, 0, 0] * slant, 4.0, atol=1e-3)
    np.testing.assert_allclose(found["forward_depth_image"][0, 0, 0, 0], 4.0, atol=1e-3)
    hit = found["shape_index_image"][0, 0] != corner  # the ball, in closed form
    p, d = np.array([0, 0, 3.0]), direction[hit]
    b = d @ p
    np.testing.assert_allclose(found["depth_image"][0, 0][hit], -b - np.sqrt(b * b - (9.0 - 0.25**2)), atol=2e-3)


def test_where_nothing_is(scene):
    _, sensor = scene
    found, _ = drawn(scene, clear_data=sensor.GRAY_CLEAR_DATA)
    assert (found["depth_image"][:, 1] == 0).all() and (found["shape_index_image"][:, 1] == 0xFFFFFFFF).all()
    assert (found["color_image"][:, 1] == 0xFF666666).all() and (found["normal_image"][:, 1] == 0).all()
    assert np.ptp(found["color_image"][:, 0].astype(float)) > 0


def test_rays_and_tiles_are_newtons(scene):
    newton = pytest.importorskip("newton")
    model, sensor = scene
    theirs = newton.ModelBuilder()
    theirs.add_body()
    with pytest.warns(DeprecationWarning):
        other = newton.sensors.SensorTiledCamera(theirs.finalize(device="cpu")).utils
    wanted = other.compute_camera_rays_pinhole(WIDTH, HEIGHT, camera_fovs=[0.5, 1.2]).numpy()
    found = sensor.utils.compute_camera_rays_pinhole(WIDTH, HEIGHT, camera_fovs=[0.5, 1.2]).numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    image = sensor.utils.create_color_image_output(WIDTH, HEIGHT, 2)
    image.fill_(0x04030201)
    tiles = sensor.utils.flatten_color_image_to_rgba(image, worlds_per_row=3).numpy()
    assert tiles.shape == (2 * HEIGHT, 3 * WIDTH, 4) and tiles[0, 0].tolist() == [1, 2, 3, 4]


def test_refused(scene):
    model, sensor = scene
    rays = sensor.utils.compute_camera_rays_pinhole(8, 8, camera_fovs=FOV)
    with pytest.raises(BuildError, match=r"camera_transforms has shape \(2, 3\): expected \(1, 3\)"):
        sensor.update(model.state(), cameras(model), rays)
    both = sensor.utils.compute_camera_rays_pinhole(8, 8, camera_fovs=[FOV, FOV])
    wrong = sensor.utils.create_depth_image_output(9, 8, 2)
    with pytest.raises(BuildError, match="depth_image has shape"):
        sensor.update(model.state(), cameras(model), both, depth_image=wrong)
    with pytest.raises(BuildError, match="<light>"):
        sensor.utils.create_default_light()


def test_pictures_of_a_model(scene):
    """`render` of a Model draws worlds of all structures, where a state has them."""
    model, _ = scene
    state = model.state()
    q = state.joint_q.numpy().reshape(3, 7)
    q[1, 2] += 50.0
    state.joint_q.assign(q.ravel())
    camera = FreeCamera(lookat=(0, 0, 1), distance=3, azimuth=90, elevation=-20)
    seen = render(model, camera, 40, 30, kind="segmentation", state=state)
    things = [len(np.unique(picture[..., 0])) for picture in seen]
    assert seen.shape == (3, 30, 40, 2) and things[1] < things[0] == things[2]
    again = render(model, camera, 40, 30, kind="segmentation", worlds=[2, 0], state=state)
    np.testing.assert_array_equal(again, seen[[2, 0]])
    with pytest.raises(BuildError, match="a simulation is drawn as it is"):
        render(Simulation("<mujoco/>"), state=state)
