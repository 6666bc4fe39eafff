"""Small scenes with cloth, soft bodies and ropes, and solvers for them that share their kernels."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import kinema.adapter.solver as adapter
from kinema import ModelBuilder
from kinema.functions.contacts import ContactTable, contact_table
from kinema.model import ShapeConfig
from tests.conformance.staged import StagedEngine

STILL = {"rot": (0.0, 0.0, 0.0, 1.0), "vel": (0.0, 0.0, 0.0)}
GRAVITY = 9.81
FLOAT = 1e-4
"""Forces of stiff elements are differences of lengths in float32."""


@pytest.fixture
def staged(monkeypatch):
    """Solvers run on kernels that all models share."""
    monkeypatch.setattr(adapter, "Engine", StagedEngine)


def cloth(builder: ModelBuilder, cells: int = 3, **more) -> None:
    """A square of cloth of 50 mm cells."""
    wanted = {
        "pos": (0.0, 0.0, 0.05), "dim_x": cells, "dim_y": cells, "cell_x": 0.05, "cell_y": 0.05, "mass": 0.02,
        "tri_ke": 300.0, "tri_ka": 200.0, "tri_kd": 0.3, "edge_ke": 0.02, "edge_kd": 0.0, "particle_radius": 0.01,
        **STILL,
    }  # fmt: skip
    builder.add_cloth_grid(**wanted | more)


def block(builder: ModelBuilder, cells: int = 1, **more) -> None:
    """A cube of soft material."""
    wanted = {
        "pos": (0.0, 0.0, 0.05), "dim_x": cells, "dim_y": cells, "dim_z": cells, "cell_x": 0.1, "cell_y": 0.1,
        "cell_z": 0.1, "density": 300.0, "k_mu": 5e3, "k_lambda": 8e3, "k_damp": 5.0, "particle_radius": 0.01, **STILL,
    }  # fmt: skip
    builder.add_soft_grid(**wanted | more)


def rope(builder: ModelBuilder, count: int = 4, **more) -> list[int]:
    """Particles along x, springs between them, the first one fixed."""
    wanted = {"ke": 100.0, "kd": 0.5, "height": 0.5, "mass": 0.05} | more
    ids = [
        builder.add_particle((0.1 * k, 0.5, wanted["height"]), (0, 0, 0), wanted["mass"] if k else 0.0, radius=0.02)
        for k in range(count)
    ]
    for one, two in zip(ids[:-1], ids[1:], strict=True):
        builder.add_spring(one, two, wanted["ke"], wanted["kd"], 0.0)
    return ids


def quiet() -> ShapeConfig:
    """Shapes without density, on bodies whose mass is given."""
    return ShapeConfig(density=0.0)


def elastic_force(solver, state) -> np.ndarray:
    """Forces of all springs on the particles of one world, (n, 3)."""
    return passive_force(solver, state, "qfrc_spring")


def passive_force(solver, state, name: str) -> np.ndarray:
    """One of the passive forces on the particles of one world, (n, 3); 0 of fixed ones."""
    solver.forward(state)
    batch = solver.batches[0]
    found, host = np.zeros((len(batch.source.particles), 3)), batch.source.host
    values = batch.engine.read(name)[0]
    for p, body in enumerate(batch.source.particles):
        if host.body_dofnum[body]:
            found[p] = values[host.body_dofadr[body] : host.body_dofadr[body] + 3]
    return found


def contacts(solver, state, control=None) -> ContactTable:
    """Contacts of the first class of worlds, in a state."""
    solver.forward(state, control)
    batch = solver.batches[0]
    return contact_table(batch.engine, batch.source.host.names("geom"))


def gradient(energy, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Central differences."""
    out = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        there, back = x.copy(), x.copy()
        there[index] += step
        back[index] -= step
        out[index] = (energy(there) - energy(back)) / (2 * step)
    return out


@cache
def jittered(count: int, size: float = 0.003) -> np.ndarray:
    """Displacements that look random and are the same every time."""
    return size * np.random.default_rng(count).standard_normal((count, 3))
