"""Two compiled models in one world, row by row.

The second model's rows follow the first's, its indices moved by the first's sizes. What its world holds is held by a
body without a name that is fixed to the world, so that nothing of the first model is renumbered; its trees hang on the
world itself. Where both use a name, all names of the second are put under the name of its document (`panda/home`).
A keyframe of one model holds the other where it starts. Options and visuals are the first's (documents
that disagree are refused before: `conflict.py`). What follows from the whole (weights, mean inertia) is computed again.

Each field is moved by what the table says it refers to; only sparse matrices, whose entries are numbered over the whole
model, and keyframes, which hold numbers of everything, have rules of their own.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from kinema.compile.arena import arena_estimate
from kinema.compile.constants import derived_constants
from kinema.compile.host_model import KINDS, UNNAMED, HostModel
from kinema.compile.names import name_arrays
from kinema.compile.rows import FREQUENCIES, frequency, reference_of
from kinema.compile.sizes import COUNTED, moment_entries
from kinema.errors import BuildError
from kinema.model.mujoco_fields import Field, model_arrays
from kinema.mujoco_enums import Equality, Obj

ADDRESSES = {
    "M_rowadr": "nC", "D_rowadr": "nD", "B_rowadr": "nB", "ten_J_rowadr": "nJten", "dof_Madr": "nM", "mapM2M": "nM",
    "mapM2D": "nC", "mapD2M": "nD", "flexedge_J_rowadr": "nJfe", "flex_nodeadr": "nflexnode",
    "flex_vertadr": "nflexvert", "flex_edgeadr": "nflexedge", "flex_elemadr": "nflexelem",
    "flex_elemdataadr": "nflexelemdata", "flex_elemedgeadr": "nflexelemedge", "flex_stiffnessadr": "nflexstiffness",
    "flex_bendingadr": "nflexbending", "flex_shelldataadr": "nflexshelldata", "flex_texcoordadr": "nflextexcoord",
}  # fmt: skip
"""Integers that index arrays of numbers rather than objects."""
WIDEST = ("nuser", "flg_", "njmax", "nconmax", "npolygonmax", "nmeshdegmax")
"""Sizes that are the width of something, a bound, or say whether something is there."""
MEMORY = ("nbuffer", "signature")
NO_PATHS = b"\0"
SIGNATURES = ("pair_signature", "exclude_signature")
MOST_BODIES = 1 << 16
OF_FLEXES = (Equality.FLEX, Equality.FLEXVERT, Equality.FLEXSTRAIN)


def join(a: HostModel, b: HostModel) -> HostModel:
    """Both models in one world.

    Args:
        a: The model whose ids stay.
        b: The model that follows it.
    """
    sizes = {name: _size(name, int(a.sizes[name]), int(b.sizes[name])) for name in a.sizes}
    if sizes["nbody"] >= MOST_BODIES:
        raise BuildError(f"{sizes['nbody']} bodies in one world")
    arrays = {field.name: _joined(field, a, b, sizes) for field in model_arrays() if field.name in a.arrays}
    _hang(arrays, a, b)
    _order_volumes(arrays, a, b)
    _span_world(arrays, sizes, a, b)
    theirs = _apart(a, b)
    names = {kind: [*a.names(kind), *theirs[kind]] for kind in KINDS}
    names["body"][a.nbody] = ""  # the second model's world
    arrays |= name_arrays(a.modelname, names)
    sizes["nnames"], sizes["nnames_map"] = len(arrays["names"]), len(arrays["names_map"])
    sizes["nJmom"] = moment_entries(arrays, sizes["nv"])
    sizes["npaths"] = len(arrays["paths"])
    joined = HostModel(
        arrays, sizes, SimpleNamespace(**vars(a.opt)), SimpleNamespace(**vars(a.stat)), a.vis, a.modelname,
        [*a.warnings, *b.warnings], names, {**b.stated, **a.stated},
    )  # fmt: skip
    found = derived_constants(joined)
    for name, value in vars(found.pop("stat")).items():
        if f"statistic {name}" not in a.stated:
            setattr(joined.stat, name, value)
    arrays.update(found)
    sizes.update({size: len(arrays[name]) for size, name in COUNTED.items()})
    if all(m.narena == arena_estimate(m) for m in (a, b)):  # what was declared adds up
        sizes["narena"] = arena_estimate(joined)
    return joined


def _apart(a: HostModel, b: HostModel) -> dict[str, list[str]]:
    """Names of the second model; where the first has one of them, all are put under the name of their document."""
    names = {kind: b.names(kind) for kind in KINDS}
    names["body"] = ["", *names["body"][1:]]
    taken = {kind: set(filter(None, a.names(kind))) for kind in KINDS}
    prefix, number = "", 1
    while any(name and prefix + name in taken[kind] for kind in KINDS for name in names[kind]):
        own = b.modelname if b.modelname not in ("", UNNAMED) else "document"
        prefix = f"{own}/" if not prefix else f"{own}_{number}/"
        number += 1
    return {kind: [name and prefix + name for name in found] for kind, found in names.items()}


def _size(name: str, mine: int, theirs: int) -> int:
    """A size of both models together: sizes count things and add up, but for a few that do not."""
    if name in MEMORY:
        return mine
    return max(mine, theirs) if name.startswith(WIDEST) else mine + theirs


def _hang(arrays: dict[str, np.ndarray], a: HostModel, b: HostModel) -> None:
    """Put the second model's trees on the world, and what stood on its world onto a body fixed to it."""
    arrays["body_parentid"][a.nbody :][np.asarray(b.body_parentid) == 0] = 0
    arrays["body_weldid"][a.nbody :][np.asarray(b.body_weldid) == 0] = 0


