"""From the plugins a model names to an extension of the engine: instances, arrays and stages in MuJoCo's order.

    needstage none, pos   sensors, before passive forces
    passive               after springs and dampers are summed
    vel                   sensors, between passive forces and activation rates
    activation rates      after those of the native dyntypes; then forces
    acc                   sensors, last
    advance               after positions, velocities, time and activations
"""

from __future__ import annotations

import sys
import weakref

import numpy as np
import warp as wp

from kinema.convex.activation import FAMILY_PLUGIN, activation_rate
from kinema.convex.arguments import MOST, size, taken
from kinema.convex.data import Data
from kinema.convex.extension import INDICES, LISTS, Extension, no_arrays
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.errors import PluginError
from kinema.mujoco_enums import Capability, Dynamics
from kinema.mujoco_enums import Stage as MujocoStage
from kinema.plugins.fuse import fused
from kinema.plugins.generate import stage_of
from kinema.plugins.instance import Instance
from kinema.plugins.protocol import Plugin
from kinema.plugins.registry import plugin_at
from kinema.plugins.watch import watch_stage

WATCHED = ("actuator", "sensor", "passive")
ATTACHED = {Capability.ACTUATOR: "actuators", Capability.SENSOR: "sensors", Capability.PASSIVE: "bodies"}
"""Where an instance lists what a capability of its plugin acts on."""
PLACE_OF_STAGE: dict[int, str] = {
    MujocoStage.NONE: "position",
    MujocoStage.POS: "position",
    MujocoStage.VEL: "velocity",
    MujocoStage.ACC: "acceleration",
}


@wp.func
def dyntype_rates(m: Model, d: Data, w: int, i: int):
    """act_dot of the dyntype of plugin actuators, which is their last activation; 0 for the plugins' own."""
    if m.actuator.family[i] == FAMILY_PLUGIN and m.actuator.actadr[i] >= 0:
        last = m.actuator.actadr[i] + m.actuator.actnum[i] - 1
        for k in range(m.actuator.actadr[i], last + 1):
            d.act.act_dot[w, k] = 0.0
        ctrl = float(0.0)
        if m.actuator.ctrlnum[i] > 0:
            ctrl = d.act.control[w, m.actuator.ctrladr[i]]
        dyntype = m.actuator.dyntype[i]
        if dyntype != Dynamics.NONE:
            d.act.act_dot[w, last] = activation_rate(dyntype, ctrl, d.state.act[w, last], m.actuator.dynprm[w, i], 0.0)


def configurations(source) -> list[dict[str, str]]:
    """The configuration of every instance as key and text, from plugin_attr."""
    packed = np.asarray(source.plugin_attr).tobytes()
    result = []
    for i in range(source.nplugin):
        plugin = plugin_at(int(source.plugin[i]))
        words = packed[int(source.plugin_attradr[i]) :].split(b"\0")[: len(plugin.fields)]
        result.append({key: word.decode() for key, word in zip(plugin.fields, words, strict=False)})
    return result


def kernels_of(plugin: Plugin) -> list[wp.Kernel]:
    """The kernels that the module of a plugin names, its own or imported ones."""
    return [value for value in vars(sys.modules[plugin.cls.__module__]).values() if isinstance(value, wp.Kernel)]


def check_arguments(plugin: Plugin) -> None:
    """Refuse kernels that a CUDA device could not be handed; on every device, so that who writes them learns of it."""
    for kernel in kernels_of(plugin):
        if taken(kernel) > MOST:
            raise PluginError(
                f"plugin {plugin.name}: kernel {kernel.key} takes {taken(kernel)} bytes of arguments, and CUDA hands a "
                f"kernel {MOST} at most: an array is 56 bytes, Model and Data are {size(Model) + size(Data)}. Take the "
                "arrays you need in place of Model or Data, or put arrays of your own behind an array of one struct"
            )


def instances_of(source, device: wp.Device, nworld: int) -> list[Instance]:
    """All instances of a model, initialized."""
    instances = []
    owners = {kind: np.asarray(getattr(source, f"{kind}_plugin")) for kind in ("actuator", "sensor", "body", "geom")}
    for i, config in enumerate(configurations(source)):
        plugin = plugin_at(int(source.plugin[i]))
        try:
            made = plugin.configure(config)
        except ValueError as error:
            raise PluginError(f"plugin {plugin.name}, instance {i}: {error}") from None
        served = {kind: np.flatnonzero(column == i).astype(np.int32) for kind, column in owners.items()}
        instance = Instance(
            i, plugin, made, served["actuator"], served["sensor"], served["body"], served["geom"], device,
            nworld,
        )  # fmt: skip
        offsets, instance.initial = plugin.layout(made)
        instance.slots = offsets + plugin.act_offsets(made)
        instance.stateadr, instance.statenum = int(source.plugin_stateadr[i]), int(source.plugin_statenum[i])
        if instance.statenum != len(instance.initial):
            raise PluginError(
                f"plugin {plugin.name}, instance {i}: the model has room for {instance.statenum} states, "
                f"the plugin declares {len(instance.initial)}"
            )
        instances.append(instance)
    for instance in instances:
        instance.init(source)
        if instance.plugin.host:
            check_arguments(instance.plugin)
        if instance.plugin.host and device.is_cuda:  # no module may be loaded while a graph is captured
            for module in dict.fromkeys(kernel.module for kernel in kernels_of(instance.plugin)):
                module.load(device)
    return instances


