"""The same Model run by the mujoco and mujoco-warp packages, for comparison and for what they alone can do."""

from kinema.bridge.mjmodel import to_mjmodel
from kinema.bridge.solver import SolverMuJoCo

__all__ = ["SolverMuJoCo", "to_mjmodel"]
