"""Solvers of a `Model`, under one door: `step(state_in, state_out, control, contacts, dt)`."""

from kinema.adapter.solver import SolverConvex
from kinema.bridge.solver import SolverMuJoCo

__all__ = ["SolverConvex", "SolverMuJoCo"]
