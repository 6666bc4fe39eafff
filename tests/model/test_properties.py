"""Properties that hold for every model: routes to the same worlds agree, merging is associative, files are stable."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
import warp as wp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinema.model import AttributeFrequency, CustomAttribute, CustomFrequency, Model, ModelBuilder

from .rich import host
from .test_worlds import assert_equal_models

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))

number = st.floats(-2.0, 2.0, width=32)
vector = st.tuples(number, number, number)


@st.composite
def poses(draw):
    axis, angle = np.array(draw(vector)) + (0, 0, 0.01), draw(number)
    axis = axis / np.linalg.norm(axis)
    return [*draw(vector), *(np.sin(angle / 2) * axis), np.cos(angle / 2)]


@st.composite
def templates(draw):
    """A chain of bodies with shapes, particles and rows of a custom entity that point at them and at each other."""
    b = ModelBuilder()
    b.add_custom_frequency(CustomFrequency(name="row", namespace="n"))
    b.add_custom_attribute(CustomAttribute(name="heat", frequency=AttributeFrequency.BODY, default=1.5))
    for name, references in (("body", "body"), ("shape", "shape"), ("next", "n:row"), ("world", "world")):
        b.add_custom_attribute(
            CustomAttribute(
                name=f"row_{name}", namespace="n", frequency="n:row", dtype=wp.int32, default=-1, references=references
            )
        )
    joints, parent = [], -1
    for i in range(draw(st.integers(0, 3))):
        heat = {"heat": draw(number)} if draw(st.booleans()) else None
        body = b.add_link(xform=draw(poses()), mass=1.0 + i, inertia=np.eye(3), custom_attributes=heat, label=f"b{i}")
        free = parent < 0 and draw(st.booleans())
        frame = draw(poses())
        joints.append(b.add_joint_free(body) if free else b.add_joint_revolute(parent, body, parent_xform=frame))
        parent = body
        if draw(st.booleans()):
            group = draw(st.sampled_from([1, 2, -1, 0]))
            b.add_shape_sphere(body, radius=0.1, cfg=b.ShapeConfig(collision_group=group, density=0.0))
    if joints:
        b.add_articulation(joints)
    if draw(st.booleans()):
        b.add_shape_box(-1, xform=draw(poses()))
    for _ in range(draw(st.integers(0, 3))):
        b.add_particle(draw(vector), draw(vector), 1.0)
    for _ in range(draw(st.integers(0, 3))):
        count = {"body": b.body_count, "shape": b.shape_count, "next": b.count("n:row")}
        b.add_custom_values(
            **{f"n:row_{name}": draw(st.integers(-1, top - 1)) if top else -1 for name, top in count.items()}
        )
    return b


@QUICK
@given(templates(), st.integers(1, 4), st.booleans())
def test_replicate_is_a_loop_of_add_world(template, worlds, ground):
    first, second = ModelBuilder(), ModelBuilder()
    for b in (first, second):
        if ground:
            b.add_ground_plane()
    first.replicate(template, worlds)
    for _ in range(worlds):
        second.add_world(template)
    assert_equal_models(first.finalize("cpu"), second.finalize("cpu"))


@QUICK
@given(templates(), templates(), templates(), poses(), poses())
def test_merging_is_associative(a, b, c, place_a, place_c):
    """(a b) c = a (b c), each part placed where it is placed."""

    def joined(*parts):
        out = ModelBuilder()
        for part, place in parts:
            out.add_builder(part, xform=place)
        return out

    left = joined((joined((a, place_a), (b, None)), None), (c, place_c)).finalize("cpu")
    right = joined((a, place_a), (joined((b, None), (c, place_c)), None)).finalize("cpu")
    assert_equal_models(left, right)


@QUICK
@given(templates(), poses(), poses())
def test_placing_twice_is_placing_at_the_product(template, inner, outer):
    once, middle, twice = ModelBuilder(), ModelBuilder(), ModelBuilder()
    once.add_builder(template, xform=wp.transform(*outer) * wp.transform(*inner))
    middle.add_builder(template, xform=inner)
    twice.add_builder(middle, xform=outer)
    first, second = once.finalize("cpu"), twice.finalize("cpu")
    for name in ("body_q", "body_qd", "joint_q", "joint_X_p", "shape_transform", "particle_q", "particle_qd"):
        np.testing.assert_allclose(host(getattr(first, name)), host(getattr(second, name)), atol=2e-5, err_msg=name)


@QUICK
@given(st.lists(templates(), min_size=1, max_size=2), st.lists(st.integers(0, 1), min_size=1, max_size=5))
def test_the_template_of_a_class_is_the_template(parts, order):
    """What a class gives back for its first world equals the template finalized alone, local indices included."""
    b = ModelBuilder()
    b.add_ground_plane()
    order = [i % len(parts) for i in order]
    for i in order:
        b.add_world(parts[i])
    model = b.finalize("cpu")
    assert sorted(w for c in model.world_classes for w in c.worlds) == list(range(len(order)))
    for group in model.world_classes:
        alone = parts[order[group.worlds[0]]].finalize("cpu")
        for key, field in alone.fields.items():
            if field.runtime or field.references == "world" or field.is_object:
                continue
            expected = host(alone.array_of(field))
            expected = expected[:-1] if field.sentinel else expected
            np.testing.assert_array_equal(group.template[key], expected.reshape(group.template[key].shape), err_msg=key)


@QUICK
@given(templates(), st.integers(1, 3), poses())
def test_save_load_save_is_the_same_bytes(template, worlds, place):
    b = ModelBuilder()
    b.replicate(template, worlds, xforms=[place] * worlds)
    model = b.finalize("cpu")
    state = model.state()
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "a", Path(folder) / "b"
        model.save(first, state)
        loaded, loaded_state = Model.load(first, "cpu")
        loaded.save(second, loaded_state)
        assert first.read_bytes() == second.read_bytes()
    assert_equal_models(model, loaded)


warnings.filterwarnings("ignore", message=".*not physical.*")
