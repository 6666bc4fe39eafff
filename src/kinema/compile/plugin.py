"""Plugins as a document uses them: <extension> declarations, explicit and implicit instances, their configuration.

An element names a plugin (and gets an instance of its own, configured by its <config> children) or an instance declared
in <extension> (shared by all elements that name it). Instances are numbered explicit first, then implicit ones in the
order the document is read: meshes, bodies and geoms, actuators, sensors.

What plugins exist is asked of the registry of kinema.plugins, `known_plugins()`, when a document names one; what the
compiler must know of a plugin is its `PluginInfo`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.errors import did_you_mean
from kinema.mjcf.source import Node
from kinema.mujoco_enums import Capability, Stage

SUPPORTS: dict[int, str] = {
    Capability.ACTUATOR: "actuators",
    Capability.SENSOR: "sensors",
    Capability.PASSIVE: "passive forces",
    Capability.SDF: "signed distance fields",
}

Config = Mapping[str, str]


@dataclass(frozen=True)
class PluginInfo:
    """What the compiler must know about a plugin.

    Attributes:
        name: Name in documents, such as ``mujoco.pid``.
        attributes: Configuration keys, in the order their values are stored.
        capabilities: Sum of ACTUATOR, SENSOR, PASSIVE, SDF.
        stage: Stage a sensor of it needs.
        states: Number of state variables of an instance with this configuration.
        outputs: Number of outputs of a sensor with this configuration.
        check: What is wrong with a configuration, or None.
        activations: Activation variables an actuator must have beside that of its dyntype; None: any number.
        needs_owner: An instance that nothing refers to is an error.
        value: The text to keep for a key and its text in a file; ValueError says what is wrong with the text.
    """

    name: str
    attributes: tuple[str, ...] = ()
    capabilities: int = 0
    stage: int = Stage.ACC
    states: Callable[[Config], int] = lambda config: 0
    outputs: Callable[[Config], int] = lambda config: 0
    check: Callable[[Config], str | None] = lambda config: None
    activations: Callable[[Config], int] | None = None
    needs_owner: bool = False
    value: Callable[[str, str, str | None], str] = lambda key, text, file: text


@dataclass(frozen=True)
class Instance:
    """One instance: its plugin, its slot in the registry, its configuration, where it was written."""

    info: PluginInfo
    slot: int
    config: dict[str, str]
    element: Element


class Known(Protocol):
    """Plugins by name, and the numbers models know them by."""

    def __getitem__(self, name: str) -> PluginInfo: ...

    def __contains__(self, name: object) -> bool: ...

    def __iter__(self) -> Iterator[str]: ...

    def slot(self, name: str) -> int: ...


def known_plugins() -> Known:
    """All plugins documents may name."""
    from kinema.plugins.registry import Infos

    return Infos()


def compile_plugin(c: Compilation) -> None:
    """Number all instances, check their configuration, and fill the plugin arrays and `*_plugin` of all owners."""
    _declared(c, c.root)  # what is declared must exist, used or not
    instances = [_explicit(c, e) for e in c.elements["plugin"]]
    c.renumber("plugin")
    c.ids("plugin")  # a repeated name is an error even when nothing refers to it
    owners: dict[str, list[tuple[int, int]]] = {"body": [], "geom": [], "actuator": [], "sensor": []}
    used: set[int] = set()
    for kind, index, e, capability in _uses(c):
        number = _instance(c, e, instances, capability)
        used.add(number)
        if kind in owners:
            owners[kind].append((index, number))
    for number, instance in enumerate(instances):
        problem = instance.info.check(instance.config)
        if problem is None and instance.info.needs_owner and number not in used:
            problem = f"no element uses this instance of {instance.info.name}"
        if problem is not None:
            raise instance.element.error(f"plugin {instance.info.name}: {problem}")
    for kind, pairs in owners.items():
        column = np.full(len(c.elements[kind]), -1, dtype=np.int32)
        for index, number in pairs:
            column[index] = number
        c.arrays[f"{kind}_plugin"] = column
    _fill(c, instances)
    c.scratch["plugin_instances"] = instances


def _fill(c: Compilation, instances: list[Instance]) -> None:
    a = c.arrays
    values = [_flatten(instance) for instance in instances]
    length = np.array([len(value) for value in values], dtype=np.int32)
    states = np.array([i.info.states(i.config) for i in instances], dtype=np.int32)
    a["plugin"] = np.array([instance.slot for instance in instances], dtype=np.int32)
    a["plugin_attr"] = np.frombuffer(b"".join(values), dtype="S1").copy()
    a["plugin_attradr"] = (np.cumsum(length) - length).astype(np.int32)
    a["plugin_statenum"] = states
    a["plugin_stateadr"] = (np.cumsum(states) - states).astype(np.int32)
    c.sizes["npluginattr"] = int(length.sum())
    c.sizes["npluginstate"] = int(states.sum())
    c.sizes["nplugin"] = len(instances)


def _flatten(instance: Instance) -> bytes:
    """Values in declared order, each 0-terminated and empty where unset."""
    values = [instance.config.get(key, "").encode() + b"\0" for key in instance.info.attributes]
    return b"".join(values) or b"\0"


def _uses(c: Compilation) -> Iterator[tuple[str, int, Element, int]]:
    """Every use of a plugin, in reading order: (owner's kind, its index, the <plugin> element, capability)."""
    for index, mesh in enumerate(c.elements["mesh"]):
        for plugin in mesh.children("plugin"):
            yield "mesh", index, plugin, Capability.SDF
    bodies = [(index, body.plugin) for index, body in enumerate(c.bodies) if body.plugin is not None]
    in_tree = [("body", index, plugin, Capability.PASSIVE) for index, plugin in bodies]
    for index, geom in enumerate(c.elements["geom"]):
        in_tree += [("geom", index, plugin, Capability.SDF) for plugin in geom.children("plugin")]
    yield from sorted(in_tree, key=lambda use: use[2].node.line or 0)
    for index, actuator in enumerate(c.elements["actuator"]):
        if actuator.tag == "plugin":
            yield "actuator", index, actuator, Capability.ACTUATOR
    for index, sensor in enumerate(c.elements["sensor"]):
        if sensor.tag == "plugin":
            yield "sensor", index, sensor, Capability.SENSOR


def _instance(c: Compilation, e: Element, instances: list[Instance], capability: int) -> int:
    """The instance an element uses, made on the spot when it names only a plugin."""
    name, instance_name = _names(e, c.ids("plugin"))
    if not instance_name:
        info, slot = _find(c, e, name)
        config = _config(e, info)
        number = len(instances)
        instances.append(Instance(info, slot, config, e))
        unnamed = Node("instance", {}, file=e.node.file, line=e.node.line)
        c.elements["plugin"].append(Element(unnamed, "plugin", e.scope))
    else:
        number = c.ids("plugin")[instance_name]
        info = instances[number].info
        if name and name != info.name:
            raise e.error(f"'plugin' attribute {name!r} does not match that of the instance, {info.name!r}")
        if any(True for _ in e.children("config")):
            raise e.error("an element that uses a declared plugin instance cannot configure it; move <config> there")
    if not info.capabilities & capability:
        raise e.error(f"plugin {info.name!r} does not support {SUPPORTS[capability]}")
    return number


def _names(e: Element, instances: Mapping[str, object]) -> tuple[str, str]:
    """The plugin and the instance an element names, at least one of them; the instance must be there."""
    name, instance_name = e.text("plugin", ""), e.reference("instance", "plugin")
    if not name and not instance_name:
        raise e.error("neither 'plugin' nor 'instance' is specified")
    if instance_name and instance_name not in instances:
        near = did_you_mean(instance_name, instances)
        raise e.error(f"unrecognized name {instance_name!r} for plugin instance{near}")
    return name, instance_name


def configuration_of(c: Compilation, e: Element, capability: int) -> tuple[str, dict[str, str]]:
    """Name and configuration of the plugin an element uses, before instances are numbered."""
    instances = [_explicit(c, declared) for declared in c.elements["plugin"]]
    by_name = {instance.element.name: instance for instance in instances}
    name, instance_name = _names(e, by_name)
    if instance_name:
        used = by_name[instance_name]
    else:
        info, _ = _find(c, e, name)
        used = Instance(info, -1, _config(e, info), e)
    if not used.info.capabilities & capability:
        raise e.error(f"plugin {used.info.name!r} does not support {SUPPORTS[capability]}")
    problem = used.info.check(used.config)
    if problem is not None:
        raise used.element.error(f"plugin {used.info.name}: {problem}")
    return used.info.name, used.config


def _explicit(c: Compilation, e: Element) -> Instance:
    assert e.node.parent is not None
    e.required("name")
    owner = Element(e.node.parent, "plugin", e.scope, (e.node.parent.attributes,))
    info, slot = _find(c, owner, owner.required("plugin"))
    return Instance(info, slot, _config(e, info), e)


def _find(c: Compilation, e: Element, name: str) -> tuple[PluginInfo, int]:
    declared = _declared(c, c.root) | _declared(c, _root(e.node))
    if name not in declared:
        near = did_you_mean(name, declared) or ": declare it with <extension><plugin plugin=…/></extension>"
        raise e.error(f"unrecognized plugin {name!r}{near}")
    known = known_plugins()
    return known[name], known.slot(name)


UNLOADED = " (its file is loaded by kinema.plugins.load_plugin(file), on the command line by --plugin FILE)"


def _declared(c: Compilation, root: Node) -> set[str]:
    """Plugins a document declares, each of which must exist."""
    names = set()
    for section in root.find("extension"):
        for node in section.find("plugin"):
            e = Element(node, "plugin", layers=(node.attributes,))
            name = e.required("plugin")
            if name not in known_plugins():
                near = did_you_mean(name, known_plugins()) + UNLOADED
                raise e.error(f"plugin {name} not found{near}")
            names.add(name)
    return names


def _root(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


def _config(e: Element, info: PluginInfo) -> dict[str, str]:
    config: dict[str, str] = {}
    for child in e.children("config"):
        key = child.required("key")
        if "value" not in child.node.attributes:
            raise child.error("config needs 'value'")
        if key in config:
            raise child.error(f"duplicate config key: {key}")
        if key not in info.attributes:
            near = did_you_mean(key, info.attributes)
            raise child.error(f"unrecognized attribute 'plugin:{key}' for plugin {info.name!r}{near}")
        try:
            config[key] = info.value(key, child.node.attributes["value"], child.node.file)
        except ValueError as error:
            raise child.error(f"plugin {info.name}: {error}") from None
    return config
