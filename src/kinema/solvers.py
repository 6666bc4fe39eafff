"""Solvers of a `Model`, under one door: `step(state_in, state_out, control, contacts, dt)`."""

from kinema.bridge.solver import SolverMuJoCo
from kinema.convex.solver import SolverConvex

__all__ = ["SolverConvex", "SolverMuJoCo"]
