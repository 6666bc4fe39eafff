"""The table itself: complete, consistent, and the only place that knows the arrays."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from kinema.model.columns import Column, convert
from kinema.model.fields import ALIASES, FIELDS, STORED, Field, world_key
from kinema.model.frequency import BUILT_IN, ENTITIES, AttributeAssignment, frequency_key

CONTACT_KINDS = ("rigid_contact", "soft_contact")


@pytest.mark.parametrize("key", FIELDS)
def test_every_row_is_complete(key):
    field = FIELDS[key]
    assert field.key == key and field.doc
    assert field.frequency in (*BUILT_IN, *CONTACT_KINDS)
    assert isinstance(field.assignment, AttributeAssignment)
    if not field.is_object:
        assert field.fill.shape == field.row_shape and field.fill.dtype == field.numpy_dtype
    for name in field.references if isinstance(field.references, tuple) else (field.references,):
        assert name is None or name in BUILT_IN, name
    if field.references:
        assert field.numpy_dtype == np.int32
    if field.sentinel:
        assert isinstance(field.references, str)
    assert all(source in FIELDS for source in field.derived)


def test_every_entity_knows_its_worlds():
    for kind in ENTITIES:
        field = FIELDS[world_key(kind)]
        assert field.frequency == kind and field.references == "world" and field.default == -1


def test_aliases_lead_somewhere():
    for old, new in ALIASES.items():
        assert old not in FIELDS
        assert new in FIELDS or new.endswith(("_world_start", "_count"))


def test_what_is_stored():
    assert all(not FIELDS[key].derived and not FIELDS[key].runtime for key in STORED)
    assert {"body_inv_mass", "joint_ancestor", "body_f"}.isdisjoint(STORED)


def test_frequencies_have_three_spellings():
    from kinema.model import AttributeFrequency

    assert frequency_key(AttributeFrequency.BODY) == frequency_key("body") == frequency_key(5) == "body"
    assert frequency_key("mujoco:pair") == "mujoco:pair"
    assert frequency_key(None, "mine:row") == "mine:row"
    assert frequency_key(AttributeFrequency.EQUALITY_CONSTRAINT) == "mujoco:equality_constraint"


def test_columns_tell_unset_from_default():
    column = Column(Field("a", "body", wp.vec2, default=(1.0, 2.0)))
    column.write(2, np.array([[5.0, 6.0]], np.float32))
    column.write(4, np.array([[1.0, 2.0]], np.float32))
    assert [column.is_set(row) for row in range(6)] == [False, False, True, False, True, False]
    assert column.set_count() == 2
    assert column.rows(6).tolist() == [[1, 2], [1, 2], [5, 6], [1, 2], [1, 2], [1, 2]]
    column.write(0, np.array([[9.0, 9.0]], np.float32))
    assert column.is_set(0) and column.set_count() == 3


VALUES = {
    "nested lists": [[1, 2, 3], [4, 5, 6]],
    "warp vectors": [wp.vec3(1, 2, 3), wp.vec3(4, 5, 6)],
    "numpy": np.arange(1.0, 7.0).reshape(2, 3),
    "flat": [1, 2, 3, 4, 5, 6],
}


@pytest.mark.parametrize("name", VALUES)
def test_conversion_takes_what_users_have(name):
    field = Field("a", "body", wp.vec3)
    assert convert(field, VALUES[name], 2).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_conversion_of_device_arrays():
    array = wp.array([[1, 2, 3]], dtype=wp.vec3, device="cpu")
    assert convert(Field("a", "body", wp.vec3), array, 1).tolist() == [[1, 2, 3]]


def test_defaults_of_types():
    assert Field("a", "body", wp.quat).fill.tolist() == [0, 0, 0, 1]
    assert Field("a", "body", wp.transform).fill.tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert Field("a", "body", wp.mat33).fill.tolist() == [[0] * 3] * 3
    assert Field("a", "body", str).fill == "" and not Field("a", "body", wp.bool).fill
    assert Field("a", "body", wp.vec3, default=2.0).fill.tolist() == [2.0] * 3
