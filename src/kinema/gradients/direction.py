"""What a derivative is taken along, and of: numbers of arrays, by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Direction:
    """A direction that inputs may move in.

    Attributes:
        array: The input.
        element: Which of its elements, counted without that of worlds; of a quaternion the first.
        turn: 0: the number itself; 1 to 3: the quaternion turns about that axis of its own frame.
        component: Which number of an element that is a vector.
        weight: How far the number itself moves.
    """

    array: str
    element: int
    turn: int = 0
    component: int = 0
    weight: float = 1.0


Moves = Direction | tuple[Direction, ...]
"""A direction: one input, or several that move together."""


def inputs_of(direction: Moves) -> tuple[Direction, ...]:
    """What moves along a direction."""
    return (direction,) if isinstance(direction, Direction) else direction
