"""Solvers of a `Model`, under one door: `step(state_in, state_out, control, contacts, dt)`.

Newton's other solvers have their names here: `SolverConvex` does what most of them do; one that it cannot stand for is
refused where a program makes it, with what to use.
"""

from typing import Any

from kinema.adapter.newton_solvers import (
    SolverFeatherstone,
    SolverKamino,
    SolverSemiImplicit,
    SolverVBD,
    SolverXPBD,
)
from kinema.adapter.solver import SolverConvex
from kinema.bridge.solver import SolverMuJoCo
from kinema.errors import BuildError

__all__ = [
    "SolverConvex", "SolverFeatherstone", "SolverKamino", "SolverMuJoCo", "SolverSemiImplicit", "SolverVBD",
    "SolverXPBD",
]  # fmt: skip

INSTEAD = {
    "SolverStyle3D": "SolverConvex(model): cloth is simulated with the rest",
    "SolverImplicitMPM": "nothing: no solver here has granular or fluid materials",
    "SolverCoupled": "SolverConvex(model): one solver for rigid and soft bodies",
    "SolverCoupledProxy": "SolverConvex(model): one solver for rigid and soft bodies",
    "SolverCoupledADMM": "SolverConvex(model): one solver for rigid and soft bodies",
}  # fmt: skip
"""Newton's solvers that are not here, and what to use."""


class NotHere:
    """A solver of Newton's that is not here: its name may be written, making one is refused."""

    use = ""

    def __init__(self, *args: Any, **options: Any):
        raise BuildError(f"{type(self).__name__} is not here; use {self.use}")

    @classmethod
    def register_custom_attributes(cls, builder: Any) -> None:
        """Refused, as making one is."""
        raise BuildError(f"{cls.__name__} is not here; use {cls.use}")


def __getattr__(name: str) -> Any:
    if name == "SolverBase":  # what annotations of programs name
        return SolverConvex
    if name in INSTEAD:
        return type(name, (NotHere,), {"use": INSTEAD[name]})
    raise AttributeError(f"module 'kinema.solvers' has no attribute {name!r}")
