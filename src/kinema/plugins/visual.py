"""What plugins show: colours of geoms, and marks beside them; asked for when a picture is made, never while stepping.

A plugin that has something to show defines, on the host,

    visualize(self, model, read, instance, shown)

`model` has mjModel's arrays as compiled, `read(name)` gives a field of mjData, or a parameter that may differ per
world, of the world that is shown, and `shown` takes what is to be seen. A viewer calls
`shown_by_plugins(engine, world)` when it draws, as MuJoCo calls `visualize` in mjv_updateScene.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kinema.convex.engine import Engine
from kinema.errors import PluginError

SHAPES = ("sphere", "capsule", "ellipsoid", "cylinder", "box", "arrow")


@dataclass(frozen=True)
class Mark:
    """A shape to draw, in the global frame, with sizes as geoms have them."""

    shape: str
    pos: np.ndarray
    mat: np.ndarray
    size: np.ndarray
    rgba: np.ndarray


@dataclass
class Shown:
    """What plugins want to be seen in one world: colours by geom, and marks."""

    geom_rgba: dict[int, np.ndarray] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)

    def color(self, geom: int, rgba: Sequence[float]) -> None:
        """Give a geom another colour."""
        self.geom_rgba[int(geom)] = _numbers(rgba, (4,))

    def mark(
        self, shape: str, pos: Sequence[float], size: Sequence[float], rgba: Sequence[float] = (1, 0, 0, 1), mat=None
    ) -> None:
        """Draw a shape; `mat` is its orientation, (3, 3)."""
        if shape not in SHAPES:
            raise ValueError(f"no shape {shape!r}; there are {', '.join(SHAPES)}")
        turned = np.eye(3) if mat is None else _numbers(np.reshape(mat, (3, 3)), (3, 3))
        self.marks.append(Mark(shape, _numbers(pos, (3,)), turned, _numbers(size, (3,)), _numbers(rgba, (4,))))


def shown_by_plugins(engine: Engine, world: int = 0) -> Shown:
    """Ask all plugins of a model what they show of a world."""
    shown = Shown()
    for instance in engine.extension.instances:
        visualize = getattr(instance.config, "visualize", None)
        if visualize is None:
            continue
        result = instance.guarded(
            "visualize", visualize, engine.source, lambda name: engine.read(name)[world], instance, shown
        )
        if result is not None:
            raise PluginError(f"plugin {instance.plugin.name}: visualize returned {type(result).__name__}, not None")
    return shown


def ramp(value: float) -> np.ndarray:
    """Colour of a value from 0 to 1: blue, cyan, green, yellow, red."""
    v = float(np.clip(value, 0.0, 1.0)) * 4.0
    return np.array([np.clip(v - 2.0, 0.0, 1.0), np.clip(min(v, 4.0 - v), 0.0, 1.0), np.clip(2.0 - v, 0.0, 1.0), 1.0])


def _numbers(values, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.shape != shape or not np.all(np.isfinite(array)):
        raise ValueError(f"expected {' x '.join(map(str, shape))} numbers, not {values!r}")
    return array
