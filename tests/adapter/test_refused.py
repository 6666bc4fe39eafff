"""A solver refuses by name what it cannot simulate."""

import pytest

from kinema import ModelBuilder
from kinema.bridge.solver import SolverMuJoCo
from kinema.errors import BuildError
from kinema.solvers import SolverConvex


def with_body() -> ModelBuilder:
    builder = ModelBuilder()
    builder.add_shape_sphere(builder.add_body(), radius=0.1)
    return builder


def cloth(builder: ModelBuilder) -> None:
    builder.add_cloth_grid(
        pos=(0.0, 0.0, 1.0), rot=(0.0, 0.0, 0.0, 1.0), vel=(0.0, 0.0, 0.0), dim_x=2, dim_y=2, cell_x=0.1, cell_y=0.1,
        mass=0.1,
    )  # fmt: skip


def spring(builder: ModelBuilder) -> None:
    for k in range(2):
        builder.add_particle((0.1 * k, 0.0, 1.0), (0.0, 0.0, 0.0), 0.1)
    builder.add_spring(0, 1, 10.0, 0.1, 0)


@pytest.mark.parametrize(("add", "words"), [(cloth, "9 particles, .*8 triangles"), (spring, "2 particles, 1 springs")])
def test_soft_bodies(add, words):
    builder = with_body()
    add(builder)
    with pytest.raises(BuildError, match=f"{words}.*does not simulate"):
        SolverMuJoCo(builder.finalize(device="cpu"), backend="warp")


@pytest.mark.parametrize("solver", [SolverConvex, SolverMuJoCo])
def test_gradients(solver):
    with pytest.raises(BuildError, match="requires_grad=True"):
        solver(with_body().finalize(device="cpu", requires_grad=True))
