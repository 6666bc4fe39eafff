"""Every public name of Newton's Model, as its documentation lists them, is found with the documented type and shape.

`newton_names.csv` is that list: name, kind, documented type (or the value of an enum member), owner, shape.
"""

from __future__ import annotations

import csv
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import warp as wp

import kinema.model
from kinema.model import Model

from .rich import host, rich_model

NAMES = list(csv.DictReader((Path(__file__).parent / "newton_names.csv").open()))

MEASURED = {
    # what Newton 1.7 has where its own documentation is behind
    "gravity": "world_count + 1, 3",
    "muscle_start": "muscle_count + 1",
}
UNSIZED = {"contact_pair_count": "shape_contact_pair_count", "total_edge_count": "6"}


@pytest.fixture(scope="module")
def models():
    # the deprecated target names exist in the layout by dofs only
    return {True: rich_model(use_coord_layout_targets=True), False: rich_model(use_coord_layout_targets=False)}


def test_the_list_is_whole():
    assert len([row for row in NAMES if row["name"] != "Model"]) == 255


def rows(*kinds):
    return pytest.mark.parametrize("row", [r for r in NAMES if r["kind"] in kinds], ids=lambda r: r["name"])


@rows("class", "member", "method")
def test_classes_members_methods(row):
    owner = Model if row["owner"] == "Model" else getattr(Model, row["owner"], kinema.model)
    found = getattr(owner, row["name"])
    if row["kind"] == "class":
        assert isinstance(found, type)
    elif row["kind"] == "member":
        assert int(found) == int(row["type"])
    else:
        assert callable(found)


def documented_shape(row, model):
    text = MEASURED.get(row["name"], row["shape"])
    if not text:
        return None
    counts = {name: int(getattr(model, name)) for name in re.findall(r"[a-z_]+_count\w*", text) if name not in UNSIZED}
    for name, meaning in UNSIZED.items():
        counts[name] = int(meaning) if meaning.isdigit() else getattr(model, meaning)
    if not re.fullmatch(r"[\w\s+*,]+", text):
        return None
    values = {name: counts[name] for name in counts}
    return tuple(np.atleast_1d(eval(text.split(" or ")[0], {}, values)).tolist())  # noqa: S307 our own data file


@rows("attribute", "property")
def test_attributes(row, models):
    name, kind = row["name"], row["type"]
    model = models[not name.startswith("joint_target_")]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = getattr(model, name)
    deprecated = row["kind"] == "property" and name != "joint_target_q_start"
    assert bool([w for w in caught if issubclass(w.category, DeprecationWarning)]) == deprecated
    if kind.startswith(("wp.array", "array")):
        assert isinstance(found, wp.array)
        dtype = re.search(r"\[wp\.(\w+)\]", kind)
        if dtype:
            assert found.dtype == getattr(wp, dtype.group(1)), kind
        expected = documented_shape(row, model)
        if name == "joint_target_q":
            expected = (model.joint_dof_count,)
        if expected is not None:
            # the documentation counts the components of vectors in some places and not in others
            assert np.prod(expected) in (found.size, host(found).size), (host(found).shape, row["shape"])
            assert found.size, f"{name} is empty, so the check means nothing"
        if "array2d" in kind and expected:
            assert found.ndim == 2
    elif kind.startswith("list"):
        assert isinstance(found, list)
    else:
        plain = {"int": int, "float": float, "bool": bool, "wp.Device": wp.Device, "wp.Bvh | None": wp.Bvh,
                 "wp.HashGrid | None": wp.HashGrid, "": object}  # fmt: skip
        wanted = dict if kind.startswith("dict") else set if kind.startswith("set") else plain[kind]
        assert isinstance(found, wanted), (type(found), kind)


def test_targets_by_coordinate_have_no_old_names(models):
    with pytest.raises(AttributeError, match="joint_target_q"):
        models[True].joint_target_pos  # noqa: B018
    assert models[True].joint_target_q.shape == (models[True].joint_coord_count,)


def test_unknown_name_suggests_one(models):
    with pytest.raises(AttributeError, match="did you mean 'body_mass'"):
        models[True].body_mas  # noqa: B018


def test_no_names_outside_the_table(models):
    """Arrays on a model come from the table; the rest is listed in Model.MEMBERS."""
    model = models[True]
    model.shape_contact_pairs, model.bvh_shapes  # noqa: B018 make what is made on first use
    spaces = {field.namespace for field in model.fields.values()}
    starts = {name for name in vars(model) if name.endswith("_world_start")}
    known = set(model.fields) | Model.MEMBERS | spaces | starts
    assert {name for name in vars(model) if not name.startswith("_")} <= known
