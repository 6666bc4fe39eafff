"""Worlds: starts, copies, transforms, classes of identical worlds, and gravity."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
import warp as wp

from kinema.model import AttributeFrequency, CustomAttribute, GeoType, ModelBuilder

from .rich import host, rich_template

warnings.filterwarnings("ignore", message=".*not physical.*")


def ball(radius: float = 0.1, **more) -> ModelBuilder:
    b = ModelBuilder(**more)
    b.add_shape_sphere(b.add_body(mass=1.0, inertia=np.eye(3), label="ball"), radius=radius)
    return b


def arrays(model) -> dict:
    """Every array and list of a model, by key."""
    return {key: host(model.array_of(field)) for key, field in model.fields.items() if not field.runtime}


def assert_equal_models(a, b, *, except_for: tuple[str, ...] = ()) -> None:
    first, second = arrays(a), arrays(b)
    assert first.keys() == second.keys()
    for key in first.keys() - set(except_for):
        np.testing.assert_array_equal(np.asarray(first[key], dtype=object if isinstance(first[key], list) else None),
                                      np.asarray(second[key], dtype=object if isinstance(second[key], list) else None),
                                      err_msg=key)  # fmt: skip
    assert a.kinds == b.kinds and a.world_count == b.world_count
    np.testing.assert_array_equal(a.shape_contact_pairs.numpy(), b.shape_contact_pairs.numpy())


def test_no_world_is_one_empty_world():
    b = ball()
    model = b.finalize("cpu")
    assert model.world_count == 1
    assert model.body_world_start.numpy().tolist() == [1, 1, 1]
    assert model.body_world.numpy().tolist() == [-1]
    assert model.gravity.numpy().shape == (1, 3)


def test_world_starts_count_globals_before_and_after():
    b = ModelBuilder()
    b.add_ground_plane()
    b.add_world(ball())
    b.begin_world()
    b.end_world()
    b.add_world(ball())
    b.add_shape_box(-1)
    b.add_shape_box(-1)
    model = b.finalize("cpu")
    assert model.shape_world_start.numpy().tolist() == [1, 2, 2, 3, 5]
    assert model.joint_dof_world_start.numpy().tolist() == [0, 6, 6, 12, 12]
    assert model.shape_world.numpy().tolist() == [-1, 0, 2, -1, -1]


def test_global_rows_between_worlds_are_refused():
    b = ModelBuilder()
    b.add_world(ball())
    b.add_ground_plane()
    b.add_world(ball())
    with pytest.raises(ValueError, match="'shape_world' has global rows"):
        b.finalize("cpu")


@pytest.mark.parametrize("route", ["replicate", "add_world", "flushed", "begin_world"])
def test_all_routes_give_the_same_model(route):
    template = rich_template()
    b = ModelBuilder()
    b.add_ground_plane()
    if route == "replicate":
        b.replicate(template, 3)
    for _ in range(0 if route == "replicate" else 3):
        if route == "begin_world":
            b.begin_world()
            b.add_builder(template)
            b.end_world()
        else:
            b.add_world(template)
        if route == "flushed":
            b.body_q  # noqa: B018 reading a column writes the copies out
    reference = ModelBuilder()
    reference.add_ground_plane()
    reference.replicate(template, 3)
    assert_equal_models(b.finalize("cpu"), reference.finalize("cpu"))


def test_templates_in_turn():
    """Two templates that alternate land in the right rows."""
    small, big = ball(0.1), ball(0.5)
    big.add_shape_box(0)
    b = ModelBuilder()
    for template in (small, big, small, big):
        b.add_world(template, label_prefix="w")
    model = b.finalize("cpu")
    assert model.shape_type.numpy().tolist() == [GeoType.SPHERE, *(GeoType.SPHERE, GeoType.BOX) * 1, GeoType.SPHERE,
                                                 GeoType.SPHERE, GeoType.BOX]  # fmt: skip
    assert model.shape_body.numpy().tolist() == [0, 1, 1, 2, 3, 3]
    assert model.body_label == ["w/ball"] * 4
    assert [c.worlds.tolist() for c in model.world_classes] == [[0, 2], [1, 3]]
    assert model.world_classes[1].template["shape_body"].tolist() == [0, 0]


def test_a_template_changed_later_does_not_change_its_copies():
    template = ball()
    masses = template.body_mass  # a view held across copies
    b = ModelBuilder()
    b.add_world(template)
    masses[0] = 5.0
    b.add_world(template)
    template.add_shape_box(0)
    b.add_world(template)
    model = b.finalize("cpu")
    np.testing.assert_allclose(model.body_mass.numpy()[:2], [1.0 + 1000.0 * 4.0 / 3.0 * np.pi * 0.1**3, 5.0], rtol=1e-6)
    assert model.shape_count == 4
    assert len(model.world_classes) == 3


def test_merging_is_associative():
    def parts():
        a, b, c = ball(0.1), rich_template(), ball(0.3)
        for part in (a, b, c):
            part.gravity = -1.0
        return a, b, c

    a, b, c = parts()
    left, inner = ModelBuilder(), ModelBuilder()
    inner.add_builder(a)
    inner.add_builder(b)
    left.add_builder(inner)
    left.add_builder(c)
    right, inner = ModelBuilder(), ModelBuilder()
    inner.add_builder(b)
    inner.add_builder(c)
    right.add_builder(a)
    right.add_builder(inner)
    assert_equal_models(left.finalize("cpu"), right.finalize("cpu"))


def test_transforms_compose():
    """Placing a placed copy is placing it at the product of the transforms."""
    half = wp.transform(wp.vec3(1, 0, 0), wp.quat_from_axis_angle(wp.vec3(0, 0, 1), 0.5))
    whole = half * half
    template = rich_template()
    once, inner, twice = ModelBuilder(), ModelBuilder(), ModelBuilder()
    once.add_builder(template, xform=whole)
    inner.add_builder(template, xform=half)
    twice.add_builder(inner, xform=half)
    first, second = once.finalize("cpu"), twice.finalize("cpu")
    for name in ("body_q", "joint_q", "shape_transform", "particle_q", "joint_X_p", "body_qd"):
        np.testing.assert_allclose(host(getattr(first, name)), host(getattr(second, name)), atol=2e-6, err_msg=name)


def test_gravity_per_world():
    b = ModelBuilder(gravity=-9.81)
    b.add_world(ball(gravity=(0.0, 0.0, -1.62)))
    b.begin_world(gravity=(1.0, 0.0, 0.0))
    b.end_world()
    model = b.finalize("cpu")
    np.testing.assert_allclose(model.gravity.numpy(), [[0, 0, -1.62], [1, 0, 0], [0, 0, -9.81]], rtol=1e-6)
    model.set_gravity((0, 0, -3), world=1)
    np.testing.assert_allclose(model.gravity.numpy()[1], [0, 0, -3])
    model.set_gravity(-5.0)
    np.testing.assert_allclose(model.gravity.numpy(), [[0, 0, -5]] * 3)
    with pytest.raises(IndexError):
        model.set_gravity(-5.0, world=2)


def test_worlds_do_not_touch_each_other():
    b = ModelBuilder()
    ground = b.add_ground_plane()
    b.replicate(ball(), 3)
    model = b.finalize("cpu")
    assert model.shape_contact_pairs.numpy().tolist() == [[ground, 1], [ground, 2], [ground, 3]]
    assert len(model._contact_pairs.blocks) == 1  # kept once, not per world


def test_filter_pairs_may_be_appended():
    b = ball()
    b.add_shape_box(b.add_body(mass=1.0, inertia=np.eye(3)))
    b.shape_collision_filter_pairs.append((1, 0))
    b.shape_collision_filter_pairs.extend([(0, 1)])
    model = b.finalize("cpu")
    assert model.shape_collision_filter_pairs == {(0, 1)} and model.shape_contact_pair_count == 0
    assert model.shape_collision_filter_mask([(1, 0), (0, 0)]).tolist() == [True, False]


def test_classes_of_worlds_filled_by_adders():
    b = ModelBuilder()
    b.add_custom_attribute(CustomAttribute(name="heat", frequency=AttributeFrequency.BODY))
    for w in range(4):
        b.begin_world()
        values = {"heat": w // 2}
        body = b.add_body(mass=1.0, inertia=np.eye(3), xform=((w, 0, 0), (0, 0, 0, 1)), custom_attributes=values)
        b.add_shape_sphere(body)
        b.end_world()
    model = b.finalize("cpu")
    assert [c.worlds.tolist() for c in model.world_classes] == [[0, 1], [2, 3]]
    assert model.world_class_of.tolist() == [0, 0, 1, 1]


def test_classes_notice_rows_changed_after_replicate():
    b = ModelBuilder()
    b.replicate(ball(), 4)
    b.body_mass[2] = 7.0
    b.joint_q[3] = 0.5  # initial states may differ within a class
    model = b.finalize("cpu")
    assert [c.worlds.tolist() for c in model.world_classes] == [[0, 1, 3], [2]]
    assert model.world_classes[1].template["body_mass"].tolist() == [7.0]


def test_template_of_a_class_is_local():
    b = ModelBuilder()
    b.add_ground_plane()
    b.replicate(rich_template(), 3, spacing=(1.0, 0.0, 0.0))
    model = b.finalize("cpu")
    (only,) = model.world_classes
    alone = rich_template().finalize("cpu")
    assert len(only) == 3 and only.xforms.shape == (3, 7)
    moved = {key for key, field in alone.fields.items() if field.transform}
    compared = 0
    for key, field in alone.fields.items():
        if field.runtime or field.references == "world" or key in moved or field.dtype is object:
            continue
        expected = np.asarray(host(alone.array_of(field)), dtype=object if field.is_object else None)
        if field.sentinel:
            expected = expected[:-1]
        found = only.template[key]
        np.testing.assert_array_equal(found, expected.reshape(found.shape), err_msg=key)
        compared += 1
    assert compared > 100


def test_reading_a_template_expands_nothing():
    """Rows that only solvers read stay one copy per template, however many worlds there are."""
    template = ModelBuilder()
    template.add_custom_frequency(template.CustomFrequency(name="vert", namespace="big"))
    for name, dtype, references in (("pos", wp.vec3, None), ("body", wp.int32, "body")):
        template.add_custom_attribute(
            CustomAttribute(name=name, namespace="big", frequency="big:vert", dtype=dtype, references=references)
        )
    template.add_body(mass=1.0, inertia=np.eye(3))
    points = np.random.default_rng(0).normal(size=(100_000, 3)).astype(np.float32)
    template.add_custom_values_batch({"big:pos": points, "big:body": np.zeros(100_000, np.int32)})
    b = ModelBuilder()
    b.replicate(template, 4096)
    tracemalloc.start()
    model = b.finalize("cpu")
    rows = model.world_classes[0].template
    np.testing.assert_array_equal(rows["big:pos"], points)
    assert not rows["big:body"].any() and model.custom_frequency_counts["big:vert"] == 409_600_000
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()
    assert set(model.big._lazy) == {"pos", "body"}


def test_memory_of_pairs_does_not_grow_with_worlds():
    template = ModelBuilder()
    for _ in range(30):
        template.add_shape_sphere(template.add_body(mass=1.0, inertia=np.eye(3)), radius=0.1)

    def peak(worlds: int) -> int:
        b = ModelBuilder()
        b.replicate(template, worlds)
        tracemalloc.start()
        model = b.finalize("cpu")
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert model.shape_contact_pair_count == worlds * 435
        return size

    peak(2)
    few, many = peak(64), peak(256)
    assert many < 4.5 * few  # linear
    assert sum(b.within.nbytes for b in _pairs(template, 256)) < 435 * 2 * 8 + 1


def _pairs(template: ModelBuilder, worlds: int) -> list:
    b = ModelBuilder()
    b.replicate(template, worlds)
    return b.finalize("cpu")._contact_pairs.blocks
