"""What extends the engine from outside: stages at given places of the recipe, the arrays they read, distance fields.

Plugins are not known here. Whoever brings them (kinema.plugins) hands over an `Extension`; a model that names plugins
gets the one made of the registry. Places, in the order of a step:

    position       sensors that need positions, before passive forces
    passive        adds to qfrc_passive
    velocity       sensors that need velocities, before actuation
    actuation      activation rates, then forces; before the limits of tendons and actuators
    acceleration   sensors that need everything
    advance        after positions, velocities, activations and time have moved
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kinema.collide.sdf import Fields
from kinema.convex.stage import Stage
from kinema.mujoco_enums import Disable, Sensor

SENSING = ("position", "velocity", "acceleration")
PLACES = (*SENSING, "passive", "actuation", "advance")
INDICES = ("kind", "valueadr", "slotadr", "actuatoradr", "actuatornum", "sensoradr", "sensornum", "bodyadr", "bodynum")
LISTS = {"slot": "npluginslot", "actuatorid": "npluginactuator", "sensorid": "npluginsensor", "bodyid": "npluginbody"}


def no_arrays(nplugin: int = 0) -> dict[str, np.ndarray]:
    """The arrays of the `Plugins` bundle for a model whose plugins, if any, take no part."""
    arrays: dict[str, np.ndarray] = {f"plugin_{name}": np.zeros(nplugin, np.int32) for name in INDICES}
    arrays |= {f"plugin_{name}": np.zeros(0, np.int32) for name in LISTS}
    arrays["plugin_value"] = np.zeros(0)
    return arrays


@dataclass(eq=False)
class Extension:
    """What plugins add to an engine. Only `fields` may be replaced while it is in use.

    Attributes:
        stages: Stages by place.
        arrays: Values of the `Plugins` bundle, by name; the lengths of lists follow from them.
        fields: Signed distance fields of geoms.
        state: Initial plugin_state.
        loads: Sensors read the forces between bodies (rnePostConstraint).
        subtrees: Sensors read the velocities of subtrees.
        names: Name of the plugin of each instance, for messages.
        instances: The instances themselves, kept alive.
    """

    stages: Mapping[str, tuple[Stage, ...]] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=no_arrays)
    fields: Fields | None = None
    state: np.ndarray | float = 0.0
    loads: bool = False
    subtrees: bool = False
    names: tuple[str, ...] = ()
    instances: tuple[Any, ...] = ()

    def at(self, place: str, m) -> list[Stage]:
        """The stages of a place, as far as the model's flags leave them on."""
        off = int(m.opt.disableflags)
        if place in SENSING and off & Disable.SENSOR:
            return []
        if place == "passive" and off & Disable.SPRING and off & Disable.DAMPER:
            return []
        return [replace(s, once=place in SENSING) for s in self.stages.get(place, ())]

    @property
    def sizes(self) -> dict[str, int]:
        """Lengths of the lists, as size symbols."""
        lengths = {symbol: len(self.arrays[f"plugin_{name}"]) for name, symbol in LISTS.items()}
        return {**lengths, "npluginvalue": len(self.arrays["plugin_value"])}


NONE = Extension()


def extension_of(source, device, nworld: int) -> Extension:
    """What the plugins a model names add to the engine, and those of its sensors that launch kernels as plugins do."""
    extension = NONE
    if source.nplugin:
        from kinema.plugins.bind import bind

        extension = bind(source, device, nworld)
    sensing = _sensing_kernels(source, device, nworld, extension.fields)
    if sensing:
        extension = extension if source.nplugin else Extension()
        extension.stages = {**extension.stages, "acceleration": (*extension.stages.get("acceleration", ()), *sensing)}
    return extension


def _sensing_kernels(source, device, nworld: int, fields: Fields | None) -> list[Stage]:
    """Stages of sensors with arrays of their own: taxels, sites that are meshes, and sites that enclose."""
    kinds = set(np.asarray(source.sensor_type).tolist())
    stages = []
    if Sensor.TACTILE in kinds:
        from kinema.convex.sensors import tactile

        stages.append(tactile.stage(source, device, nworld, fields))
    if Sensor.INSIDESITE in kinds:
        from kinema.convex.sensors import enclosure, mesh_zone

        if len(mesh_zone.mesh_zones(source)):
            stages.append(mesh_zone.stage(source, device, nworld))
        if len(enclosure.enclosed(source)):
            stages.append(enclosure.stage(source, device, nworld))
    return stages
