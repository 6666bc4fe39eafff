"""Engine plugins: actuators, sensors, passive forces and signed distance fields, written in Python, run on the device.

>>> import warp as wp
>>> from kinema.plugins import ActuatorInput, P, field, plugin
>>> @plugin("acme.spring")
... class Spring:
...     stiffness: float = field(10.0, min=0.0)
...     @wp.func
...     def actuator(x: ActuatorInput, p: P) -> float:
...         return p.stiffness * (x.setpoint - x.length)

A model then says <extension><plugin plugin="acme.spring"/></extension> and uses it: protocol.py, docs/plugins.md.
"""

from kinema.errors import PluginError
from kinema.plugins.config import Path, field
from kinema.plugins.inputs import A, ActuatorInput, BodyInput, Clock, P, S, SensorInput
from kinema.plugins.instance import Instance
from kinema.plugins.protocol import Act, Plugin, State
from kinema.plugins.registry import find_plugin, load_plugin, load_plugins, plugin, register, unregister
from kinema.plugins.visual import Mark, Shown, shown_by_plugins

__all__ = [
    "A", "Act", "ActuatorInput", "BodyInput", "Clock", "Instance", "Mark", "P", "Path", "Plugin", "PluginError", "S",
    "SensorInput", "Shown", "State", "field", "find_plugin", "load_plugin", "load_plugins", "plugin", "register",
    "shown_by_plugins", "unregister",
]  # fmt: skip
