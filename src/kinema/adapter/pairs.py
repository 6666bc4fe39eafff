"""Contact pairs that were given as custom attributes: `mujoco:pair_geom1`, `mujoco:pair_margin`, ...

Pairs of documents are part of the compiled model already. Those that a user adds to a builder become more of them:

    world     the rows of the template world; the other worlds of the class have the same
    geoms     what `pair_geom1` points at: shapes, where it was declared with `references="shape"`; else geoms of
              documents, as `register_custom_attributes` declares it
    lengths   all columns of the pairs must be equally long
    indices   a pair whose shapes are not there is left out, with a warning

A column that is not declared has MuJoCo's default.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kinema.compile.host_model import HostModel
from kinema.errors import BuildError
from kinema.model import Model
from kinema.model.mujoco_fields import model_arrays

if TYPE_CHECKING:
    from kinema.adapter.view import Source

DEFAULTS: Mapping[str, tuple[float, ...] | float] = {
    "dim": 3, "solref": (0.02, 1.0), "solreffriction": (0.0, 0.0), "solimp": (0.9, 0.95, 0.001, 0.5, 2.0),
    "margin": 0.0, "gap": 0.0, "friction": (1.0, 1.0, 0.005, 0.0001, 0.0001),
}  # fmt: skip
"""MuJoCo's, by the names that mjModel's fields have after `pair_`."""

SYNONYMS = {"condim": "dim"}
"""Names in MJCF where mjModel's are others."""

GEOMS = ("geom1", "geom2")


def add_pairs(source: Source, model: Model, rows: Mapping[str, np.ndarray]) -> None:
    """Give the compiled model of a class of worlds the pairs that its rows hold beside those of documents.

    Args:
        source: The class; its host is replaced where there are such pairs.
        model: The model, whose table says what the columns refer to.
        rows: Rows of the template world.
    """
    columns = _columns(model, rows, int(source.documents.get("npair", 0)))
    if not columns or not len(columns["geom1"]):
        return
    by_shape = {int(shape): geom for geom, shape in enumerate(source.geoms) if shape != -1}
    by_geom = {geom: geom for geom in range(int(source.documents.get("ngeom", 0)))}
    found = []
    for name in GEOMS:
        points_at_shapes = model.fields[f"mujoco:pair_{name}"].references == "shape"
        places = by_shape if points_at_shapes else by_geom
        found.append(np.array([places.get(int(i), -1) for i in columns[name]]))
    bad = np.flatnonzero((found[0] < 0) | (found[1] < 0) | (found[0] == found[1]))
    for k in bad:
        pair = tuple(int(columns[name][k]) for name in GEOMS)
        warnings.warn(
            f"contact pair {int(k)} names the shapes {pair}, which this world does not have: it is left out",
            RuntimeWarning, stacklevel=2,
        )  # fmt: skip
    keep = np.setdiff1d(np.arange(len(found[0])), bad)
    if len(keep):
        rest = {name: values[keep] for name, values in columns.items() if name not in GEOMS}
        source.host = _with_pairs(source.host, found[0][keep], found[1][keep], rest)


def _columns(model: Model, rows: Mapping[str, np.ndarray], documents: int) -> dict[str, np.ndarray]:
    """Columns of the pairs that no document holds, by mjModel's names."""
    keys = {name: f"mujoco:pair_{name}" for name in (*GEOMS, *DEFAULTS, *SYNONYMS)}
    there = {name: key for name, key in keys.items() if key in model.fields}
    if not set(GEOMS) <= set(there):
        return {}
    values = {name: np.asarray(rows[key]) for name, key in there.items()}
    lengths = {key: len(values[name]) for name, key in there.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{key}: {count}" for key, count in lengths.items())
        raise BuildError(f"columns of contact pairs differ in length: {told}; add all of a pair in one call")
    return {SYNONYMS.get(name, name): column[documents:] for name, column in values.items()}


def _with_pairs(host: HostModel, geom1: np.ndarray, geom2: np.ndarray, rest: Mapping[str, np.ndarray]) -> HostModel:
    """The compiled model with more pairs, in MuJoCo's order: by the bodies they are of."""
    body = np.asarray(host.geom_bodyid)
    first, second = np.minimum(body[geom1], body[geom2]), np.maximum(body[geom1], body[geom2])
    swap = body[geom1] > body[geom2]
    more = {
        "pair_geom1": np.where(swap, geom2, geom1),
        "pair_geom2": np.where(swap, geom1, geom2),
        "pair_signature": (first.astype(np.int64) << 16) + second,
    }
    for name, default in DEFAULTS.items():
        width = np.shape(default)
        more[f"pair_{name}"] = np.reshape(rest.get(name, np.tile(default, (len(geom1), *([1] * len(width))))),
                                          (len(geom1), *width))  # fmt: skip
    arrays = dict(host.arrays)
    for field in model_arrays():  # whatever else mjModel says of pairs
        if field.shape[0] == "npair":
            more.setdefault(field.name, np.zeros((len(geom1), *arrays[field.name].shape[1:])))
    joined = {name: np.concatenate([arrays[name], rows]).astype(arrays[name].dtype) for name, rows in more.items()}
    order = np.argsort(joined["pair_signature"], kind="stable")
    arrays |= {name: values[order] for name, values in joined.items()}
    names = {**host._names, "pair": [(host.names("pair") + [""] * len(geom1))[k] for k in order]}
    sizes = {**host.sizes, "npair": int(host.npair) + len(geom1)}
    return HostModel(arrays, sizes, host.opt, host.stat, host.vis, host.modelname, host.warnings, names)
