"""Memory: what an estimate says is what is allocated."""

import numpy as np
import pytest

from kinema.simulation import Simulation
from tests.simulation.models import ARM, LIMBS, REMEMBERING


@pytest.mark.parametrize("xml", [ARM, LIMBS, REMEMBERING], ids=["arm", "limbs", "remembering"])
@pytest.mark.parametrize("worlds", [1, 7, 100])
def test_estimates_are_what_is_allocated(xml, worlds):
    estimate = Simulation.estimate(xml, worlds, device="cpu")
    sim = Simulation(xml, worlds, device="cpu", threads=1)
    measured = sim.memory()
    assert estimate.groups == measured.groups
    assert estimate.total == measured.total == sum(measured.groups.values())
    state = 4 * (sim.m.nq + 2 * sim.m.nv)
    assert measured.groups["state"] > worlds * state
    assert measured.total >= sum({a.ptr: a.size * 4 for a in sim.engine.layout.arrays.values() if a.ptr
                                  and not hasattr(a, "stored")}.values())  # fmt: skip


@pytest.mark.parametrize("watched", [False, True], ids=["room for all", "may overflow"])
def test_steps_allocate_nothing_that_was_not_told(watched):
    sim = Simulation(REMEMBERING, 4, device="cpu", threads=1)
    sim.engine.guard.needed = watched  # as it is where lists may turn out too short
    before = sim.memory()
    sim.step(3)
    assert sim.memory().groups == before.groups


def test_a_gpu_is_told_on_paper(monkeypatch):
    """Without a device the sizes of its recipe are known: detection's slots and links are among them."""
    monkeypatch.setattr("warp.is_cuda_available", lambda: False)
    paper = Simulation.estimate(LIMBS, 1000, device="cuda:0")
    here = Simulation.estimate(LIMBS, 1000, device="cpu")
    assert paper.worlds == 1000 and paper.per_world["state"] == here.per_world["state"]
    assert paper.per_world["collision"] > here.per_world.get("collision", 0)
    assert 1000 * sum(paper.per_world.values()) <= paper.total


def test_expanding_costs_a_row_a_world():
    sim = Simulation(ARM, 50, device="cpu", threads=1)
    before = sim.memory()
    sim.expand("body_mass")
    after = sim.memory()
    nbody = sim.m.nbody
    assert after.total - before.total == (50 - 1) * nbody * 4
    assert after.per_world["model"] == nbody * 4


def test_the_table_can_be_read():
    text = str(Simulation.estimate(ARM, 2000, device="cpu"))
    lines = text.splitlines()
    assert "2000 worlds" in lines[0] and lines[-1].startswith("total") and lines[-1].endswith("MB")
    assert any(line.startswith("constraint rows") for line in lines)
    sizes = [float(line.split()[-2]) for line in lines[1:-1] if line.endswith("kB")]
    assert sizes == sorted(sizes, reverse=True) and np.isfinite(sizes).all()