def _order_volumes(arrays: dict[str, np.ndarray], a: HostModel, b: HostModel) -> None:
    """Bounding volumes of flexes, which move and have no box in the model, after those of bodies and meshes."""
    moving, still = int(a.nbvhdynamic), int(b.nbvhstatic)
    if not moving or not still:
        return
    first = int(a.nbvhstatic)
    for name in ("bvh_depth", "bvh_child", "bvh_nodeid"):
        mine, dynamic, static, rest = np.split(arrays[name], [first, first + moving, first + moving + still])
        arrays[name] = np.concatenate([mine, static, dynamic, rest])
    for name, count, begin, shift in (
        ("flex_bvhadr", slice(0, a.nflex), first, still), ("body_bvhadr", slice(a.nbody, None), 0, -moving),
        ("mesh_bvhadr", slice(a.nmesh, None), 0, -moving),
    ):  # fmt: skip
        values = arrays[name][count]
        arrays[name][count] = np.where(values >= begin, values + shift, values)


def _span_world(arrays: dict[str, np.ndarray], sizes: dict[str, int], a: HostModel, b: HostModel) -> None:
    """The world's row of B holds all dofs, those of both models; nothing hangs on what was the second world."""
    count = arrays["B_rownnz"]
    count[0], count[a.nbody] = sizes["nv"], 0
    mine, theirs = np.asarray(a.B_colind)[a.B_rownnz[0] :], np.asarray(b.B_colind)[b.B_rownnz[0] :] + a.nv
    arrays["B_colind"] = np.concatenate([np.arange(sizes["nv"]), mine, theirs]).astype(count.dtype)
    arrays["B_rowadr"] = (np.cumsum(count) - count).astype(count.dtype)
    sizes["nB"] = len(arrays["B_colind"])


def _joined(field: Field, a: HostModel, b: HostModel, sizes: dict[str, int]) -> np.ndarray:
    first, second = np.asarray(a.arrays[field.name]), np.asarray(b.arrays[field.name])
    shape = field.extents(sizes)
    if field.name.startswith("key_") and len(shape) > 1:
        return _joined_keys(field, a, b)
    if field.name == "paths" and (_has_no_paths(a) or _has_no_paths(b)):
        return second if _has_no_paths(a) else first
    if first.shape[1:] != shape[1:] or second.shape[1:] != shape[1:]:  # rows of users' numbers
        first, second = (_widened(x, shape[1:]) for x in (first, second))
    return np.concatenate([first, _moved(field, second, a, b)]).astype(first.dtype)


