"""mjModel in a builder: every array as rows of the `mujoco` namespace, with frequencies and references of its own.

Arrays counted by an entity (bodies, dofs, geoms, pairs, ...) become columns of the frequency ``"mujoco:body"`` and so
on; integers that index an entity carry a reference to its frequency, so that merging worlds moves them like any other
index. What has no entity of its own (mesh vertices, texture pixels, sparsity, names, options) never changes from world
to world and would be copied thousands of times: it travels as one packed string per document, which all worlds made
from it share.

    register_mujoco_attributes(builder)          the table, from `mujoco_model.csv`
    add_rows(builder, host)                      one compiled model
    host_model(rows)                             the way back: a HostModel from one world of a finalized model
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import warp as wp

from kinema.compile.conflict import refuse_conflicts
from kinema.compile.host_model import KINDS, HostModel
from kinema.model import AttributeAssignment, AttributeFrequency, CustomAttribute, CustomFrequency, Model, ModelBuilder
from kinema.model.mujoco_fields import Field, model_arrays
from kinema.mujoco_enums import Geom, Obj, Transmission, Wrap

NAMESPACE = "mujoco"
FREQUENCIES: Mapping[str, str] = {
    "nbody": "body", "njnt": "jnt", "nq": "coord", "nv": "dof", "ntree": "tree", "ngeom": "geom", "nsite": "site",
    "ncam": "cam", "nlight": "light", "nmesh": "mesh", "nhfield": "hfield", "ntex": "tex", "nmat": "mat",
    "npair": "pair", "nexclude": "exclude",
    "neq": "eq", "ntendon": "tendon", "nwrap": "wrap", "nactuator": "actuator", "nu": "control",
    "nout": "output", "na": "activation", "nsensor": "sensor", "nsensordata": "sensordata", "nnumeric": "numeric",
    "nnumericdata": "numericdata", "ntext": "text", "ntuple": "tuple", "ntupledata": "tupledata", "nkey": "key",
    "nmocap": "mocap", "nplastic": "plastic", "nhistory": "history", "nplugin": "plugin", "npluginstate": "pluginstate",
    "nskin": "skin",
}  # fmt: skip
"""Sizes whose arrays are rows, and the name of the frequency that counts them."""

DTYPES = {
    "float64": wp.float64, "float32": wp.float32, "int32": wp.int32, "int64": wp.int64, "uint8": wp.uint8,
    "bool": wp.uint8,
}  # fmt: skip

CORE: Mapping[str, tuple[str, str]] = {
    "body_index": ("nbody", "body"), "body_joint": ("nbody", "joint"), "geom_shape": ("ngeom", "shape"),
    "site_shape": ("nsite", "shape"),
}  # fmt: skip
"""Columns that say which row of the core arrays stands for an object: name -> (size, what it points at)."""

RUNNING: Mapping[str, tuple[str, Any, AttributeAssignment]] = {
    "act": ("na", wp.float32, AttributeAssignment.STATE),
    "plastic": ("nplastic", wp.float32, AttributeAssignment.STATE),
    "history": ("nhistory", wp.float64, AttributeAssignment.STATE),
    "plugin_state": ("npluginstate", wp.float32, AttributeAssignment.STATE),
    "ctrl": ("nu", wp.float32, AttributeAssignment.CONTROL),
}
"""What a run adds to State and Control, under mjData's names: name -> (size, dtype, where)."""

# kinds of object that a column of codes (mjtObj, mjtGeom, ...) selects, as size symbols
_SHORT = {
    Obj.XBODY: "nbody", Obj.JOINT: "njnt", Obj.DOF: "nv", Obj.CAMERA: "ncam", Obj.TEXTURE: "ntex", Obj.MATERIAL: "nmat",
    Obj.EQUALITY: "neq",
}  # fmt: skip
_UNCOUNTED = (Obj.UNKNOWN, Obj.FLEX, Obj.FRAME, Obj.DEFAULT, Obj.MODEL)
_OBJECTS = {int(kind): _SHORT.get(kind, f"n{kind.name.lower()}") for kind in Obj if kind not in _UNCOUNTED}
_BY_TYPE: Mapping[str, Mapping[int, str]] = {
    "geom_type": {Geom.HFIELD: "nhfield", Geom.MESH: "nmesh", Geom.SDF: "nmesh"},
    "eq_objtype": _OBJECTS,
    "wrap_type": {Wrap.JOINT: "njnt", Wrap.SITE: "nsite", Wrap.SPHERE: "ngeom", Wrap.CYLINDER: "ngeom"},
    "actuator_trntype": {0: "njnt", 1: "njnt", 2: "nsite", 3: "ntendon", 4: "nsite", 5: "nbody", 6: "njnt"},
    "sensor_objtype": _OBJECTS,
    "sensor_reftype": _OBJECTS,
    "tuple_objtype": _OBJECTS,
}


