"""Height fields: from an image, MuJoCo's binary format or numbers in the document to mjModel's hfield arrays.

    field = compile_hfield(name, size=(x, y, top, bottom), resource=..., content_type=None)   # of file=, or
    field = compile_hfield(name, size=(x, y, top, bottom), nrow=..., ncol=..., elevation=None)
    arrays = pack_hfields([field, ...])

A file wins over numbers. Elevations are shifted and scaled to [0, 1]; flat ones become 0. Rows run from the bottom of
an image upwards: images and the numbers of a document are read from the top, and turned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinema.errors import CompileError, ResourceError
from kinema.geometry.binary import read_sizes
from kinema.geometry.mesh import Float32, Float64
from kinema.resources import Resource, decode

CUSTOM = "image/vnd.mujoco.hfield"


@dataclass(frozen=True)
class CompiledHField:
    """One height field: size (4,), data (nrow, ncol) in [0, 1]."""

    size: Float64
    data: Float32


def read_custom(resource: Resource) -> Float32:
    """(nrow, ncol) elevations of MuJoCo's binary format: int32 nrow, ncol; float data[nrow ncol]."""
    data, name = resource.data, resource.name
    nrow, ncol = read_sizes(resource, "hfield", 2)
    if nrow < 1 or ncol < 1:
        raise ResourceError(f"non-positive hfield dimensions in file {name!r}: {nrow} x {ncol}")
    if len(data) != 8 + 4 * nrow * ncol:
        raise ResourceError(
            f"unexpected file size in file {name!r}: {len(data)} bytes, {nrow} x {ncol} elevations need "
            f"{8 + 4 * nrow * ncol}"
        )
    return np.frombuffer(data, "<f4", nrow * ncol, 8).reshape(nrow, ncol).astype(np.float32)


def _from_file(resource: Resource, content_type: str | None) -> Float32:
    declared = (content_type or resource.media_type or CUSTOM).partition(";")[0].strip().lower()
    if declared == "image/png":
        return decode("image", resource, content_type="image/png").rgba[::-1, :, 0].astype(np.float32)
    if declared == CUSTOM:
        return read_custom(resource)
    raise CompileError(f"unsupported content type: '{declared}' of height field; use image/png or {CUSTOM}")


def compile_hfield(
    name: str,
    *,
    size: Sequence[float] | np.ndarray,
    resource: Resource | None = None,
    content_type: str | None = None,
    nrow: int = 0,
    ncol: int = 0,
    elevation: Sequence[float] | np.ndarray | None = None,
) -> CompiledHField:
    """One height field from its attributes.

    Raises:
        CompileError: for whatever MuJoCo refuses.
    """
    size = np.asarray(size, np.float64)
    if size.shape != (4,) or not (size > 0).all():
        raise CompileError(f"size parameter is not positive in hfield {name!r}: {size.tolist()}, expected 4 positive")
    if resource is not None:
        data = _from_file(resource, content_type)
    else:
        if nrow < 1 or ncol < 1:
            raise CompileError(f"hfield not specified: {name!r} has no file, and nrow {nrow}, ncol {ncol}")
        data = np.zeros((nrow, ncol), np.float32)
        if elevation is not None:
            values = np.asarray(elevation, np.float32).ravel()
            if len(values) != nrow * ncol:
                raise CompileError(
                    f"elevation data length must match nrow*ncol in hfield {name!r}: {len(values)} for {nrow} x {ncol}"
                )
            data = values.reshape(nrow, ncol)[::-1]
    if min(data.shape) < 2:
        raise CompileError(f"hfield {name!r} is {data.shape[0]} x {data.shape[1]}; nrow and ncol must be at least 2")
    if not np.isfinite(data).all():
        raise CompileError(f"invalid data range in hfield {name!r}: it has elevations that are not finite")
    low, high = data.min(), data.max()
    shifted = data - low
    return CompiledHField(size, shifted / (high - low) if high - low > 1e-14 else shifted)


def pack_hfields(fields: Sequence[CompiledHField]) -> dict[str, np.ndarray]:
    """All height fields as mjModel arrays (hfield_pathadr excepted)."""
    counts = [field.data.size for field in fields]
    flat = [field.data.ravel() for field in fields]
    return {
        "hfield_size": np.array([field.size for field in fields], np.float64).reshape(-1, 4),
        "hfield_nrow": np.array([field.data.shape[0] for field in fields], np.int32),
        "hfield_ncol": np.array([field.data.shape[1] for field in fields], np.int32),
        "hfield_adr": np.cumsum([0, *counts])[:-1].astype(np.int32),
        "hfield_data": np.concatenate([np.zeros(0, np.float32), *flat]).astype(np.float32),
    }


def hfield_aabb(field: CompiledHField) -> Float64:
    """(6,) centre and half size of a height field geom's box, as `geom_aabb`."""
    x, y, top, bottom = field.size
    low, high = np.array([-x, -y, -bottom]), np.array([x, y, top])
    return np.concatenate([(high + low) / 2, (high - low) / 2])


def hfield_rbound(field: CompiledHField) -> float:
    """Radius of the sphere about the origin that holds a height field, as `geom_rbound`."""
    x, y, top, bottom = (float(value) for value in field.size)
    return float(np.sqrt(x * x + y * y + max(top * top, bottom * bottom)))
