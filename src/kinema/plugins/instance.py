"""A plugin instance of a model, as the large form sees it, and its life: init, use, destroy."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.errors import PluginError
from kinema.plugins.protocol import Plugin


@dataclass
class Instance:
    """One instance of a plugin in a model, serving all worlds.

    Attributes:
        id: Index of the instance in the model.
        plugin: The plugin.
        config: An object of the plugin's class with the configuration as attributes.
        actuators, sensors, bodies, geoms: Ids of the elements it serves.
        device: Where its arrays are.
        nworld: Number of worlds.
        stateadr, statenum: Where its numbers are in plugin_state.
        slots: Offset of each declared state in the instance's part of plugin_state, then of each activation in the
            actuator's part of act; -1: not used by this configuration.
        initial: Its states after a reset.
        capability: What `compute` is called for: "actuator", "sensor" or "passive".
        data: What `init` returned; never saved, made again from the configuration.
    """

    id: int
    plugin: Plugin
    config: Any
    actuators: np.ndarray
    sensors: np.ndarray
    bodies: np.ndarray
    geoms: np.ndarray
    device: wp.Device
    nworld: int
    stateadr: int = 0
    statenum: int = 0
    slots: list[int] = field(default_factory=list)
    initial: list[float] = field(default_factory=list)
    capability: str = ""
    data: Any = None

    def states(self, d: Data) -> wp.array:
        """The instance's part of plugin_state, (nworld, statenum)."""
        return d.state.plugin_state[:, self.stateadr : self.stateadr + self.statenum]

    def configured(self, numbers: Sequence[float]) -> Any:
        """The configuration with other numbers, those that device code sees, in the order of the fields."""
        made, at = copy(self.config), 0
        for name, what in self.plugin.fields.items():
            if what.on_device:
                setattr(made, name, what.value(numbers[at : at + what.width]))
                at += what.width
        return made

    def init(self, model) -> None:
        """Make the instance's data."""
        if hasattr(self.config, "init"):
            self.data = self.guarded("init", self.config.init, model, self)

    def destroy(self) -> None:
        """Give the instance's data back."""
        if hasattr(self.config, "destroy"):
            self.config.destroy(self.data)
        self.data = None

    def run(self, name: str, m: Model, d: Data, capability: str = "") -> None:
        """Call a host function of the plugin."""
        self.capability = capability
        result = self.guarded(name, getattr(self.config, name), m, d, self)
        if result is not None:
            raise PluginError(f"plugin {self.plugin.name}: {name} returned {type(result).__name__}, expected None")

    def guarded(self, name: str, function, *args) -> Any:
        """Call something of the plugin's; what it raises is raised as a PluginError that names it."""
        try:
            return function(*args)
        except PluginError:
            raise
        except Exception as error:
            raise PluginError(
                f"plugin {self.plugin.name}, instance {self.id}: {name} failed: {type(error).__name__}: {error}"
            ) from error