def _moved(field: Field, values: np.ndarray, a: HostModel, b: HostModel) -> np.ndarray:
    """Rows of the second model with ids as they stand after those of the first."""
    if field.name in SIGNATURES:  # two body ids in one number
        return ((values >> 16) + a.nbody << 16) + (values & 0xFFFF) + a.nbody
    if field.name == "bvh_nodeid":  # geoms in the trees of bodies, faces in those of meshes
        return np.where((values >= 0) & _in_bodies(b), values + a.ngeom, values)
    if field.refers == "npaths" and _has_no_paths(a):
        return values
    symbol = ADDRESSES.get(field.name) or (field.refers if field.refers in a.sizes else None)
    if symbol:
        return np.where(values >= 0, values + int(a.sizes[symbol]), values)
    reference = reference_of(field)
    if reference is None or isinstance(reference, str) or not len(values):
        return values
    offsets = {frequency(name): np.int64(a.sizes[name]) for name in FREQUENCIES}
    selector = field.refers[3:]
    kinds = _equality_objects(b) if selector == "eq_objtype" else b.arrays[selector]
    moved = reference(values[None], offsets, {f"mujoco:{selector}": kinds})[0]
    if field.name == "eq_obj1id":
        moved = np.where(np.isin(b.eq_type, OF_FLEXES), values + a.nflex, moved)
    return moved


def _equality_objects(m: HostModel) -> np.ndarray:
    """What equality constraints tie: MuJoCo says so of bodies and sites only, of joints and tendons by the type."""
    implied = np.select([m.eq_type == Equality.JOINT, m.eq_type == Equality.TENDON], [Obj.JOINT, Obj.TENDON], 0)
    return np.where(m.eq_objtype == Obj.UNKNOWN, implied, m.eq_objtype)


def _in_bodies(m: HostModel) -> np.ndarray:
    """Which nodes of bounding volumes belong to bodies."""
    inside = np.zeros(m.nbvh, dtype=bool)
    for first, number in zip(m.body_bvhadr, m.body_bvhnum, strict=True):
        inside[first : first + number] = True
    return inside


def _has_no_paths(m: HostModel) -> bool:
    return bytes(m.paths) in (b"", NO_PATHS)


def _widened(values: np.ndarray, width: tuple[int, ...]) -> np.ndarray:
    out = np.zeros((len(values), *width), values.dtype)
    out[tuple(slice(0, n) for n in values.shape)] = values
    return out


def _joined_keys(field: Field, a: HostModel, b: HostModel) -> np.ndarray:
    """The keyframes of both, each with the other model where it starts."""
    mine, theirs = (np.asarray(m.arrays[field.name]).reshape(m.nkey, -1 if m.nkey else 0) for m in (a, b))
    start_a, start_b = (_start(field, m) for m in (a, b))
    out = np.zeros((a.nkey + b.nkey, len(start_a) + len(start_b)), dtype=np.asarray(a.arrays[field.name]).dtype)
    out[:, : len(start_a)], out[:, len(start_a) :] = start_a, start_b
    if a.nkey:
        out[: a.nkey, : len(start_a)] = mine
    if b.nkey:
        out[a.nkey :, len(start_a) :] = theirs
    return out


def _start(field: Field, m: HostModel) -> np.ndarray:
    """What a model's part of a keyframe holds when it is where it starts."""
    moved = np.argsort(np.where(m.body_mocapid >= 0, m.body_mocapid, m.nbody), kind="stable")[: m.nmocap]
    known = {"key_qpos": m.qpos0, "key_mpos": m.body_pos[moved], "key_mquat": m.body_quat[moved]}
    if field.name in known:
        return np.ravel(known[field.name])
    return np.zeros(field.extents(m.sizes)[1])
