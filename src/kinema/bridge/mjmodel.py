"""A compiled model as MuJoCo's own MjModel, field by field.

Compile already speaks mjModel's names, shapes and order, so nothing is translated: the arrays are laid out as MuJoCo's
binary model file (MJB) has them, and MuJoCo loads that. Its checks of every index run on the way in.

    header | sizes | mjOption, mjVisual, mjStatistic | flags | arrays in mjModel's order

Header and structs are those of an empty model of the installed MuJoCo; options are set by name afterwards.
"""

from __future__ import annotations

from functools import reduce
from types import ModuleType
from typing import Any

import numpy as np

from kinema.compile.host_model import KINDS, HostModel
from kinema.compile.names import name_arrays
from kinema.errors import BuildError, need
from kinema.model.mujoco_fields import model_arrays, model_fields, model_sizes

HEADER = 5 * 4  # bytes: five ints
ALIGNMENT = 64
LEAST_ARENA = 16 << 20
"""Bytes for contacts and constraint rows of each world, at least; pages that are not used cost nothing."""

AFTER_STRUCTS = ("flg_gravcomp", "flg_surfacevel", "flg_adhesion")
NOT_STORED = (*AFTER_STRUCTS, "signature")


def need_mujoco() -> ModuleType:
    """The mujoco package."""
    return need("mujoco", "mujoco", "Runs by MuJoCo")


def to_mjmodel(host: HostModel) -> Any:
    """A `mujoco.MjModel` with the numbers of a compiled model."""
    mujoco = need_mujoco()
    if isinstance(host, mujoco.MjModel):
        return host
    if host.nplugin:
        raise BuildError("the model has plugins, which are Kinema's own: run it with SolverConvex")
    arrays, sizes = dict(host.arrays), {name: int(value) for name, value in host.sizes.items()}
    arrays |= name_arrays(host.modelname, {kind: host.names(kind) for kind in KINDS})
    sizes["nnames"], sizes["nnames_map"] = len(arrays["names"]), len(arrays["names_map"])
    arrays |= _without_paths(arrays)
    sizes["npaths"] = 1
    sizes["narena"] = max(sizes["narena"], LEAST_ARENA)
    blocks = []
    for field in model_arrays():
        values = np.ascontiguousarray(arrays[field.name], dtype=field.numpy_dtype)
        if values.shape != field.extents(sizes):
            raise BuildError(f"{field.name} has the shape {values.shape}, MuJoCo expects {field.extents(sizes)}")
        blocks.append(values.tobytes())
    end = reduce(lambda end, block: -(-end // ALIGNMENT) * ALIGNMENT + len(block), blocks, 0)
    sizes["nbuffer"] = end + ALIGNMENT - 1  # MuJoCo aligns the buffer itself, too
    header, structs = _template(mujoco)
    stored = [sizes[field.name] for field in model_sizes() if field.name not in NOT_STORED]
    flags = np.array([sizes[name] for name in AFTER_STRUCTS], dtype=np.uint8).tobytes()
    binary = b"".join([header, np.array(stored, dtype=np.int64).tobytes(), structs, flags, *blocks])
    try:
        m = mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": binary})
    except ValueError as error:
        raise BuildError(f"MuJoCo {mujoco.__version__} does not take the model: {error}") from error
    _set_structs(m, host)
    return m


def _template(mujoco: ModuleType) -> tuple[bytes, bytes]:
    """Header and structs of an empty model of the installed MuJoCo."""
    empty = mujoco.MjModel.from_xml_string("<mujoco/>")
    buffer = np.zeros(mujoco.mj_sizeModel(empty), dtype=np.uint8)
    mujoco.mj_saveModel(empty, None, buffer)
    whole = buffer.tobytes()
    counted = [field.name for field in model_sizes() if field.name not in NOT_STORED]
    sizes = {name: int(getattr(empty, name)) for name in counted}
    first = HEADER + 8 * len(counted)
    length = sum(int(np.prod(f.extents(sizes))) * f.numpy_dtype.itemsize for f in model_arrays())
    last = len(whole) - length - len(AFTER_STRUCTS)
    declared = np.frombuffer(whole[:HEADER], dtype=np.int32)
    if declared[2] != len(counted) or declared[4] != len(model_arrays()):
        raise BuildError(f"MuJoCo {mujoco.__version__} has other fields than those Kinema knows: install mujoco 4.0")
    return whole[:HEADER], whole[first:last]


def _without_paths(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """No files: everything has been read."""
    kinds = [field.name for field in model_arrays() if field.refers == "npaths"]
    found = {name: np.full_like(arrays[name], -1) for name in kinds}
    found["paths"] = np.frombuffer(b"\0", dtype="S1")
    return found


def _set_structs(m: Any, host: HostModel) -> None:
    """mjOption and mjStatistic; mjVisual, which no computation reads, keeps MuJoCo's defaults."""
    for part, group in (("opt", "option"), ("stat", "statistic")):
        for name, field in model_fields().items():
            if field.group == group:
                _set(getattr(m, part), name, getattr(getattr(host, part), name))


def _set(struct: Any, name: str, value: Any) -> None:
    if np.ndim(value):
        getattr(struct, name)[:] = value
    else:
        setattr(struct, name, type(getattr(struct, name))(value))
