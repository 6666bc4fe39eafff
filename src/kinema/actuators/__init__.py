"""Actuators outside of a solver, as Newton has them: `Actuator` is a drive, with a delay and clamps."""

import warnings
from typing import Any

from ..dialect import mend
from .actuator import Actuator
from .clamping import ClampingBase, ClampingDCMotor, ClampingMaxEffort, ClampingPositionBased
from .delay import Delay
from .drives import DriveBase, DrivePD, DrivePID
from .neural import DriveNeuralGRU, DriveNeuralLSTM, DriveNeuralMLP
from .prims import ActuatorParsed, ComponentKind, SchemaNames, parse_actuator_prim, register_actuator_component
from .response import JointSpaceResponse

mend()

__all__ = [
    "Actuator", "ActuatorParsed", "ClampingBase", "ClampingDCMotor", "ClampingMaxEffort", "ClampingPositionBased",
    "ComponentKind", "Delay", "DriveBase", "DriveNeuralGRU", "DriveNeuralLSTM", "DriveNeuralMLP", "DrivePD", "DrivePID",
    "JointSpaceResponse", "SchemaNames", "parse_actuator_prim", "register_actuator_component",
]  # fmt: skip

_OLD = {"Clamping": ClampingBase, "Controller": DriveBase, "ControllerPD": DrivePD, "ControllerPID": DrivePID}


def __getattr__(name: str) -> Any:
    if name in _OLD:
        warnings.warn(f"kinema.actuators.{name} is called {_OLD[name].__name__} now", DeprecationWarning, stacklevel=2)
        return _OLD[name]
    raise AttributeError(f"module 'kinema.actuators' has no attribute {name!r}")
