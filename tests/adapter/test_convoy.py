"""Engines that step together give what they give one after the other; worlds that wait are run afterwards."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from kinema import SolverConvex
from kinema.adapter.convoy import KEPT, Convoy
from kinema.model import ModelFlags
from tests.conformance.staged import StagedEngine

from .test_kin import models, walker


class HostRecorder:
    """Remembers work instead of recording it, and does it on the host when it is launched."""

    def __init__(self):
        self.device = SimpleNamespace(is_capturing=False)
        self.recorded, self.waits = 0, 0

    def record(self, works):
        self.recorded += 1
        return lambda: [work() for work in works]

    def beside(self, works):
        for work in works:
            work()

    def mark(self):
        pass

    def wait(self):
        self.waits += 1


class Piecewise(StagedEngine):
    """Steps by its pieces, as CUDA's graphs do."""

    def works(self, stages):
        return []

    def launch(self, stages):
        self._launch_worlds(stages, stages, 1, True)


@pytest.fixture(params=[2, 1])
def solvers(request, monkeypatch):
    """Two kinds of worlds, or one: stepped together, and one after the other."""
    monkeypatch.setattr("kinema.adapter.solver.Engine", Piecewise)
    kinds = [walker(0.2), walker(0.3, legs=3)][: request.param]
    model = models(*kinds, counts=[2, 1][: request.param])
    together, apart = SolverConvex(model), SolverConvex(model)
    together._convoy = Convoy(together.batches, HostRecorder())
    return model, together, apart


def test_gives_what_engines_give_one_by_one(solvers):
    model, together, apart = solvers
    recorder = together._convoy.recorder
    (one, other), (two, twin) = ([model.state() for _ in range(2)] for _ in range(2))
    for _ in range(5):
        together.step(one, other)
        together.step(other, one)
        apart.step(two, twin)
        apart.step(twin, two)
    assert recorder.recorded == 2, "there and back"
    for name in ("joint_q", "joint_qd", "body_q"):
        np.testing.assert_array_equal(getattr(one, name).numpy(), getattr(two, name).numpy())
    assert np.abs(one.joint_qd.numpy()).max() > 0.1


def test_records_anew_when_a_change_has_made_new_tables(solvers):
    model, together, apart = solvers
    recorder = together._convoy.recorder
    state, twin = model.state(), model.state()
    for _ in range(3):
        together.step(state, state)
        apart.step(twin, twin)
    assert recorder.recorded == 1
    mass = model.body_mass.numpy()
    mass[0] *= 3.0
    model.body_mass.assign(mass)
    for solver in (together, apart):
        solver.notify_model_changed(ModelFlags.BODY_INERTIAL_PROPERTIES)
    for _ in range(3):
        together.step(state, state)
        apart.step(twin, twin)
    assert recorder.recorded == 2
    np.testing.assert_array_equal(state.joint_q.numpy(), twin.joint_q.numpy())


def test_keeps_few_graphs(solvers):
    model, together, _ = solvers
    for state in [model.state() for _ in range(KEPT + 4)]:
        together.step(state, state)
    assert together._convoy.recorder.recorded == 0 and len(together._convoy._steps) == KEPT


class Told:
    """An engine that is watched, and notes what is done to it."""

    def __init__(self, seen):
        self.log: list[str] = []
        self.version = 0
        self.guard = SimpleNamespace(seen=seen, settle=lambda bits: self.log.append(f"settle {bits}"))
        self.requests = SimpleNamespace(run_done=lambda: self.log.append("done"))
        write, read = lambda *_: self.log.append("write"), lambda *_: self.log.append("read")
        self.boundary = SimpleNamespace(key=lambda *_: 0, read=read, write=write)
        self.engine = self

    def step(self, *_):
        self.log.append("step")

    def pieces(self):
        return [("first",), lambda: self.log.append("look")], [("second",), None]

    def works(self, stages):
        return []

    def launch(self, stages):
        self.log.append(stages[0])


def test_worlds_that_wait_are_run_afterwards():
    quiet, crowded = Told(0), Told(4)
    convoy = Convoy([quiet, crowded], HostRecorder())
    for _ in range(2):
        convoy.step(None, None, None)
    common = ["step", "read", "first", "look", "second", "write"]
    assert quiet.log == [*common, "done"]
    assert crowded.log == [*common, "settle 4", "write", "done"]
    assert convoy.recorder.recorded == 2 and convoy.recorder.waits == 1


def test_within_a_graph_of_somebody_elses_launches_are_taken_up():
    engine = Told(0)
    convoy = Convoy([engine], HostRecorder())
    convoy.recorder.device.is_capturing = True
    convoy.step(None, None, None)
    assert engine.log == ["step"] and convoy.recorder.recorded == 0
