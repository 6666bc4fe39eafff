"""Numbers of the model as they are now: which were changed since it was compiled, and putting them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from kinema.convex.engine import Engine
from kinema.convex.layout import ALIASES
from kinema.errors import BuildError


def changed_parameters(engine: Engine) -> dict[str, np.ndarray]:
    """Parameters that differ from the compiled model's, by name; those in `engine.layout.expanded` per world."""
    found = {}
    for name in sorted(engine.layout.parameters - set(ALIASES)):
        if name in engine.layout.expanded:
            found[name] = np.array(engine.read(name))
            continue
        now = engine.array(name).stored.numpy()
        built = np.asarray(engine.layout.host(name)).astype(now.dtype)
        if not np.array_equal(now.ravel(), built.ravel(), equal_nan=True):
            found[name] = np.array(now.reshape(built.shape))
    return found


def put_parameters(engine: Engine, values: Mapping[str, np.ndarray], expanded: Iterable[str]) -> None:
    """Give parameters these values, per world where they are named in `expanded`; all others become the model's."""
    expanded = set(expanded)
    for name in sorted((engine.layout.parameters | set(values)) - set(ALIASES)):
        if name in values and name not in engine.layout.parameters:
            raise BuildError(f"{name} was changed, but is no parameter of this simulation")
        if name in expanded:
            engine.expand(name)
        value = values.get(name, engine.layout.host(name))
        if np.size(value) and not _has(engine, name, value):
            engine.set_parameter(name, value)
    if engine.extension.fields is not None:
        from kinema.plugins.parameters import reshape  # the plugin layer is imported on use

        reshape(engine)


def _has(engine: Engine, name: str, value: np.ndarray) -> bool:
    """Whether a parameter that all worlds share has a value already: writing some of them costs more than a copy."""
    if name in engine.layout.expanded:
        return False
    now = engine.array(name).stored.numpy().ravel()
    return now.size == np.size(value) and np.array_equal(now, np.ravel(np.asarray(value).astype(now.dtype)))
