"""The door most users enter by: load a model, run many worlds of it, read and write everything by name."""

from kinema.collector import paused

with paused():
    from kinema.simulation.simulation import Simulation
    from kinema.simulation.source import load
    from kinema.simulation.state import STATE

__all__ = ["STATE", "Simulation", "load"]
