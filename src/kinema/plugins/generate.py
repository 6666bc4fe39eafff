"""From the functions of a plugin to stages of the engine.

The functions see structs with named members; the engine has arrays. Between them stands a little text that cannot be
written once for all plugins, since Warp has no way to set members by name: it is written here for each plugin, as the
source of a `wp.func` that loads configuration, states and activations, calls the plugin's function and stores what it
returns. Everything is compiled into the engine's kernels; nothing of this runs while simulating.

Each plugin of a model has a number there, its kind; functions pass over instances of other kinds.
"""

from __future__ import annotations

import linecache
import re
from functools import cache
from typing import Any

import warp as wp

from kinema.convex.com import project_wrench, wrench_about
from kinema.convex.data import Data
from kinema.convex.jacobian import last_dof
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.errors import PluginError
from kinema.plugins import inputs
from kinema.plugins.protocol import Plugin, annotation, arguments

TAB = "    "

FORCE = """
def {name}(m: Model, d: Data, w: int, i: int):
    instance = m.actuator.plugin[i]
    if instance >= 0:
        if m.plugin.kind[instance] == KIND:
{load}
            x = actuator_input(m, d, w, i, True)
            d.act.force[w, m.actuator.outadr[i]] = sound(d.state.status, w, instance, FUNCTION({call}))
"""

ACT_DOT = """
def {name}(m: Model, d: Data, w: int, i: int):
    instance = m.actuator.plugin[i]
    if instance >= 0:
        if m.plugin.kind[instance] == KIND:
{load}
            x = actuator_input(m, d, w, i, False)
            rate = FUNCTION({call})
{store}
"""

SENSOR = """
def {name}(m: Model, d: Data, w: int, i: int):
    instance = m.sensor.plugin[i]
    if instance >= 0:
        if m.plugin.kind[instance] == KIND:
{load}
            x = sensor_input(m, d, w, i)
            adr = m.sensor.adr[i]
            for k in range(m.sensor.dim[i]):
                d.sensor.sensordata[w, adr + k] = sound(d.state.status, w, instance, FUNCTION({call}))
"""

PASSIVE = """
def {name}(m: Model, d: Data, w: int):
    for instance in range(m.size.nplugin):
        if m.plugin.kind[instance] == KIND:
{load}
            first = m.plugin.bodyadr[instance]
            for k in range(first, first + m.plugin.bodynum[instance]):
                b = m.plugin.bodyid[k]
                x = body_input(m, d, w, b)
                wrench = FUNCTION({call})
                for c in range(6):
                    wrench[c] = sound(d.state.status, w, instance, wrench[c])
                force = wp.vec3(wrench[0], wrench[1], wrench[2])
                torque = wp.vec3(wrench[3], wrench[4], wrench[5])
                com = d.inertia.subtree_com[w, m.body.rootid[b]]
                project_wrench(
                    d.frc.qfrc_passive, d.inertia.cdof, m.dof.parentid, w,
                    last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, b), wrench_about(torque, force, x.pos, com),
                )
"""

ADVANCE_ACTUATOR = """
def {name}(m: Model, d: Data, w: int, instance: int):
    if m.plugin.kind[instance] == KIND:
        first = m.plugin.actuatoradr[instance]
        for n in range(first, first + m.plugin.actuatornum[instance]):
            i = m.plugin.actuatorid[n]
{load}
            x = actuator_input(m, d, w, i, False)
            later = FUNCTION({call})
{store}
"""

ADVANCE_CLOCK = """
def {name}(m: Model, d: Data, w: int, instance: int):
    if m.plugin.kind[instance] == KIND:
{load}
        x = clock(m, d, w)
        later = FUNCTION({call})
{store}
"""

COUPLED_ITEM = """
def {name}(m: Model, d: Data, w: int, instance: int):
    if m.plugin.kind[instance] == KIND:
{load}
        FUNCTION(m, d, w, instance{call})
"""

COUPLED_WORLD = """
def {name}(m: Model, d: Data, w: int):
    for instance in range(m.size.nplugin):
        if m.plugin.kind[instance] == KIND:
{load}
            FUNCTION(m, d, w, instance{call})
"""


@cache
def struct_of(plugin: Plugin, what: str) -> Any:
    """The struct device functions of a plugin see: "p", "state" or "act"."""
    if what == "p":
        members = {name: field.device_type for name, field in plugin.fields.items() if field.on_device}
    else:
        members = dict.fromkeys(plugin.states if what == "state" else plugin.acts, float)
    name = f"{identifier(plugin.name)}_{what}"
    return wp.struct(type(name, (), {"__annotations__": members or {"unused": float}, "__module__": __name__}))


def identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


def load_values(plugin: Plugin) -> list[str]:
    """Source that makes `p`, the configuration of an instance."""
    lines, at = ["p = P()"], 0
    for name, field in plugin.fields.items():
        if not field.on_device:
            continue
        member = field.device_type
        for n in range(field.width):
            value = f"m.plugin.value[w, m.plugin.valueadr[instance] + {at}]"
            target = f"p.{name}[{n}]" if field.length else f"p.{name}"
            kind = field.type if field.length else member
            text = {float: value, int: f"int({value})", bool: f"{value} != 0.0"}[kind]
            lines.append(f"{target} = {text}")
            at += 1
    return lines


