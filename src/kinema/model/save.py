"""Models and states in one file.

The file is a zip archive (stored, no compression, fixed dates, entries in a fixed order), so the same model gives the
same bytes on any machine:

    model.json      version, table of fields, counts, scalars, strings, which worlds are alike
    arrays/<n>.npy  every array of the model, named in model.json
    state/<n>.npy   every array of a state, if one was saved

Geometry (`shape_source`) is saved as its arrays, each source once. Hooks of custom attributes (`references` and
`transform` functions) are code and are not saved: a loaded model runs, but its rows cannot be merged again.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from ..errors import ResourceError
from . import actuation
from .device import device_array
from .enums import Axis
from .fields import CONTACT, WORLD_STARTS, Field
from .frequency import COUNT_NAMES, AttributeAssignment, public_frequency
from .model import Model
from .pairs import ContactPairs, PairBlock
from .sources import Heightfield, Mesh
from .state import State, find, place, space_of

VERSION = 1

_SCALARS = (
    "requires_grad", "world_count", "world_label", "use_coord_layout_targets", "custom_frequency_counts", "kinds",
    "particle_ke", "particle_kd", "particle_kf", "particle_mu", "particle_cohesion", "particle_adhesion",
    "particle_max_radius", "particle_max_velocity", "soft_contact_ke", "soft_contact_kd", "soft_contact_kf",
    "soft_contact_mu", "soft_contact_restitution", "max_joints_per_articulation", "max_dofs_per_articulation",
    "rigid_contact_max", "soft_contact_max", "shape_contact_pair_count", "heightfield_count", "gaussians_count",
)  # fmt: skip


class _Writer:
    """Arrays collected under numbers, then written in order."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []

    def add(self, array: Any) -> int:
        self.arrays.append(np.ascontiguousarray(array.numpy() if isinstance(array, wp.array) else array))
        return len(self.arrays) - 1


def _strings(values: list[str], writer: _Writer) -> dict[str, Any]:
    """A list of strings, each different one once: worlds share most of theirs."""
    numbers: dict[str, int] = {}
    rows = [numbers.setdefault(value, len(numbers)) for value in values]
    return {"values": list(numbers), "rows": writer.add(np.array(rows, np.int32))}


def _dtype_name(field: Field) -> str:
    return "str" if field.dtype is str else "object" if field.dtype is object else field.dtype.__name__


def _dtype(name: str) -> Any:
    plain = {"str": str, "object": object}
    if name in plain:
        return plain[name]
    if not hasattr(wp, name):
        raise ResourceError(f"the file needs a Warp type {name!r} that this version does not have")
    return getattr(wp, name)


def _field_record(field: Field) -> dict[str, Any]:
    references = None if callable(field.references) else field.references
    return {
        "name": field.name, "namespace": field.namespace, "frequency": field.frequency, "dtype": _dtype_name(field),
        "shape": list(field.shape), "assignment": int(field.assignment),
        "references": list(references) if isinstance(references, tuple) else references,
        "flat": field.flat, "hidden": field.hidden, "runtime": field.runtime, "on_request": field.on_request,
        "grad": field.grad, "sentinel": field.sentinel, "prefixed": field.prefixed, "custom": field.custom,
        "display": field.display,
        "unit": field.unit, "doc": field.doc,
    }  # fmt: skip


def _field(record: dict[str, Any]) -> Field:
    references = record["references"]
    return Field(**{
        **record,
        "dtype": _dtype(record["dtype"]),
        "shape": tuple(record["shape"]),
        "assignment": AttributeAssignment(record["assignment"]),
        "references": tuple(references) if isinstance(references, list) else references,
    })  # fmt: skip


def _sources(model: Model, writer: _Writer) -> dict[str, Any]:
    """Each source of geometry once, and which shape uses which."""
    kinds: list[dict[str, Any]] = []
    numbers: dict[int, int] = {}
    uses = []
    for source in model.shape_source:
        if source is None:
            uses.append(-1)
            continue
        if id(source) not in numbers:
            numbers[id(source)] = len(kinds)
            kinds.append(_source_record(source, writer))
        uses.append(numbers[id(source)])
    return {"kinds": kinds, "uses": writer.add(np.array(uses, np.int32))}


