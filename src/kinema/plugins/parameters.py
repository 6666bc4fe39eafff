"""Configuration of plugin instances while a model runs: per instance, and per world once it differs.

Values stand in one array, `plugin_value` [world, ...], with world stride 0 until a value is written per world. They are
what kernels read; the configuration objects that host code sees keep what the model said.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.errors import BuildError, PluginError, UnknownKey, did_you_mean
from kinema.plugins.distance import reshaped


def columns(engine: Any, plugin: str, name: str) -> tuple[list[int], int]:
    """Columns of a field in plugin_value, one an instance, and how many numbers the field has."""
    instances = [instance for instance in engine.extension.instances if instance.plugin.name == plugin]
    if not instances:
        near = did_you_mean(plugin, engine.extension.names)
        raise UnknownKey(f"the model has no instance of plugin {plugin!r}{near}")
    offset = 0
    for field in instances[0].plugin.fields.values():
        if field.name == name and field.on_device:
            start = np.asarray(engine.extension.arrays["plugin_valueadr"])
            return [int(start[instance.id]) + offset for instance in instances], field.length
        offset += field.width if field.on_device else 0
    raise UnknownKey(f"plugin {plugin} has no number {name!r}{did_you_mean(name, instances[0].plugin.fields)}")


def read_parameter(engine: Any, plugin: str, name: str) -> np.ndarray:
    """A field of all instances of a plugin: (nworld, ninstance), with a last axis for tuples."""
    at, length = columns(engine, plugin, name)
    values = engine.read("plugin_value")
    return np.stack([values[:, a : a + length] if length else values[:, a] for a in at], axis=1)


def write_parameter(engine: Any, plugin: str, name: str, value: Any) -> None:
    """Write a field: anything that broadcasts to (nworld, ninstance[, n]); worlds may differ from then on.

    Where the plugin gives the shape of geoms, their distance fields and the boxes around them follow; meshes, and with
    them the contacts with planes, masses and pictures, stay as they were compiled.
    """
    at, length = columns(engine, plugin, name)
    shape = (engine.nworld, len(at), *((length,) if length else ()))
    try:
        values = np.broadcast_to(np.asarray(value, dtype=float), shape)
    except ValueError:
        given = f"of shape {np.shape(value)}" if np.ndim(value) else repr(value)
        raise BuildError(f"plugin {plugin}: {name} {given} does not fit {shape}: worlds, instances"
                         f"{', numbers' if length else ''}") from None  # fmt: skip
    instances = [instance for instance in engine.extension.instances if instance.plugin.name == plugin]
    try:
        instances[0].plugin.fields[name].require(values)
    except ValueError as error:
        raise PluginError(f"plugin {plugin}: {error}") from None
    engine.expand("plugin_value")
    whole = np.array(engine.read("plugin_value"))
    for k, a in enumerate(at):
        whole[:, a : a + (length or 1)] = values[:, k].reshape(engine.nworld, -1)
    _check_states(instances, name, whole, np.asarray(engine.extension.arrays["plugin_valueadr"]))
    engine.write("plugin_value", whole)
    reshape(engine)


def _check_states(instances: list[Any], name: str, values: np.ndarray, start: np.ndarray) -> None:
    """PluginError where numbers ask for other states or activations than the model was compiled with."""
    for instance in instances:
        plugin, at = instance.plugin, int(start[instance.id])
        width = sum(field.width for field in plugin.fields.values() if field.on_device)
        for row in np.unique(values[:, at : at + width], axis=0):
            made = instance.configured(row.tolist())
            if plugin.layout(made)[0] + plugin.act_offsets(made) != instance.slots:
                raise PluginError(
                    f"plugin {plugin.name}, instance {instance.id}: with this {name} it keeps other states than the "
                    f"model was compiled with: set {name} in the document"
                )


def reshape(engine: Any) -> None:
    """Let distance fields follow plugin_value; nothing happens where they have the shapes it gives already."""
    fields, shaping = engine.extension.fields, [i for i in engine.extension.instances if len(i.geoms)]
    if fields is None or not shaping:
        return
    start = engine.extension.arrays["plugin_valueadr"]
    wanted = reshaped(fields, shaping, np.asarray(engine.read("plugin_value")), start)
    if not np.array_equal(np.broadcast_to(fields.parameters, wanted.parameters.shape), wanted.parameters):
        engine.extension.fields = wanted
        engine.rebuild()
