"""The page for people who come from Newton says of every public name of its what stands for it, or why nothing."""

from pathlib import Path

import pytest

newton = pytest.importorskip("newton")
PAGE = (Path(__file__).parents[2] / "docs" / "from-newton.md").read_text(encoding="utf-8")
ROWS = [line.split("|")[1:3] for line in PAGE.splitlines() if line.startswith("| `")]


def _methods(owner: type) -> list[str]:
    """Public methods and nested classes; not the columns that were removed, which raise."""
    found = []
    for name in dir(owner):
        try:
            if not name.startswith("_") and callable(getattr(owner, name)):
                found.append(name)
        except AttributeError:
            continue
    return found


NAMES = [
    *(f"newton.{name}" for name in newton.__all__ if name not in ("solvers", "sensors", "__version__")),
    *(f"newton.solvers.{name}" for name in dir(newton.solvers) if name.startswith("Solver")),
    *(f"newton.sensors.{name}" for name in dir(newton.sensors) if name.startswith("Sensor")),
    *(f"ModelBuilder.{name}" for name in _methods(newton.ModelBuilder)),
    *(f"Model.{name}" for name in _methods(newton.Model)),
]


def test_every_name_is_in_a_table():
    told = {name for first, second in ROWS if second.strip() for name in first.replace(",", " ").split()}
    missing = [name for name in NAMES if f"`{name}`" not in told]
    assert len(NAMES) > 150 and not missing, f"docs/from-newton.md says nothing of {', '.join(missing)}"
