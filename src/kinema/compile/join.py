"""Two compiled models in one world, row by row.

The second model's rows follow the first's, its indices moved by the first's sizes; its world becomes a body that is
welded to the world, so that nothing of the first model is renumbered. Options, visuals and keyframes are the first's.
What follows from the whole (weights, mean inertia) is computed again.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from kinema.compile.constants import derived_constants
from kinema.compile.host_model import KINDS, HostModel
from kinema.compile.rows import FREQUENCIES, frequency, reference_of
from kinema.errors import BuildError
from kinema.model.mujoco_fields import Field, model_arrays

ADDRESSES = {
    "M_rowadr": "nC", "D_rowadr": "nD", "B_rowadr": "nB", "ten_J_rowadr": "nJten", "dof_Madr": "nM", "mapM2M": "nM",
    "mapM2D": "nC", "mapD2M": "nD",
}  # fmt: skip
"""Integers that index arrays of numbers rather than objects."""
SIGNATURES = ("pair_signature", "exclude_signature")
MOST_BODIES = 1 << 16


def join(a: HostModel, b: HostModel) -> HostModel:
    """Both models in one world.

    Args:
        a: The model whose ids stay.
        b: The model that follows it; without flexes and keyframes.
    """
    if b.nflex or b.nkey:
        raise BuildError("only the first document of a world may have flexes and keyframes")
    counted = {str(extent).partition("*")[0] for field in model_arrays() for extent in field.shape[:1]}
    counted |= {*ADDRESSES.values(), "nJmom", "nmocap"}
    widths = {name for name in a.sizes if name.startswith("nuser_")}
    sizes = dict(a.sizes)
    for name in counted & set(b.sizes):
        sizes[name] = a.sizes[name] + b.sizes[name]
    for name in widths | {name for name in a.sizes if name.startswith("flg_")}:
        sizes[name] = max(int(a.sizes[name]), int(b.sizes[name]))
    if sizes["nbody"] >= MOST_BODIES:
        raise BuildError(f"{sizes['nbody']} bodies in one world")
    arrays = {field.name: _joined(field, a, b, sizes) for field in model_arrays() if field.name in a.arrays}
    welded = a.nbody  # the second model's world
    arrays["body_parentid"][welded] = 0
    arrays["body_weldid"][a.nbody :] = np.where(np.asarray(b.body_weldid) == 0, 0, np.asarray(b.body_weldid) + a.nbody)
    _span_world(arrays, sizes)
    names = {kind: [*a.names(kind), *b.names(kind)] for kind in KINDS}
    joined = HostModel(
        arrays, sizes, SimpleNamespace(**vars(a.opt)), SimpleNamespace(**vars(a.stat)), a.vis, a.modelname,
        [*a.warnings, *b.warnings], names,
    )  # fmt: skip
    found = derived_constants(joined)
    statistic = vars(found.pop("stat"))
    joined.stat.meaninertia = statistic["meaninertia"]
    arrays.update(found)
    return joined


def _span_world(arrays: dict[str, np.ndarray], sizes: dict[str, int]) -> None:
    """The world's row of B holds all dofs, those of both models."""
    count = arrays["B_rownnz"]
    rest = arrays["B_colind"][count[0] :]
    count[0] = sizes["nv"]
    arrays["B_colind"] = np.concatenate([np.arange(sizes["nv"], dtype=rest.dtype), rest])
    arrays["B_rowadr"] = (np.cumsum(count) - count).astype(count.dtype)
    sizes["nB"] = len(arrays["B_colind"])


def _joined(field: Field, a: HostModel, b: HostModel, sizes: dict[str, int]) -> np.ndarray:
    first, second = np.asarray(a.arrays[field.name]), np.asarray(b.arrays[field.name])
    shape = field.extents(sizes)
    if field.name.startswith("key_"):
        return _longer_keys(field, first, b, shape)
    if first.shape[1:] != shape[1:] or second.shape[1:] != shape[1:]:  # rows of users' numbers
        first, second = (_widened(x, shape[1:]) for x in (first, second))
    return np.concatenate([first, _moved(field, second, a, b)]).astype(first.dtype)


def _moved(field: Field, values: np.ndarray, a: HostModel, b: HostModel) -> np.ndarray:
    """Rows of the second model with ids as they stand after those of the first."""
    if field.name in SIGNATURES:  # two body ids in one number
        return ((values >> 16) + a.nbody << 16) + (values & 0xFFFF) + a.nbody
    symbol = ADDRESSES.get(field.name) or (field.refers if field.refers in a.sizes else None)
    if symbol:
        return np.where(values >= 0, values + int(a.sizes[symbol]), values)
    reference = reference_of(field)
    if reference is None or isinstance(reference, str) or not len(values):
        return values
    offsets = {frequency(name): np.int64(a.sizes[name]) for name in FREQUENCIES}
    selector = field.refers[3:]
    return reference(values[None], offsets, {f"mujoco:{selector}": b.arrays[selector]})[0]


def _widened(values: np.ndarray, width: tuple[int, ...]) -> np.ndarray:
    out = np.zeros((len(values), *width), values.dtype)
    out[tuple(slice(0, n) for n in values.shape)] = values
    return out


def _longer_keys(field: Field, values: np.ndarray, b: HostModel, shape: tuple[int, ...]) -> np.ndarray:
    """The first model's keyframes; the second model is at its reference configuration in them."""
    if values.shape == shape:
        return values
    out = np.zeros((len(values), *shape[1:]), values.dtype)
    out[:, : values.shape[1]] = values
    rest = {"key_qpos": b.qpos0, "key_mpos": b.body_pos[b.body_mocapid >= 0].ravel(),
            "key_mquat": b.body_quat[b.body_mocapid >= 0].ravel()}.get(field.name)  # fmt: skip
    if rest is not None:
        out.reshape(len(values), -1)[:, values.reshape(len(values), -1).shape[1] :] = np.ravel(rest)
    return out
