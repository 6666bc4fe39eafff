"""Model.collide: against MuJoCo's contacts, and particles against closed forms."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema import CollisionPipeline
from kinema.adapter.particle_contacts import shape_distance
from kinema.compile import register_mujoco_attributes
from kinema.errors import BuildError
from kinema.model import GeoType, ModelBuilder, ShapeConfig
from kinema.model.transform import quat_rotate, transform_mul

XML = """<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1"/>
  <body name="a" pos="0 0 .15"><freejoint/><geom name="box" type="box" size=".1 .2 .16" margin=".01"/></body>
  <body name="b" pos=".15 .05 .4" quat="1 .1 .2 0"><freejoint/>
    <geom name="bar" type="capsule" size=".1 .2" pos="0 0 .05"/></body>
  <body name="c" pos=".3 0 .3"><freejoint/><geom name="ball" size=".12" contype="2" conaffinity="2"/></body>
  <body name="d" pos=".3 0 .1"><freejoint/><geom name="other" size=".12" contype="3" conaffinity="3"/></body>
  </worldbody><contact><exclude body1="b" body2="d"/></contact></mujoco>"""


def _contacts(model, state=None):
    found = model.collide(model.state() if state is None else state)
    n = int(found.rigid_contact_count.numpy()[0])
    names = ("shape0", "shape1", "point0", "point1", "normal", "margin0", "margin1", "offset0")
    return {name: getattr(found, f"rigid_contact_{name}").numpy()[:n] for name in names}


def _world_point(model, state, shape, point):
    body = int(model.shape_body.numpy()[shape])
    if body < 0:
        return point
    pose = state.body_q.numpy()[body].astype(float)
    return quat_rotate(pose[3:], point.astype(float)) + pose[:3]


def _compare(model, found, start, theirs, data, shift=(0, 0, 0)):
    """One world's contacts are MuJoCo's: pairs, distances, normals, positions."""
    state = model.state()
    assert len(found["shape0"]) == data.ncon > 3
    for k in range(data.ncon):
        contact = data.contact[k]
        assert [found["shape0"][k] - start, found["shape1"][k] - start] == contact.geom.tolist()
        p0, p1 = (_world_point(model, state, found[f"shape{i}"][k], found[f"point{i}"][k]) for i in (0, 1))
        np.testing.assert_allclose((p0 + p1) / 2 - shift, contact.pos, atol=2e-5)
        np.testing.assert_allclose(found["normal"][k], contact.frame[:3], atol=2e-5)
        assert found["normal"][k] @ (p1 - p0) == pytest.approx(contact.dist, abs=2e-5)
        assert found["margin0"][k] + found["margin1"][k] == pytest.approx(contact.includemargin, abs=1e-6)


def test_a_document_in_placed_worlds():
    """Contype, excludes and margins of the document hold; world 1 stands elsewhere."""
    theirs = mujoco.MjModel.from_xml_string(XML)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    template = ModelBuilder()
    template.add_mjcf(XML)
    main = ModelBuilder()
    register_mujoco_attributes(main)
    shift = (3.0, -2.0, 0.0)
    main.add_world(template)
    main.add_world(template, xform=(shift, (0, 0, 0, 1)))
    model = main.finalize(device="cpu")
    found = _contacts(model)
    half = len(found["shape0"]) // 2
    for world in range(2):
        part = {name: values[world * half : (world + 1) * half] for name, values in found.items()}
        _compare(model, part, world * theirs.ngeom, theirs, data, np.multiply(shift, world))


def _hand_built():
    builder = ModelBuilder()
    cfg = ShapeConfig(gap=0.0, margin=0.01)
    for pos, kind in (((0, 0, 0.15), "box"), ((0.15, 0.05, 0.4), "capsule"), ((0.3, 0, 0.1), "sphere")):
        body = builder.add_body(xform=(pos, (0, 0, 0, 1)))
        if kind == "box":
            builder.add_shape_box(body, hx=0.1, hy=0.2, hz=0.16, cfg=cfg)
        elif kind == "capsule":
            builder.add_shape_capsule(body, radius=0.1, half_height=0.2, cfg=cfg)
        else:
            builder.add_shape_sphere(body, radius=0.12, cfg=cfg)
    return builder


HAND_XML = """<mujoco><default><geom margin=".01"/></default><worldbody>
  <geom type="plane" size="0 0 1" margin="0"/><body pos="0 0 .15"><freejoint/><geom type="box" size=".1 .2 .16"/></body>
  <body pos=".15 .05 .4"><freejoint/><geom type="capsule" size=".1 .2"/></body>
  <body pos=".3 0 .1"><freejoint/><geom size=".12"/></body></worldbody></mujoco>"""


def test_shapes_built_by_hand_over_shared_ground():
    theirs = mujoco.MjModel.from_xml_string(HAND_XML)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    main = ModelBuilder()
    main.add_ground_plane(cfg=ShapeConfig(gap=0.0))
    main.replicate(_hand_built(), 2)
    model = main.finalize(device="cpu")
    found = _contacts(model)
    half = len(found["shape0"]) // 2
    first = {name: values[:half] for name, values in found.items()}
    _compare(model, first, 0, theirs, data)
    second = {name: values[half:] for name, values in found.items()}
    assert set(second["shape0"]) | set(second["shape1"]) == {0, 4, 5, 6}
    np.testing.assert_allclose(second["point1"], first["point1"], atol=1e-6)


def _ball_over_slab(filtered):
    builder = ModelBuilder()
    near = ShapeConfig(gap=0.05)
    ball = builder.add_body(xform=((0, 0, 0.18), (0, 0, 0, 1)))
    builder.add_shape_sphere(ball, radius=0.1, cfg=near)
    builder.add_shape_box(-1, hx=1, hy=1, hz=0.05, cfg=near)  # its top at 0.05: 0.03 away, within the gaps
    if filtered:
        builder.add_shape_collision_filter_pair(0, 1)
    return builder.finalize(device="cpu")


def test_filters_gaps_and_static_shapes():
    model = _ball_over_slab(filtered=False)
    found = _contacts(model)
    assert len(found["shape0"]) == 1
    assert {int(found["shape0"][0]), int(found["shape1"][0])} == {0, 1}
    state = model.state()
    p0, p1 = (_world_point(model, state, found[f"shape{i}"][0], found[f"point{i}"][0]) for i in (0, 1))
    assert found["normal"][0] @ (p1 - p0) == pytest.approx(0.03, abs=1e-5)
    assert len(_contacts(_ball_over_slab(filtered=True))["shape0"]) == 0


def test_more_contacts_than_guessed_are_found():
    """A pile in which every ball touches every other: the first guess of room is too small, and it grows."""
    builder = ModelBuilder()
    for k in range(40):
        body = builder.add_body(xform=((0.001 * k, 0, 1), (0, 0, 0, 1)))
        builder.add_shape_sphere(body, radius=0.1, cfg=ShapeConfig(gap=0.0))
    model = builder.finalize(device="cpu")
    contacts = model.collide(model.state())
    assert contacts.rigid_contact_count.numpy()[0] == 40 * 39 // 2


@wp.kernel
def _distances(kind: int, scale: wp.vec3, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    out[i] = shape_distance(kind, x[i], scale, wp.uint64(0))


@pytest.mark.parametrize("kind", [GeoType.SPHERE, GeoType.BOX, GeoType.CAPSULE, GeoType.CYLINDER, GeoType.CONE,
                                  GeoType.ELLIPSOID])  # fmt: skip
def test_distance_of_shapes(kind):
    """x - d n lies on the surface, and no sampled point of the surface is nearer."""
    rng = np.random.default_rng(0)
    scale = np.array([0.5, 0.8, 0.3])
    points = rng.uniform(-1.3, 1.3, size=(300, 3)).astype(np.float32)
    out = wp.zeros(len(points), dtype=wp.vec4, device="cpu")
    wp.launch(_distances, len(points), [int(kind), wp.vec3(*scale), wp.array(points, dtype=wp.vec3, device="cpu"), out],
              device="cpu")  # fmt: skip
    found = out.numpy().astype(float)
    np.testing.assert_allclose(np.linalg.norm(found[:, :3], axis=1), 1, atol=1e-4)
    surface = _surface(kind, scale, rng)
    nearest = np.array([np.linalg.norm(surface - p, axis=1).min() for p in points])
    assert (np.abs(found[:, 3]) <= nearest + 1e-4).all()
    assert (nearest <= np.abs(found[:, 3]) + 0.05).all()  # samples are that dense
    touching = points - found[:, 3:] * found[:, :3]
    assert max(np.linalg.norm(surface - p, axis=1).min() for p in touching) < 0.05


def _surface(kind, scale, rng, n=60000):
    """Points all over a surface."""
    v = rng.normal(size=(n, 3))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    r, h = scale[0], scale[1]
    if kind == GeoType.SPHERE:
        return r * v
    if kind == GeoType.ELLIPSOID:
        return scale * v
    if kind == GeoType.BOX:
        u = rng.uniform(-1, 1, size=(n, 3))
        axis = rng.integers(0, 3, n)
        u[np.arange(n), axis] = np.sign(u[np.arange(n), axis])
        return scale * u
    angle, t = rng.uniform(0, 2 * np.pi, n), rng.uniform(0, 1, n)
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(n)], axis=1)
    if kind == GeoType.CAPSULE:
        caps = r * v + np.sign(v[:, 2:]) * [0, 0, h]
        return np.concatenate([caps, r * circle + (2 * t - 1)[:, None] * [0, 0, h]])
    base = r * np.sqrt(t)[:, None] * circle
    if kind == GeoType.CYLINDER:
        caps = base + np.where(rng.uniform(size=n) < 0.5, h, -h)[:, None] * [0, 0, 1]
        side = r * circle + rng.uniform(-h, h, n)[:, None] * [0, 0, 1]
        return np.concatenate([caps, side])
    side = (1 - t)[:, None] * r * circle + (-h + 2 * h * t)[:, None] * [0, 0, 1]
    return np.concatenate([base - [0, 0, h], side])


def test_particles_meet_shapes_of_their_world():
    template = ModelBuilder()
    body = template.add_body(xform=((0, 0, 1), (0, 0, np.sin(0.4), np.cos(0.4))))
    template.add_shape_box(body, hx=0.2, hy=0.2, hz=0.1, xform=((0.1, 0, 0), (0, 0, 0, 1)))
    template.add_particle((0.05, 0.0, 1.15), (0, 0, 0), mass=1.0, radius=0.06)
    template.add_particle((3, 3, 0.04), (0, 0, 0), mass=1.0, radius=0.05)
    template.add_particle((3, 3, 2.0), (0, 0, 0), mass=1.0, radius=0.05)
    main = ModelBuilder()
    main.add_ground_plane()
    main.replicate(template, 3)
    model = main.finalize(device="cpu")
    contacts = model.collide(state := model.state())
    n = int(contacts.soft_contact_count.numpy()[0])
    names = ("particle", "shape", "body_pos", "normal")
    particle, shape, body_pos, normal = (getattr(contacts, f"soft_contact_{name}").numpy()[:n] for name in names)
    assert list(zip(particle, shape, strict=True)) == [(0, 1), (1, 0), (3, 2), (4, 0), (6, 3), (7, 0)]
    np.testing.assert_allclose(normal, np.tile([0, 0, 1], (6, 1)), atol=1e-6)
    pose = state.body_q.numpy()[0].astype(float)
    world = transform_mul(pose, np.array([*body_pos[0], 0, 0, 0, 1]))[:3]
    np.testing.assert_allclose(world, (0.05, 0, 1.1), atol=1e-5)
    np.testing.assert_allclose(body_pos[1], (3, 3, 0), atol=1e-6)


@pytest.fixture(scope="module")
def crowd():
    """Two worlds: balls a and b overlap, ball c and a kinematic box lie in the floor."""
    world = ModelBuilder()
    for name, place in (("a", (0, 0, 2)), ("b", (0.15, 0, 2)), ("c", (2, 0, 0.05))):
        world.add_shape_sphere(world.add_body(xform=(place, (0, 0, 0, 1))), radius=0.1, label=name)
    still = world.add_body(xform=((-2, 0, 0.05), (0, 0, 0, 1)), is_kinematic=True)
    world.add_shape_box(still, hx=0.1, hy=0.1, hz=0.1, label="still")
    main = ModelBuilder()
    main.add_ground_plane(label="floor")
    main.replicate(world, 2)
    return main.finalize(device="cpu")


def touching(model, **options):
    """Labels of what touches, world by world."""
    pipeline = CollisionPipeline(model, **options)
    contacts = pipeline.contacts()
    pipeline.collide(model.state(), contacts)
    count = int(contacts.rigid_contact_count.numpy()[0])
    sides = [getattr(contacts, f"rigid_contact_shape{k}").numpy()[:count] for k in range(2)]
    names = [label.rpartition("/")[2] for label in model.shape_label]
    return [tuple(sorted((names[a], names[b]))) for a, b in zip(*sides, strict=True)]


def test_a_pipeline_takes_newtons_arguments(crowd):
    every = touching(crowd)
    assert set(every) == {("a", "b"), ("c", "floor"), ("floor", "still")} and every[: len(every) // 2] * 2 == every
    assert set(touching(crowd, include_static_kinematic_pairs=False)) == {("a", "b"), ("c", "floor")}
    labels = crowd.shape_label
    a, b = (next(k for k, label in enumerate(labels) if label.endswith(name)) for name in ("a", "b"))
    floor = labels.index("floor")
    chosen = {"broad_phase": "explicit", "shape_pairs_filtered": wp.array([(b, a)], dtype=wp.vec2i, device="cpu")}
    assert touching(crowd, **chosen) == [("a", "b")], "of the first world alone"
    assert touching(crowd, broad_phase="explicit", shape_pairs_filtered=[]) == []
    assert touching(crowd, broad_phase="nxn", shape_pairs_filtered=[(a, floor)]) == every, "as Newton: ignored"
    for wrong, told in (
        ({"broad_phase": "sa"}, "'sa'.*sap"),
        ({"broad_phase": "explicit", "shape_pairs_filtered": [(0, 99)]}, "names shape 99"),
        ({"soft_contact_gap": 0.1, "soft_contact_margin": 0.1}, "former name"),
    ):
        with pytest.raises(BuildError, match=told):
            CollisionPipeline(crowd, **wrong)


def test_a_pipeline_says_how_near_particles_touch():
    builder = ModelBuilder()
    builder.add_ground_plane()
    builder.add_particle((0.0, 0.0, 0.15), (0.0, 0.0, 0.0), 1.0, radius=0.1)
    model = builder.finalize(device="cpu")
    found = {}
    for gap in (None, 0.02, 0.06):
        pipeline = CollisionPipeline(model, soft_contact_gap=gap)
        contacts = pipeline.contacts()
        pipeline.collide(model.state(), contacts)
        found[gap] = int(contacts.soft_contact_count.numpy()[0])
    assert found == {None: 0, 0.02: 0, 0.06: 1}
