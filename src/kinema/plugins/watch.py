"""Watch what plugins write by themselves: a number that is not finite freezes the world and is put on record.

The small functions return what they compute, and it is checked before it is stored. Functions over a whole instance
and those on the host write into the engine's arrays; these stages look at what they wrote.
"""

from functools import cache

import warp as wp

from kinema.convex.stage import Stage
from kinema.plugins.generate import compile_function, identifier
from kinema.plugins.protocol import Plugin

ACTUATOR = """
def {name}(m: Model, d: Data, w: int, instance: int):
    if m.plugin.kind[instance] == KIND:
        first = m.plugin.actuatoradr[instance]
        for n in range(first, first + m.plugin.actuatornum[instance]):
            out = m.actuator.outadr[m.plugin.actuatorid[n]]
            d.act.force[w, out] = sound(d.state.status, w, instance, d.act.force[w, out])
"""

SENSOR = """
def {name}(m: Model, d: Data, w: int, instance: int):
    if m.plugin.kind[instance] == KIND:
        first = m.plugin.sensoradr[instance]
        for n in range(first, first + m.plugin.sensornum[instance]):
            adr = m.sensor.adr[m.plugin.sensorid[n]]
            for k in range(adr, adr + m.sensor.dim[m.plugin.sensorid[n]]):
                d.sensor.sensordata[w, k] = sound(d.state.status, w, instance, d.sensor.sensordata[w, k])
"""

PASSIVE = """
def {name}(m: Model, d: Data, w: int):
    last = int(-1)
    for instance in range(m.size.nplugin):
        if m.plugin.kind[instance] == KIND:
            last = instance
    for i in range(m.size.nv):
        d.frc.qfrc_passive[w, i] = sound(d.state.status, w, last, d.frc.qfrc_passive[w, i])
"""


@cache
def watch_stage(plugin: Plugin, capability: str, kind: int) -> Stage:
    """A stage that checks the outputs of all instances of a plugin."""
    template = {"actuator": ACTUATOR, "sensor": SENSOR, "passive": PASSIVE}[capability]
    name = f"{identifier(plugin.name)}_watch_{capability}_{kind}"
    function = compile_function(plugin, name, template.format(name=name), KIND=wp.constant(kind))
    return Stage(function, over=None if capability == "passive" else "nplugin")