def frequency(symbol: str) -> str:
    """Key of the frequency that counts a size: ``"nbody"`` -> ``"mujoco:body"``."""
    return f"{NAMESPACE}:{FREQUENCIES[symbol]}"


@cache
def row_fields() -> tuple[Field, ...]:
    """mjModel's arrays that are rows: counted by an entity, with a fixed width."""
    return tuple(
        field
        for field in model_arrays()
        if field.shape[0] in FREQUENCIES
        and all(isinstance(extent, int) for extent in field.shape[1:])
        and field.dtype in DTYPES
        and not field.name.startswith(("B_", "M_", "D_", "map", "name_"))
    )


LOCAL = frozenset({"actuator_ctrladr", "actuator_outadr", "sensor_adr", "plugin_stateadr", "numeric_adr", "tuple_adr"})
"""Starts of ranges that may be empty, and then point past the last row: they stay as they are in their document."""


@cache
def reference_of(field: Field) -> str | Callable | None:
    """What merging moves an array's values by: a frequency, a hook, or nothing."""
    if field.name in LOCAL:
        return None
    if field.refers in FREQUENCIES:
        return frequency(field.refers)
    if field.refers.startswith("by "):
        return _by_type(field.refers[3:])
    return None


@cache
def _by_type(selector: str) -> Callable:
    """A hook that moves ids by the rows of whatever kind another column names."""
    kinds = _BY_TYPE[selector]

    def remap(values: np.ndarray, offsets: Mapping[str, np.ndarray], columns: Mapping[str, np.ndarray]) -> np.ndarray:
        codes = np.asarray(columns[f"{NAMESPACE}:{selector}"])
        codes = codes.reshape(codes.shape + (1,) * (values.ndim - 1 - codes.ndim))
        moved = np.array(values)
        for code, symbol in kinds.items():
            chosen = np.broadcast_to((codes == code)[None], values.shape) & (values >= 0)
            if selector == "actuator_trntype" and code == Transmission.SO3:  # between two sites, or on a joint alone
                sites = chosen & (values[..., 1:] >= 0)
                moved = np.where(sites, values + offsets[frequency("nsite")], moved)
                chosen &= ~sites
            moved = np.where(chosen, values + offsets[frequency(symbol)], moved)
        return moved

    return remap


def register_mujoco_attributes(builder: ModelBuilder) -> None:
    """Add mjModel's arrays to a builder's table; doing so again changes nothing."""
    labelled = {KINDS[kind] for kind in KINDS}
    for symbol, name in FREQUENCIES.items():
        label = f"{name}_label" if symbol in labelled else None
        builder.add_custom_frequency(CustomFrequency(name=name, namespace=NAMESPACE, label_attribute=label))
    builder.add_custom_frequency(CustomFrequency(name="document", namespace=NAMESPACE))
    for symbol, name in FREQUENCIES.items():
        _add(builder, f"{name}_world", wp.int32, frequency(symbol), references="world")
        if symbol in labelled:
            _add(builder, f"{name}_label", str, frequency(symbol))
    _add(builder, "document_world", wp.int32, f"{NAMESPACE}:document", references="world")
    _add(builder, "document_packed", str, f"{NAMESPACE}:document")
    for field in row_fields():
        shape: tuple[Any, ...] = tuple(field.shape[1:])
        default = np.zeros(shape).tolist() if shape else 0
        _add(
            builder, field.name, DTYPES[field.dtype], frequency(str(field.shape[0])), references=reference_of(field),
            shape=shape, default=default,
        )  # fmt: skip
    for name, (symbol, kind) in CORE.items():
        _add(builder, name, wp.int32, frequency(symbol), references=kind, default=-1)
    for name, (symbol, dtype, where) in RUNNING.items():
        _add(builder, name, dtype, frequency(symbol), assignment=where)
    state = AttributeAssignment.STATE
    _add(builder, "time", wp.float64, AttributeFrequency.WORLD, assignment=state)
    _add(builder, "qacc_warmstart", wp.float32, AttributeFrequency.JOINT_DOF, assignment=state)


