"""Where the controls of a run come from: nowhere, chance, or a file.

A source cuts a run into pieces of constant control: `pieces(steps)` yields (controls or None for "as they are", steps).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kinema.errors import BuildError, ResourceError

RANDOM_PIECE = 10
"""Steps for which random controls are held."""

Piece = tuple[np.ndarray | None, int]


def control_pieces(
    kind: str, model, worlds: int, steps: int, *, seed: int, longest: Callable[[], int]
) -> Iterator[Piece]:  # fmt: skip
    """The pieces of a run; a file is read now, so that a wrong one is found before anything is run.

    Args:
        kind: "zero", "random" or the path of a .npy file.
        model: The model, under mjModel's names.
        worlds: Number of worlds.
        steps: Number of steps.
        seed: Of chance.
        longest: Steps a piece of constant control may have at most, asked anew at every piece.
    """
    if kind == "random":
        return _random(model, worlds, steps, seed)
    if kind == "zero":
        return _constant(steps, longest)
    return _rows(read_controls(kind, model.nu, worlds), steps)


def _constant(steps: int, longest: Callable[[], int]) -> Iterator[Piece]:
    done = 0
    while done < steps:
        piece = min(longest(), steps - done)
        yield None, piece
        done += piece


def _random(model, worlds: int, steps: int, seed: int) -> Iterator[Piece]:
    low, high = control_range(model)
    rng = np.random.default_rng(seed)
    for first in range(0, steps, RANDOM_PIECE):
        yield rng.uniform(low, high, (worlds, model.nu)), min(RANDOM_PIECE, steps - first)


def _rows(table: np.ndarray, steps: int) -> Iterator[Piece]:
    for step in range(min(steps, len(table))):
        yield table[step], 1
    if steps > len(table):
        yield None, steps - len(table)


def control_range(model) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value of every control: its range, or -1 to 1 where it has none."""
    low, high = np.full(model.nu, -1.0), np.full(model.nu, 1.0)
    for i in range(model.nactuator):
        if model.actuator_ctrllimited[i]:
            first = model.actuator_ctrladr[i]
            at = slice(first, first + model.actuator_ctrlnum[i])
            low[at], high[at] = np.reshape(model.actuator_ctrlrange[i], (-1, 2))[0]
    return low, high


def read_controls(path: str, nu: int, worlds: int) -> np.ndarray:
    """Controls from a .npy file, as (steps, worlds or 1, nu).

    Args:
        path: The file: (nu,) held throughout, (steps, nu) for all worlds alike, or (steps, worlds, nu).
        nu: Number of controls of the model.
        worlds: Number of worlds.
    """
    try:
        values = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ResourceError(f"{path}: not a .npy file of numbers: {error}") from None
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
        raise ResourceError(f"{path}: one array of numbers is expected, as np.save writes it")
    shaped = {1: lambda: values[None, None], 2: lambda: values[:, None]}.get(values.ndim, lambda: values)()
    if shaped.ndim != 3 or shaped.shape[2] != nu or shaped.shape[1] not in (1, worlds) or not len(shaped):
        raise BuildError(
            f"{path}: controls of shape {values.shape} do not fit the model: expected ({nu},), (steps, {nu}) "
            f"or (steps, {worlds}, {nu})"
        )
    if not np.isfinite(shaped).all():
        raise BuildError(f"{path}: the controls are not all finite numbers")
    return shaped
