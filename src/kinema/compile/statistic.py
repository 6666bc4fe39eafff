"""<statistic>: the model's mean sizes as computed, overridden by what the document states."""

from __future__ import annotations

from kinema.compile.context import Compilation
from kinema.compile.element import read_element

NUMBERS = ("meaninertia", "meanmass", "meansize", "extent")
INITIAL = {"meaninertia": 1.0, "meanmass": 1.0, "meansize": 0.2, "extent": 2.0, "center": [0.0, 0.0, 0.0]}
"""What an empty model has."""


def override_statistic(c: Compilation) -> None:
    """Replace computed statistics by those the document states."""
    for node in c.root.find("statistic"):
        e = read_element(node)
        for name in NUMBERS:
            c.statistic[name] = e.number(name, c.statistic[name])
        c.statistic["center"] = e.vector("center", c.statistic["center"], length=3)
        if c.statistic["extent"] <= 0:
            raise e.error("extent must be strictly positive", "extent")