def _add(builder: ModelBuilder, name: str, dtype: Any, kind: Any, **more: Any) -> None:
    builder.add_custom_attribute(CustomAttribute(name=name, namespace=NAMESPACE, dtype=dtype, frequency=kind, **more))


# ---- a compiled model to rows


def add_rows(
    builder: ModelBuilder, host: HostModel, extra: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, int]:
    """Add every row of a compiled model; returns the first row of each frequency, by size symbol.

    Args:
        extra: Further columns by size symbol: attributes of users that share a frequency, `{key: values}`.
    """
    first = {symbol: _count(builder, symbol) for symbol in FREQUENCIES}
    by_symbol: dict[str, dict[str, Any]] = {symbol: {} for symbol in FREQUENCIES}
    for field in row_fields():
        values = host.arrays[field.name]
        by_symbol[str(field.shape[0])][f"{NAMESPACE}:{field.name}"] = _moved(field, values, host, first)
    for kind, symbol in KINDS.items():
        if symbol in FREQUENCIES:
            by_symbol[symbol][f"{NAMESPACE}:{FREQUENCIES[symbol]}_label"] = host.names(kind)
    if host.sizes["npluginstate"]:
        from kinema.plugins.bind import initial_state

        by_symbol["npluginstate"][f"{NAMESPACE}:plugin_state"] = initial_state(host)
    for symbol, columns in by_symbol.items():
        count = int(host.sizes[symbol])
        columns[f"{NAMESPACE}:{FREQUENCIES[symbol]}_world"] = [None] * count
        columns |= (extra or {}).get(symbol, {})
        if count:
            builder.add_custom_values_batch(columns)
    builder.add_custom_values(**{f"{NAMESPACE}:document_packed": pack(host)})
    return first


def _count(builder: ModelBuilder, symbol: str) -> int:
    return len(builder.custom_attributes[f"{NAMESPACE}:{FREQUENCIES[symbol]}_world"].values)


def _moved(field: Field, values: np.ndarray, host: HostModel, first: Mapping[str, int]) -> np.ndarray:
    """Ids as they stand after the rows already in the builder."""
    values = np.asarray(values)
    reference = reference_of(field)
    if reference is None:
        return values
    if isinstance(reference, str):
        return np.where(values >= 0, values + first[field.refers], values).astype(values.dtype)
    offsets = {frequency(symbol): np.int64(start) for symbol, start in first.items()}
    selector = field.refers[3:]
    columns = {f"{NAMESPACE}:{selector}": host.arrays[selector]}
    return reference(values[None], offsets, columns)[0].astype(values.dtype)


# ---- what is not rows


def pack(host: HostModel) -> str:
    """Everything of a compiled model that is not rows, as text."""
    rows = {field.name for field in row_fields()}
    arrays = {name: np.ascontiguousarray(array) for name, array in host.arrays.items() if name not in rows}
    plain = {
        "arrays": [[name, array.dtype.str, array.shape] for name, array in arrays.items()],
        "sizes": {name: int(size) for name, size in host.sizes.items()},
        "opt": _plain(vars(host.opt)),
        "stat": _plain(vars(host.stat)),
        "vis": {name: _plain(vars(group)) for name, group in vars(host.vis).items()},
        "modelname": host.modelname,
        "stated": dict(host.stated),
        "names": {kind: host.names(kind) for kind, symbol in KINDS.items() if symbol not in FREQUENCIES},
    }
    head = json.dumps(plain).encode()
    blob = b"".join([len(head).to_bytes(8, "little"), head, *(array.tobytes() for array in arrays.values())])
    return base64.b64encode(zlib.compress(blob, 1)).decode("ascii")


def stated_in_world(builder: ModelBuilder) -> dict[str, str] | None:
    """Options that the documents of the builder's open world state, the first one's first; None where it has none."""
    attributes = builder.custom_attributes
    worlds = np.asarray(attributes[f"{NAMESPACE}:document_world"].values[:])
    packed = attributes[f"{NAMESPACE}:document_packed"].values[:]
    rows = np.flatnonzero(worlds == builder.current_world)
    found: dict[str, str] = {}
    for row in rows:
        found = {**_unpack(packed[row])[0].get("stated", {}), **found}
    return found if len(rows) else None


@cache
def _unpack(text: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    blob = zlib.decompress(base64.b64decode(text))
    length = int.from_bytes(blob[:8], "little")
    plain, at = json.loads(blob[8 : 8 + length]), 8 + length
    arrays = {}
    for name, dtype, shape in plain["arrays"]:
        count = int(np.prod(shape, dtype=int))
        arrays[name] = np.frombuffer(blob, np.dtype(dtype), count, at).reshape(shape).copy()
        at += arrays[name].nbytes
    return plain, arrays


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in values.items()}


