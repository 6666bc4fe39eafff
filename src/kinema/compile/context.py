"""A compilation under way: the expanded elements by kind, names to ids, and the arrays being filled.

How a section is written: a module with `compile_x(c: Compilation) -> None`. It reads `c.elements["x"]` (already
expanded: frames composed, replicates and attachments copied, in MuJoCo's order, so that position in the list is the id)
and sets `c.arrays["x_field"]` for every mjModel array of that section, float64/int32/uint8 in mjModel's shape, and the
sizes it decides in `c.sizes` (`nwrap`, `nu`, `na`, ...). Sizes that count elements (`njnt`, `ntendon`, ...) and all
names follow from `c.elements` by themselves. A section may reorder or drop entries of its own list (pairs are sorted)
as long as it does so before anyone looks up its ids.

Order of calls (`compile.pipeline.STAGES`): source and tree, assets, bodies and what they hold, then plugin, tendon,
actuator, equality, contact, sensor, custom, then sizes and sparsity, constants (dynamics at qpos0), keyframe,
statistics, names. Each section may read arrays of those before it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from kinema.compile.defaults import Defaults
from kinema.compile.deferred import DeferredArrays
from kinema.compile.element import Element
from kinema.compile.host_model import KINDS, UNNAMED, HostModel
from kinema.compile.settings import Settings
from kinema.errors import did_you_mean
from kinema.mjcf.source import Node


@dataclass(slots=True)
class Compilation:
    """The state of one compilation.

    Attributes:
        root: The source tree, includes expanded.
        settings: Compiler settings of the main document (an element's own are `element.settings`).
        defaults: Default classes of the main document.
        elements: Elements of each kind in compiled order.
        bodies: `tree.Body` records, world first, in compiled order; `elements["body"]` runs parallel.
        arrays: mjModel arrays by name.
        sizes: mjModel sizes by name.
        option, statistic, visual: mjOption, mjStatistic and mjVisual values by name (visual: by group, then name).
        warnings: What MuJoCo would warn about.
        scratch: What one section leaves for a later one and no mjModel field holds; keys are named by the writer.
    """

    root: Node
    settings: Settings
    defaults: Defaults
    elements: dict[str, list[Element]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    bodies: list[Any] = field(default_factory=list)
    arrays: DeferredArrays = field(default_factory=DeferredArrays)
    sizes: dict[str, int] = field(default_factory=dict)
    option: dict[str, Any] = field(default_factory=dict)
    statistic: dict[str, Any] = field(default_factory=dict)
    visual: dict[str, dict[str, Any]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    scratch: dict[str, Any] = field(default_factory=dict)
    _ids: dict[str, dict[str, int]] = field(default_factory=dict)

    # ---- names and references

    @property
    def title(self) -> str:
        """What the model is called."""
        return self.root.attributes.get("model", UNNAMED)

    def names(self, kind: str) -> list[str]:
        """Full names of a kind in id order, empty where unnamed."""
        return [element.name for element in self.elements[kind]]

    def ids(self, kind: str) -> dict[str, int]:
        """Name to id; raises at a duplicate. Built once: call `renumber` after changing a list."""
        table = self._ids.get(kind)
        if table is None:
            table = {}
            for index, element in enumerate(self.elements[kind]):
                name = element.name
                if not name:
                    continue
                if name in table:
                    raise element.error(f"repeated name {name!r} in {kind}")
                table[name] = index
            self._ids[kind] = table
        return table

    def renumber(self, *kinds: str) -> None:
        """Forget the ids of these kinds, because their lists changed."""
        for kind in kinds:
            self._ids.pop(kind, None)

    def find(self, kind: str, name: str, element: Element) -> int:
        """Id of a full name; raises at `element` with a suggestion when there is none."""
        table = self.ids(kind)
        if name not in table:
            known = f"; this model has {len(table)} named {kind} elements" if table else f"; this model names no {kind}"
            raise element.error(f"unknown {kind} {name!r}{did_you_mean(name, table) or known}")
        return table[name]

    def reference(self, element: Element, attribute: str, kind: str | None = None, *, required: bool = False) -> int:
        """Id of the object of `kind` (by default the attribute's own name) that the attribute names; -1 when unset."""
        kind = kind or attribute
        name = element.reference(attribute, kind)
        if not name:
            if required:
                raise element.error(f"{element.tag} needs {attribute!r}, the name of a {kind}")
            return -1
        return self.find(kind, name, element)

    # ---- sizes, user data, warnings

    def size(self, symbol: str) -> int:
        """A size by mjModel's name: one that was set, or the count of a kind."""
        if symbol in self.sizes:
            return self.sizes[symbol]
        for kind, counted in KINDS.items():
            if counted == symbol:
                return len(self.elements[kind])
        raise KeyError(symbol)

    def user_data(self, kind: str, symbol: str) -> np.ndarray:
        """The `user` rows of a kind, `size(symbol)` wide: as declared in <size>, or the longest given when -1.

        Sets the size; raises at an element with more values than declared.
        """
        elements = self.elements[kind]
        given = [element.vector("user", ()) for element in elements]
        width = self.sizes.get(symbol, -1)
        if width < 0:
            width = max((len(values) for values in given), default=0)
        rows = np.zeros((len(elements), width))
        for row, values, element in zip(rows, given, elements, strict=True):
            if len(values) > width:
                raise element.error(f"user has {len(values)} values, more than {symbol}={width}", "user")
            row[: len(values)] = values
        self.sizes[symbol] = width
        return rows

    def warn(self, message: str, element: Element | None = None) -> None:
        """Record a warning, with the element's place."""
        if element is not None:
            message = str(element.error(message))
        self.warnings.append(message)
        warnings.warn(message, stacklevel=2)

    def view(self) -> HostModel:
        """The arrays and sizes so far, readable as mjModel attributes; what is filled later shows up in it too."""
        counted = {symbol: len(self.elements[kind]) for kind, symbol in KINDS.items()}
        self.sizes.update({symbol: count for symbol, count in counted.items() if symbol not in self.sizes})
        option, statistic = SimpleNamespace(**self.option), SimpleNamespace(**self.statistic)
        return HostModel(self.arrays, self.sizes, option, statistic, SimpleNamespace())
