"""The door most users enter by: load a model, run many worlds of it, read and write everything by name."""

from kinema.simulation.simulation import STATE, Simulation
from kinema.simulation.source import load

__all__ = ["STATE", "Simulation", "load"]