def initial_state(source) -> np.ndarray:
    """plugin_state after a reset."""
    state = np.zeros(int(source.npluginstate))
    for i, config in enumerate(configurations(source)):
        plugin = plugin_at(int(source.plugin[i]))
        first, count = int(source.plugin_stateadr[i]), int(source.plugin_statenum[i])
        state[first : first + count] = plugin.layout(plugin.configure(config))[1]
    return state


def arrays_of(instances: list[Instance], kinds: list[Plugin]) -> dict[str, np.ndarray]:
    """The `Plugins` bundle. Configurations of one plugin stand together, so that a field is a strided view."""
    arrays = no_arrays(len(instances))
    lists: dict[str, list[int]] = {name: [] for name in LISTS}
    values: list[float] = []
    index: dict[str, list[int]] = {name: [0] * len(instances) for name in INDICES}
    for plugin in kinds:
        for instance in instances:
            if instance.plugin is plugin:
                index["valueadr"][instance.id] = len(values)
                for name, field in plugin.fields.items():
                    values += field.numbers(getattr(instance.config, name)) if field.on_device else []
    for instance in instances:
        i = instance.id
        index["kind"][i] = kinds.index(instance.plugin)
        index["slotadr"][i] = len(lists["slot"])
        lists["slot"] += instance.slots
        for kind, ids in (("actuator", instance.actuators), ("sensor", instance.sensors), ("body", instance.bodies)):
            index[f"{kind}adr"][i] = len(lists[f"{kind}id"])
            index[f"{kind}num"][i] = len(ids)
            lists[f"{kind}id"] += ids.tolist()
    for name, column in [*index.items(), *lists.items()]:
        arrays[f"plugin_{name}"] = np.array(column, dtype=np.int32)
    arrays["plugin_value"] = np.array(values, dtype=float)
    return arrays


def host_stage(instances: list[Instance], name: str, capability: str = "") -> Stage:
    """A function of a plugin that runs on the host, for all instances of the plugin."""

    def launch(m: Model, d: Data) -> None:
        for instance in instances:
            instance.run(name, m, d, capability)

    return Stage(None, launch=launch)


def needed(plugin: Plugin, entry: str, instances: list[Instance]) -> bool:
    """Whether a small function has anything to compute: not where no instance has the variables it would write."""
    if entry == "advance":
        return any(instance.statenum for instance in instances)
    if entry in ("act_dot", "advance_act"):
        return any(slot >= 0 for instance in instances for slot in instance.slots[len(plugin.states) :])
    return True


def stages_of(source, instances: list[Instance], kinds: list[Plugin]) -> dict[str, tuple[Stage, ...]]:
    """The stages of all plugins of a model by place, each with whether it treats elements one by one."""
    places: dict[str, list[tuple[Stage, bool]]] = {
        place: [] for place in ("position", "passive", "velocity", "rate", "force", "acceleration", "advance")
    }
    if source.na:
        places["rate"].append((Stage(dyntype_rates, over="nactuator"), True))
    for kind, plugin in enumerate(kinds):
        mine = [instance for instance in instances if instance.plugin is plugin]
        present = sum(
            bit
            for bit, which in ATTACHED.items()
            if plugin.capabilities & bit and any(len(getattr(instance, which)) for instance in mine)
        )
        sensing = PLACE_OF_STAGE[plugin.stage]
        entries = (
            ("passive", "passive", Capability.PASSIVE),
            ("act_dot", "rate", Capability.ACTUATOR),
            ("actuator", "force", Capability.ACTUATOR),
            ("sensor", sensing, Capability.SENSOR),
            ("advance", "advance", 0),
            ("advance_act", "advance", Capability.ACTUATOR),
        )
        for entry, place, bit in entries:
            if bit and not present & bit:
                continue
            if entry in plugin.functions and needed(plugin, entry, mine):
                places[place].append((stage_of(plugin, entry, kind), True))
            if f"compute_{entry}" in plugin.functions:
                places[place].append((stage_of(plugin, f"compute_{entry}", kind), False))
                if entry in WATCHED:
                    places[place].append((watch_stage(plugin, entry, kind), False))
            if entry in ("advance", "act_dot") and entry in plugin.host:
                places[place].append((host_stage(mine, entry), False))
            if entry in WATCHED and "compute" in plugin.host:
                places[place].append((host_stage(mine, "compute", entry), False))
                places[place].append((watch_stage(plugin, entry, kind), False))
    places["actuation"] = places.pop("rate") + places.pop("force")
    return {place: tuple(fused(stages)) for place, stages in places.items()}


def bind(source, device: wp.Device, nworld: int) -> Extension:
    """What the plugins of a model add to the engine."""
    from kinema.plugins.distance import fields_of

    instances = instances_of(source, device, nworld)
    kinds = list(dict.fromkeys(instance.plugin for instance in instances))
    sensing = [instance.plugin for instance in instances if len(instance.sensors)]
    extension = Extension(
        stages=stages_of(source, instances, kinds),
        arrays=arrays_of(instances, kinds),
        fields=fields_of(source, instances) if any(plugin.capabilities & Capability.SDF for plugin in kinds) else None,
        state=initial_state(source),
        loads=any(p.stage == MujocoStage.ACC and getattr(p.cls, "needs_loads", True) for p in sensing),
        subtrees=any(p.stage == MujocoStage.VEL and getattr(p.cls, "needs_subtrees", True) for p in sensing),
        names=tuple(instance.plugin.name for instance in instances),
        instances=tuple(instances),
    )
    weakref.finalize(extension, _destroy, instances)
    return extension


def _destroy(instances: list[Instance]) -> None:
    for instance in instances:
        instance.destroy()