def _source_record(source: Any, writer: _Writer) -> dict[str, Any]:
    if hasattr(source, "vertices"):
        vertices, indices = np.asarray(source.vertices, np.float32), np.asarray(source.indices, np.int32).reshape(-1)
        return {"type": "mesh", "vertices": writer.add(vertices), "indices": writer.add(indices)}
    if hasattr(source, "nrow"):
        names = ("nrow", "ncol", "hx", "hy", "min_z", "max_z")
        sizes = {name: getattr(source, name) for name in names}
        return {"type": "heightfield", "data": writer.add(np.asarray(source.data, np.float32)), **sizes}
    name = source.name if isinstance(source, OtherSource) else type(source).__name__
    return {"type": "other", "name": name, "count": int(getattr(source, "count", 0) or 0)}


def _load_source(record: dict[str, Any], array: Callable[[int], np.ndarray]) -> Any:
    if record["type"] == "mesh":
        return Mesh(array(record["vertices"]), array(record["indices"]))
    if record["type"] == "heightfield":
        field = Heightfield.__new__(Heightfield)
        field.data = array(record["data"])
        for name in ("nrow", "ncol", "hx", "hy", "min_z", "max_z"):
            setattr(field, name, record[name])
        return field
    return OtherSource(record["name"], record["count"])


class OtherSource:
    """Stands for a source whose type has no file form."""

    def __init__(self, name: str, count: int):
        self.name, self.count = name, count


def save(path: str | Path, model: Model, state: State | None = None) -> None:
    """Write a model, and a state where one is given, to one file."""
    writer, state_writer = _Writer(), _Writer()
    fields, lists = [], {}
    for key, field in model.fields.items():
        record: dict[str, Any] = {"field": _field_record(field)}
        value = None if field.runtime or field.key == "shape_source" else model.array_of(field)
        if key == "actuator_parts" and value is not None:
            lists[key] = _strings([json.dumps(actuation.written(parts), sort_keys=True) for parts in value], writer)
        elif isinstance(value, list):
            lists[key] = _strings(value, writer)
        elif value is not None:
            record["array"] = writer.add(value)
        fields.append(record)
    # hooks are code: what only they can make local to a world is saved in that form too
    hooked = {key for key, field in model.fields.items() if callable(field.references)} | model._hooked
    pairs = model._contact_pairs
    xforms = model._world_xforms
    document = {
        "version": VERSION,
        "fields": fields,
        "lists": lists,
        "scalars": {name: getattr(model, name) for name in _SCALARS},
        "up_axis": int(model.up_axis),
        "requested": [sorted(model._requested_state), sorted(model._requested_contact)],
        "gravity": writer.add(model.gravity),
        "starts": {kind: writer.add(model.kind_starts(kind)) for kind in model.kinds},
        "class_of": writer.add(model.world_class_of),
        "xforms": None if xforms is None else writer.add(xforms),
        "hooked": [
            {key: writer.add(group.template[key]) for key in sorted(hooked)} for group in model.world_classes
        ],
        "sources": _sources(model, writer),
        "pairs": {
            "global": writer.add(pairs.global_pairs),
            "blocks": [[writer.add(getattr(b, n)) for n in ("starts", "with_global", "within")] for b in pairs.blocks],
        },
        "colors": {
            name: [writer.add(group) for group in getattr(model, f"{name}_color_groups")]
            for name in ("particle", "body")
        },
    }
    if state is not None:
        document["state"] = {field.key: state_writer.add(array) for field, array in state.arrays()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        _put(archive, "model.json", json.dumps(document, sort_keys=True).encode())
        for folder, arrays in (("arrays", writer.arrays), ("state", state_writer.arrays)):
            for number, array in enumerate(arrays):
                buffer = io.BytesIO()
                np.lib.format.write_array(buffer, array, allow_pickle=False)
                _put(archive, f"{folder}/{number}.npy", buffer.getvalue())


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), data)


def load(path: str | Path, device: Any = None) -> tuple[Model, State | None]:
    """Read a model, and its state or None, from a file that `save` wrote."""
    try:
        archive = zipfile.ZipFile(path)
        document = json.loads(archive.read("model.json"))
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as problem:
        raise ResourceError(f"{path}: not a file that Model.save wrote ({problem})") from problem
    if document.get("version") != VERSION:
        raise ResourceError(f"{path}: file version {document.get('version')!r}, this library reads {VERSION}")
    with archive:

        def array(number: int, folder: str = "arrays") -> np.ndarray:
            return np.lib.format.read_array(io.BytesIO(archive.read(f"{folder}/{number}.npy")), allow_pickle=False)

        model = _load_model(document, array, device)
        if "state" not in document:
            return model, None
        state = model.state()
        for key, number in document["state"].items():
            field = model.fields[key]
            value = device_array(field, array(number, "state"), model.device)
            place(state, field, value) if find(state, field) is None else wp.copy(find(state, field), value)
        return model, state


