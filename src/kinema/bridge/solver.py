"""SolverMuJoCo: the same Model run by MuJoCo, or by MuJoCo Warp, behind the same door.

    solver = SolverMuJoCo(model)                       # one word away from SolverConvex(model)
    solver.step(state, state, control, None, dt)

What a model means is decided in one place for all solvers (`adapter/view.py`: documents as compiled, the rest lowered,
contact pairs given as custom attributes); here each class of worlds becomes an MjModel and MuJoCo runs it.
"""

from __future__ import annotations

from typing import Any

from kinema.adapter.kin import Kin, find_kin
from kinema.adapter.solver import FLAGS, SOFT, Batch, SolverConvex
from kinema.adapter.view import Source
from kinema.bridge.engine import BridgeEngine
from kinema.convex.flex.elastic import is_elastic
from kinema.errors import BuildError, did_you_mean
from kinema.model import Model, WorldClass
from kinema.mujoco_enums import Integrator

BACKENDS = ("c", "warp")
IMPLICIT = (int(Integrator.IMPLICIT), int(Integrator.IMPLICITFAST))


def bridge_engine(backend: str, source: Any, nworld: int, **options) -> BridgeEngine:
    """An engine of one of the backends: "c" (MuJoCo) or "warp" (MuJoCo Warp)."""
    if backend == "c":
        from kinema.bridge.mjc import MuJoCoEngine

        return MuJoCoEngine(source, nworld, **options)
    if backend == "warp":
        from kinema.bridge.mjwarp import MuJoCoWarpEngine

        return MuJoCoWarpEngine(source, nworld, **options)
    hint = did_you_mean(str(backend), BACKENDS)
    raise BuildError(f"backend={backend!r}{hint}: known are {', '.join(BACKENDS)}")


class SolverMuJoCo(SolverConvex):
    """Runs a model with the mujoco package (extra `mujoco`).

    Args:
        model: The model.
        backend: "c": MuJoCo itself, worlds spread over threads; "warp": MuJoCo Warp on the model's device.
        integrator, solver, cone, iterations, tolerance, impratio: As for SolverConvex; None: what the document says.
        threads: CPU threads to spread worlds over; None: one a core.
    """

    COMPUTED = ("mujoco:qfrc_actuator",)

    def __init__(
        self, model: Model, *, backend: str = "c", integrator: str | None = None, solver: str | None = None,
        cone: str | None = None, iterations: int | None = None, tolerance: float | None = None,
        impratio: float | None = None, threads: int | None = None, **more: Any,
    ):  # fmt: skip
        self.backend = backend
        self.LEFT_OUT = (*SOFT, *self.LEFT_OUT) if backend == "warp" else self.LEFT_OUT
        super().__init__(
            model, integrator=integrator, solver=solver, cone=cone, iterations=iterations, tolerance=tolerance,
            impratio=impratio, threads=threads, **more,
        )  # fmt: skip

    @property
    def mj_model(self) -> Any:
        """MuJoCo's model of the first class of worlds."""
        return self._first().models[0]

    @property
    def mj_data(self) -> Any:
        """MuJoCo's data of the first world."""
        return self._first().data[0]

    def _first(self) -> Any:
        if self.backend != "c":
            raise BuildError(f"backend={self.backend!r} has no MjModel and MjData of its own: use backend='c'")
        return self.batches[0].engine

    def _together(self) -> None:
        return None  # another program runs the worlds

    def _groups(self, classes: list[WorldClass], sources: list[Source]) -> list[list[int]]:
        return [[k] for k in range(len(sources))]  # MuJoCo has a model for each

    def _present_groups(self, classes: list[WorldClass], sources: list[Source]) -> list[list[int]]:
        return find_kin(classes, sources, lambda host: bridge_engine(self.backend, host, 1, device=self.device))

    def _batch(self, worlds: Kin, threads: int) -> Batch:
        return _BridgeBatch(self.model, worlds, {**self._options, FLAGS: self._flags}, threads, self.backend)


class _BridgeBatch(Batch):
    """One class of worlds, run by MuJoCo."""

    def __init__(self, model: Model, worlds: Kin, options: dict[str, Any], threads: int, backend: str):
        self.backend = backend
        super().__init__(model, worlds, options, threads)

    def _choose(self, hosts: list[Any]) -> None:
        """MuJoCo steps elastic flexes by Euler, RK4 and discrete alone: worlds built by hand are stepped by Euler."""
        super()._choose(hosts)
        for host in hosts:
            if int(host.opt.integrator) in IMPLICIT and is_elastic(host):
                if "integrator" in self.options or self.source.documents:
                    raise BuildError(
                        "MuJoCo does not step cloth and soft bodies with implicit or implicitfast: use "
                        "integrator='euler' or 'rk4', or SolverConvex"
                    )
                host.opt.integrator = int(Integrator.EULER)

    def _engine(self, host: Any) -> BridgeEngine:  # type: ignore[override]  # the same protocol
        return bridge_engine(self.backend, host, len(self.worlds), device=self.device, threads=self.threads)