def load_variables(plugin: Plugin, what: str) -> list[str]:
    """Source that makes `state` or `act`."""
    names = list(plugin.states if what == "state" else plugin.acts)
    base = 0 if what == "state" else len(plugin.states)
    array = "d.state.plugin_state" if what == "state" else "d.state.act"
    adr = "m.plugin.stateadr[instance]" if what == "state" else "m.actuator.actadr[i]"
    lines = [f"{what} = {what.upper()}()"]
    for n, name in enumerate(names):
        lines += [
            f"at_{what}_{n} = m.plugin.slot[m.plugin.slotadr[instance] + {base + n}]",
            f"if at_{what}_{n} >= 0:",
            f"{TAB}{what}.{name} = {array}[w, {adr} + at_{what}_{n}]",
        ]
    return lines


def store_variables(plugin: Plugin, what: str, array: str, value: str) -> list[str]:
    """Source that writes the members of a returned struct where they belong."""
    names = list(plugin.states if what == "state" else plugin.acts)
    base = 0 if what == "state" else len(plugin.states)
    adr = "m.plugin.stateadr[instance]" if what == "state" else "m.actuator.actadr[i]"
    lines = []
    for n, name in enumerate(names):
        lines += [
            f"to_{n} = m.plugin.slot[m.plugin.slotadr[instance] + {base + n}]",
            f"if to_{n} >= 0:",
            f"{TAB}{array}[w, {adr} + to_{n}] = checked(d.state.status, w, instance, {value}.{name}, "
            f"{array}[w, {adr} + to_{n}])",
        ]
    return lines


@wp.func
def checked(status: wp.array(dtype=int), w: int, instance: int, value: float, old: float) -> float:
    """The value if it is a number; otherwise the old one, and the world is frozen."""
    result = inputs.sound(status, w, instance, value)
    if result != value:
        result = old
    return result


def indent(lines: list[str], depth: int) -> str:
    return "\n".join(TAB * depth + line for line in lines) or TAB * depth + "pass"


@cache
def generated(plugin: Plugin, entry: str, kind: int) -> wp.Function:
    """The stage function around one function of a plugin."""
    function = plugin.functions[entry]
    wanted = arguments(function)
    coupled = entry.startswith("compute_")
    template = {
        "actuator": FORCE, "act_dot": ACT_DOT, "sensor": SENSOR, "passive": PASSIVE, "advance_act": ADVANCE_ACTUATOR,
        "compute_passive": COUPLED_WORLD,
    }.get(entry, COUPLED_ITEM)  # fmt: skip
    if entry == "advance":
        per_actuator = annotation(function, wanted[0]) is inputs.ActuatorInput
        template = ADVANCE_ACTUATOR if per_actuator else ADVANCE_CLOCK
    load = load_values(plugin) if "p" in wanted else []
    for what in ("state", "act"):
        if what in wanted and not coupled:
            load += load_variables(plugin, what)
    store = {
        "act_dot": store_variables(plugin, "act", "d.act.act_dot", "rate"),
        "advance": store_variables(plugin, "state", "d.state.plugin_state", "later"),
        "advance_act": store_variables(plugin, "act", "d.state.act", "later"),
    }.get(entry, [])  # fmt: skip
    depth = 2 if template in (COUPLED_ITEM, ADVANCE_CLOCK) else 3
    call = ", ".join(["x", *wanted[1:]])
    if coupled:
        call = ", p" if "p" in wanted else ""
    name = f"{identifier(plugin.name)}_{entry}_{kind}"
    source = template.format(name=name, load=indent(load, depth), store=indent(store, depth), call=call)
    return compile_function(plugin, name, source, FUNCTION=function, KIND=wp.constant(kind))


def compile_function(plugin: Plugin, name: str, source: str, **names: Any) -> wp.Function:
    """A wp.func of source text. What is wrong with the plugin's own function shows when it is first analysed: now."""
    file = f"<kinema plugin {plugin.name}: {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace = {
        "__name__": __name__, "wp": wp, "Model": Model, "Data": Data, "checked": checked, "wrench_about": wrench_about,
        "project_wrench": project_wrench, "last_dof": last_dof,
        **{key: getattr(inputs, key) for key in ("actuator_input", "sensor_input", "body_input", "clock", "sound")},
        **names,
    }  # fmt: skip
    for what in ("p", "state", "act"):
        namespace[what.upper()] = struct_of(plugin, what)
    exec(compile(source, file, "exec"), namespace)
    made = wp.func(namespace[name])
    try:
        made.build(None)
    except Exception as error:
        entry = name.removeprefix(identifier(plugin.name) + "_")
        raise PluginError(f"plugin {plugin.name}: {entry}: {error}") from error
    return made


def stage_of(plugin: Plugin, entry: str, kind: int) -> Stage:
    """One function of a plugin as a stage."""
    over = {"actuator": "nactuator", "act_dot": "nactuator", "sensor": "nsensor", "passive": None}
    over["compute_passive"] = None  # bodies add to one array, so a world is one thread
    return Stage(generated(plugin, entry, kind), over=over.get(entry, "nplugin"))