def _load_model(document: dict[str, Any], array: Callable[[int], np.ndarray], device: Any) -> Model:
    model = Model(device)
    for name, value in document["scalars"].items():
        setattr(model, name, value)
    model.up_axis = Axis(document["up_axis"])
    model._requested_state, model._requested_contact = (set(names) for names in document["requested"])
    for name, kind in COUNT_NAMES.items():
        setattr(model, name, model.kinds.get(kind, 0))
    uses, kinds = array(document["sources"]["uses"]), document["sources"]["kinds"]
    sources = [_load_source(record, array) for record in kinds]
    for record in document["fields"]:
        _load_field(model, _field(record["field"]), record, document, array)
    model.shape_source = [None if use < 0 else sources[use] for use in uses]
    model.gravity = wp.array(array(document["gravity"]), dtype=wp.vec3, device=model.device)
    for kind, number in document["starts"].items():
        model._starts[kind] = array(number)
        if kind in WORLD_STARTS:
            namespace, _, name = WORLD_STARTS[kind].rpartition(":")
            starts: wp.array = wp.array(model._starts[kind], dtype=wp.int32, device=model.device)
            object.__setattr__(space_of(model, namespace or None), name, starts)
    count = len(model.mujoco.equality_constraint_type)
    object.__setattr__(model.mujoco, "equality_constraint_count", count)
    model._class_of = array(document["class_of"])
    model._world_xforms = None if document["xforms"] is None else array(document["xforms"])
    for group, columns in zip(model.world_classes, document["hooked"], strict=True):
        group.template.seed({key: array(number) for key, number in columns.items()})
        model._hooked |= columns.keys()
    blocks = [PairBlock(*(array(number) for number in block)) for block in document["pairs"]["blocks"]]
    model._contact_pairs = ContactPairs(array(document["pairs"]["global"]), blocks)
    for name, groups in document["colors"].items():
        loaded: list[wp.array] = [wp.array(array(number), dtype=wp.int32, device=model.device) for number in groups]
        setattr(model, f"{name}_color_groups", loaded)
    _load_derived(model)
    return model


def _load_field(model: Model, field: Field, record: dict, document: dict, array: Callable[[int], np.ndarray]) -> None:
    key = field.key
    model.fields[key] = field
    if field.assignment == CONTACT and field.runtime:
        return
    if not field.runtime and not field.hidden:
        model.attribute_frequency[key] = public_frequency(field.frequency)
        if field.custom or field.assignment != 0:
            model.attribute_assignment[key] = field.assignment
    if key == "actuator_parts":
        strings = document["lists"][key]
        parts = np.array([actuation.read(json.loads(text)) for text in strings["values"]], dtype=object)
        chosen = parts[array(strings["rows"])]
        model._hidden[key] = lambda: chosen
    elif key in document["lists"]:
        strings = document["lists"][key]
        place(model, field, [strings["values"][row] for row in array(strings["rows"])])
    elif "array" in record:
        rows = array(record["array"])
        if field.hidden:
            model._hidden[key] = lambda: rows
        else:
            shaped = rows.reshape(-1, *field.row_shape) if field.flat else rows
            place(model, field, device_array(field, shaped, model.device, requires_grad=model.requires_grad))
    elif not field.runtime and key != "shape_source":
        place(model, field, None)


def _load_derived(model: Model) -> None:
    """What follows from the arrays: geometry on the device, hash grid, lists on first use, BVHs."""
    from .finalize import defer_bvh, defer_pairs, place_geometry

    if model.particle_count > 1 and model.particle_max_radius > 0.0:
        model.particle_grid = wp.HashGrid(128, 128, 128, device=model.device)
    names = ("shape_type", "shape_scale", "shape_flags", "shape_body")
    host = {name: getattr(model, name).numpy() for name in names}
    sources = np.empty(model.shape_count, dtype=object)
    sources[:] = model.shape_source
    place_geometry(model, host, lambda: sources)
    host["shape_filter_pairs"] = model._hidden["shape_filter_pairs"]()
    defer_pairs(model, host)
    defer_bvh(model)
    if "actuator_parts" not in model._hidden:
        return  # a file of a time before there were any
    rows = [model._hidden[f"actuator_{name}"]().tolist() for name in ("dof", "coord", "parts")]
    model.actuators = actuation.make_actuators(
        actuation.entries_of(*rows).values(), model.device, grad=model.requires_grad,
        by_coordinate=model.use_coord_layout_targets,
    )  # fmt: skip

