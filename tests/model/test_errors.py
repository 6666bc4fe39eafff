"""Bad input: an error that names the call, the key and the value, and a builder that is as it was before."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from kinema.errors import BuildError, KinemaError
from kinema.model import AttributeFrequency, CustomAttribute, CustomFrequency, ModelBuilder

from .rich import rich_template

NAN = float("nan")
BODY = AttributeFrequency.BODY


def fresh() -> ModelBuilder:
    """A builder with a bit of everything and some attributes."""
    b = rich_template()
    b.add_custom_frequency(CustomFrequency(name="row", namespace="n"))
    b.add_custom_attribute(CustomAttribute(name="heat", frequency=BODY))
    b.add_custom_attribute(CustomAttribute(name="id", frequency=BODY, dtype=wp.int32))
    b.add_custom_attribute(CustomAttribute(name="spin", frequency=AttributeFrequency.JOINT_DOF))
    b.add_custom_attribute(
        CustomAttribute(name="ref", namespace="n", frequency="n:row", dtype=wp.int32, references="body")
    )
    return b


def fingerprint(b: ModelBuilder) -> dict:
    b.flush()
    rows = {key: column.rows(column.size) for key, column in b._columns.items() if column.size}
    contents = {key: r.tolist() if r.dtype == object else r.tobytes() for key, r in rows.items()}
    return {
        "counts": dict(b._counts), "rows": contents, "attributes": sorted(b.custom_attributes),
        "frequencies": sorted(b.custom_frequencies), "worlds": b.world_count, "open": b.current_world,
        "gravity": len(b.world_gravity),
    }  # fmt: skip


def other_heat() -> ModelBuilder:
    b = ModelBuilder()
    b.add_custom_attribute(CustomAttribute(name="heat", frequency=BODY, default=3.0))
    return b


def wrong_reference() -> ModelBuilder:
    b = ModelBuilder()
    b.add_custom_attribute(CustomAttribute(name="bad", namespace="x", dtype=wp.int32, references="x:nowhere"))
    b.add_custom_values(**{"x:bad": 0})
    return b


def reference_out_of_range() -> ModelBuilder:
    b = ModelBuilder()
    b.add_custom_attribute(CustomAttribute(name="far", dtype=wp.int32, references="body"))
    b.add_custom_values(far=3)
    return b


def links(b: ModelBuilder, n: int) -> list[int]:
    return [b.add_link(mass=1.0, inertia=np.eye(3)) for _ in range(n)]


CASES = {
    "unknown key": (lambda b: b.add_link(custom_attributes={"haet": 1.0}), AttributeError, "add_link.*'haet'.*'heat'"),
    "wrong frequency": (lambda b: b.add_link(custom_attributes={"spin": 1.0}), ValueError, "'spin'.*'joint_dof'"),
    "wrong dtype": (lambda b: b.add_link(custom_attributes={"id": 1.5}), TypeError, "'id'.*int32.*1.5"),
    "text for a number": (lambda b: b.add_link(custom_attributes={"heat": "hot"}), TypeError, "'heat'.*'hot'"),
    "wrong shape": (lambda b: b.add_body(custom_attributes={"heat": [1, 2]}), ValueError, "'heat'.*shape"),
    "too large": (lambda b: b.add_body(custom_attributes={"id": 2**40}), TypeError, "'id'"),
    "NaN mass": (lambda b: b.add_body(mass=NAN), ValueError, "add_body.*mass=nan"),
    "negative mass": (lambda b: b.add_link(mass=-1.0), ValueError, "mass=-1.0"),
    "NaN inertia": (lambda b: b.add_link(inertia=np.full((3, 3), NAN)), ValueError, "inertia"),
    "bad transform": (lambda b: b.add_body(xform=(1, 2, 3)), ValueError, r"xform=\(1, 2, 3\)"),
    "NaN pose": (lambda b: b.add_body(xform=((NAN, 0, 0), (0, 0, 0, 1))), ValueError, "xform"),
    "child out of range": (lambda b: b.add_joint_free(99), ValueError, "add_joint_free.*child.*99"),
    "parent out of range": (lambda b: b.add_joint_fixed(-2, 0), ValueError, "parent.*-2"),
    "own parent": (lambda b: b.add_joint_revolute(1, 1), ValueError, "own parent"),
    "joint values": (lambda b: b.add_joint_ball(0, 1, custom_attributes={"spin": [1, 2]}), ValueError, "'spin'.*3.*2"),
    "joint index": (lambda b: b.add_joint_ball(0, 1, custom_attributes={"spin": {3: 1.0}}), ValueError, "0 to 2"),
    "joint index type": (lambda b: b.add_joint_ball(0, 1, custom_attributes={"spin": {"a": 1}}), TypeError, "'a'"),
    "NaN limit": (lambda b: b.add_joint_revolute(0, 1, limit_lower=NAN), ValueError, "add_joint_revolute"),
    "zero axis": (lambda b: b.add_joint_revolute(0, 1, axis=(0, 0, 0)), ValueError, "axis"),
    "empty articulation": (lambda b: b.add_articulation([]), ValueError, "at least one"),
    "taken joint": (lambda b: b.add_articulation([0]), ValueError, "already in articulation 0"),
    "shape body": (lambda b: b.add_shape_box(77), ValueError, "add_shape.*77"),
    "NaN density": (lambda b: b.add_shape_box(0, cfg=b.ShapeConfig(density=NAN)), ValueError, "density=nan"),
    "no mesh": (lambda b: b.add_shape_mesh(0), TypeError, "mesh is required"),
    "opacity": (lambda b: b.add_shape_box(0, opacity=3.0), ValueError, "opacity=3.0"),
    "filter pair": (lambda b: b.add_shape_collision_filter_pair(0, 99), ValueError, "shape 99"),
    "particles": (lambda b: b.add_particles([(0, 0, 0)], [(0, 0, 0)], [1.0, 2.0]), ValueError, "mass"),
    "spring": (lambda b: b.add_spring(0, 999, 1, 1, 0), ValueError, "particle 999"),
    "triangle": (lambda b: b.add_triangle(0, 1, -1), ValueError, "particle -1"),
    "edge": (lambda b: b.add_edge(-1, -2, 0, 1), ValueError, "particle -2"),
    "cloth": (
        lambda b: b.add_cloth_mesh(pos=(0, 0, 0), rot=(0, 0, 0, 1), scale=1, vel=(0, 0, 0), density=1.0,
                                   vertices=np.eye(3), indices=[0, 1, 2], custom_attributes_edges={"no": 1.0}),
        AttributeError, "'no'",
    ),
    "mesh index": (
        lambda b: b.add_cloth_mesh(pos=(0, 0, 0), rot=(0, 0, 0, 1), scale=1, vel=(0, 0, 0), density=1.0,
                                   vertices=np.eye(3), indices=[0, 1, 3]),
        ValueError, "vertex 3",
    ),
    "negative dim": (
        lambda b: b.add_cloth_grid(pos=(0, 0, 0), rot=(0, 0, 0, 1), vel=(0, 0, 0), dim_x=-1, dim_y=2, cell_x=1,
                                   cell_y=1, mass=1),
        ValueError, "dim_x=-1",
    ),
    "muscle": (lambda b: b.add_muscle([0, 99], [(0, 0, 0)] * 2, 1, 1, 1, 1, 1), ValueError, "body 99"),
    "mimic": (lambda b: b.add_constraint_mimic(0, 99), ValueError, "joint 99"),
    "equality": (lambda b: b.add_equality_constraint_connect(0, 99), ValueError, "body 99"),
    "values of an entity": (lambda b: b.add_custom_values(heat=1.0), TypeError, "built-in frequency 'body'"),
    "unknown value": (lambda b: b.add_custom_values(**{"n:fer": 1}), AttributeError, "'n:fer'.*'n:ref'"),
    "unequal columns": (
        lambda b: b.add_custom_values_batch({"n:ref": [1, 2], "heat": [1]}), ValueError, "'n:ref': 2, 'heat': 1"
    ),
    "unknown frequency": (
        lambda b: b.add_custom_attribute(CustomAttribute(name="a", frequency="n:rwo")), ValueError, "'n:rwo'.*'n:row'"
    ),
    "taken name": (lambda b: b.add_custom_attribute(CustomAttribute(name="joint_q")), AttributeError, "joint_q"),
    "taken namespace": (
        lambda b: b.add_custom_attribute(CustomAttribute(name="a", namespace="state")), AttributeError, "'state'"
    ),
    "references without integers": (
        lambda b: b.add_custom_attribute(CustomAttribute(name="a", references="body")), ValueError, "integers"
    ),
    "bad default": (
        lambda b: b.add_custom_attribute(CustomAttribute(name="a", dtype=wp.vec3, default=(1, 2))), ValueError, "'a'"
    ),
    "frequency again": (
        lambda b: b.add_custom_frequency(CustomFrequency(name="row", namespace="n", label_attribute="x")),
        ValueError, "'n:row'",
    ),
    "registered differently": (lambda b: b.add_world(other_heat()), ValueError, "'heat'.*differently"),
    "reference to nothing": (lambda b: b.add_world(wrong_reference()), ValueError, "'x:bad'.*'x:nowhere'"),
    "reference too far": (lambda b: b.add_builder(reference_out_of_range()), ValueError, "'far' row 0.*body 3"),
    "up axis": (lambda b: b.add_world(ModelBuilder(up_axis="Y")), ValueError, "up axis"),
    "into itself": (lambda b: b.add_builder(b), ValueError, "itself"),
    "not a builder": (lambda b: b.add_world(3), TypeError, "ModelBuilder"),
    "negative worlds": (lambda b: b.replicate(ModelBuilder(), -1), ValueError, "world_count=-1"),
    "too few transforms": (lambda b: b.replicate(ModelBuilder(), 2, xforms=[None]), ValueError, "xforms has 1"),
    "end without begin": (lambda b: b.end_world(), RuntimeError, "no world is open"),
    "whole column": (lambda b: setattr(b, "body_mass", [1.0]), ValueError, "body_mass"),
    "unknown column": (lambda b: b.body_mas, AttributeError, "'body_mas'.*'body_mass'"),
    "bad dtype": (lambda b: CustomAttribute(name="a", dtype=dict), ValueError, "dict"),
    "bad name": (lambda b: CustomAttribute(name="a:b"), ValueError, "a:b"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_and_changes_nothing(name):
    call, kind, message = CASES[name]
    b = fresh()
    before = fingerprint(b)
    with pytest.raises(kind, match=f"(?s){message}") as caught:
        call(b)
    assert isinstance(caught.value, KinemaError)
    assert fingerprint(b) == before
    b.finalize("cpu")  # still whole


def test_cycles_are_refused():
    b = ModelBuilder()
    a, c, d = links(b, 3)
    joints = [b.add_joint_revolute(a, c), b.add_joint_revolute(c, d), b.add_joint_revolute(d, a)]
    with pytest.raises(BuildError, match="cycle"):
        b.add_articulation(joints)
    assert b.articulation_count == 0


def test_two_parents_are_refused():
    b = ModelBuilder()
    a, c, d = links(b, 3)
    joints = [b.add_joint_revolute(-1, a), b.add_joint_revolute(a, d), b.add_joint_revolute(c, d)]
    with pytest.raises(BuildError, match="two parents"):
        b.add_articulation(joints)


def test_joints_without_articulation_are_refused():
    b = ModelBuilder()
    a, c = links(b, 2)
    b.add_joint_revolute(a, c, label="lost")
    with pytest.raises(BuildError, match="lost"):
        b.finalize("cpu")


def test_a_finalized_builder_takes_no_more_rows():
    b = fresh()
    b.finalize("cpu")
    for call in (b.add_body, b.add_ground_plane, b.begin_world, lambda: b.add_world(ModelBuilder()), b.color):
        with pytest.raises(BuildError, match="finalized"):
            call()
    assert b.finalize("cpu").body_count == b.body_count  # but may be finalized again, and copied
    other = ModelBuilder()
    other.add_world(b)
    assert other.finalize("cpu").body_count == b.body_count
    with pytest.raises(ValueError):
        b.body_mass[0] = 1.0


def test_open_worlds():
    b = ModelBuilder()
    b.begin_world()
    for call in (b.begin_world, lambda: b.add_world(ModelBuilder()), lambda: b.replicate(ModelBuilder(), 2)):
        with pytest.raises(RuntimeError, match="world 0 is still open"):
            call()
    with pytest.raises(RuntimeError, match="still open"):
        b.finalize("cpu")
    b.end_world()
    assert b.finalize("cpu").world_count == 1


def test_bodies_of_another_world_are_refused():
    b = ModelBuilder()
    outside = b.add_link(mass=1.0, inertia=np.eye(3))
    b.begin_world()
    inside = b.add_link(mass=1.0, inertia=np.eye(3))
    with pytest.raises(BuildError, match=f"parent body {outside} is in world -1"):
        b.add_joint_revolute(outside, inside)


def test_index_out_of_range_is_found_at_finalize():
    with pytest.raises(BuildError, match="'far' row 0 refers to body 3"):
        reference_out_of_range().finalize("cpu")