def host_model(template: Mapping[str, np.ndarray]) -> HostModel:
    """The compiled model that one world of a finalized model holds (its rows may have been changed since).

    Args:
        template: Rows of the world by key, with indices local to it (`WorldClass.template`).
    """
    texts = list(template[f"{NAMESPACE}:document_packed"])
    if len(texts) != 1:
        raise ValueError(f"the world holds {len(texts)} MJCF documents; attach them to one another before adding")
    plain, packed = _unpack(texts[0])
    arrays = dict(packed)
    for field in row_fields():
        key = f"{NAMESPACE}:{field.name}"
        count = plain["sizes"][str(field.shape[0])]
        if count:
            rows = np.asarray(template[key])[:count]  # what users added by hand follows
            arrays[field.name] = rows.astype(field.numpy_dtype).reshape(count, *field.shape[1:])
        else:
            width: tuple[Any, ...] = field.shape[1:]
            arrays[field.name] = np.zeros((0, *width), dtype=field.numpy_dtype)
    names = {}
    for kind, symbol in KINDS.items():
        labelled = symbol in FREQUENCIES and plain["sizes"][symbol]
        packed_names = plain.get("names", {}).get(kind, [])
        labels: Any = template[f"{NAMESPACE}:{FREQUENCIES[symbol]}_label"] if labelled else packed_names
        names[kind] = list(labels)[: plain["sizes"][symbol]]
    option, statistic = (SimpleNamespace(**_arrays(plain[part])) for part in ("opt", "stat"))
    visual = SimpleNamespace(**{name: SimpleNamespace(**_arrays(group)) for name, group in plain["vis"].items()})
    stated = plain.get("stated", {})
    return HostModel(arrays, plain["sizes"], option, statistic, visual, plain["modelname"], [], names, stated)


def host_models(template: Mapping[str, np.ndarray]) -> list[HostModel]:
    """The compiled models of all documents of one world, each with ids of its own."""
    key = f"{NAMESPACE}:document_packed"
    texts = list(template[key]) if key in template else []
    if len(texts) == 1:
        return [host_model(template)]
    first, found = dict.fromkeys(FREQUENCIES, 0), []
    for text in texts:
        sizes = _unpack(text)[0]["sizes"]
        found.append(host_model(_document_rows(template, text, first, sizes)))
        refuse_conflicts(found[0].stated, found[-1].stated)  # builders may have been merged
        first = {symbol: start + int(sizes[symbol]) for symbol, start in first.items()}
    return found


def _document_rows(
    template: Mapping[str, np.ndarray], text: str, first: Mapping[str, int], sizes: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """Rows of one of several documents, its ids counted from 0."""
    rows: dict[str, Any] = {f"{NAMESPACE}:document_packed": [text]}
    span = {symbol: slice(start, start + int(sizes[symbol])) for symbol, start in first.items()}
    for symbol, name in FREQUENCIES.items():
        key = f"{NAMESPACE}:{name}_label"
        if key in template and sizes[symbol]:
            rows[key] = template[key][span[symbol]]
    offsets = {frequency(symbol): np.int64(-start) for symbol, start in first.items()}
    for field in row_fields():
        symbol, key = str(field.shape[0]), f"{NAMESPACE}:{field.name}"
        if not sizes[symbol]:
            continue
        values = np.asarray(template[key])[span[symbol]]
        reference = reference_of(field)
        if isinstance(reference, str):
            values = np.where(values >= 0, values - first[field.refers], values)
        elif reference is not None:
            selector = f"{NAMESPACE}:{field.refers[3:]}"
            columns = {selector: np.asarray(template[selector])[span[symbol]]}
            values = reference(values[None], offsets, columns)[0]
        rows[key] = values
    return rows


def global_rows(model: Model) -> dict[str, np.ndarray]:
    """Rows of a document that was added outside any world, by key, for `host_model`."""
    names = [field.name for field in row_fields()] + [f"{name}_label" for name in FREQUENCIES.values()]
    rows = {}
    for key in (f"{NAMESPACE}:{name}" for name in (*names, "document_packed")):
        if key in model.fields:
            value = model.array_of(model.fields[key])
            rows[key] = np.array(value, dtype=object) if isinstance(value, list) else np.asarray(value.numpy())
    return rows


def _arrays(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.array(value) if isinstance(value, list) else value for name, value in values.items()}
