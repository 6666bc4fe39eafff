"""Numbers of the model as they are now: which were changed since it was compiled, and putting them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from kinema.engine import Engine
from kinema.errors import BuildError


def changed_parameters(engine: Engine) -> dict[str, np.ndarray]:
    """Parameters that differ from the compiled model's, by name; those in `engine.expanded` per world."""
    found = {}
    for name in sorted(engine.parameters):
        if name in engine.expanded:
            found[name] = np.array(engine.read(name))
        elif not _has(engine, name, engine.built(name)):
            found[name] = np.array(engine.read(name)[0])
    return found


def put_parameters(engine: Engine, values: Mapping[str, np.ndarray], expanded: Iterable[str]) -> None:
    """Give parameters these values, per world where they are named in `expanded`; all others become the model's."""
    expanded = set(expanded)
    for name in sorted({*engine.parameters, *values}):
        if name in values and name not in engine.parameters:
            raise BuildError(f"{name} was changed, but is no parameter of this simulation")
        if name in expanded:
            engine.expand(name)
        value = values.get(name, engine.built(name))
        if np.size(value) and not _has(engine, name, value):
            engine.set_parameter(name, value)
    if engine.plugins:
        from kinema.plugins.parameters import reshape  # the plugin layer is imported on use

        reshape(engine)


def _has(engine: Engine, name: str, value: np.ndarray) -> bool:
    """Whether a parameter that all worlds share has a value already: writing some of them costs more than a copy."""
    if name in engine.expanded:
        return False
    now = engine.read(name)[:1].ravel()
    given = np.ravel(np.asarray(value).astype(now.dtype))
    return now.size == given.size and np.array_equal(now, given, equal_nan=True)
