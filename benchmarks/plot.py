"""Pictures of what benchmarks measured, written into out/ (matplotlib: the extra `plot`).

plot_lines(Figure("throughput", panels=[Panel("humanoid", "worlds", "steps a second", {"kinema": [(1, 3e4), ...]})]))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kinema.errors import need

OUT = Path(__file__).parents[1] / "out"
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """One diagram.

    Attributes:
        title, x, y: What it shows; axes are logarithmic.
        lines: Points (x, y) by name.
        flat: Draw the y axis linearly, with a line at 1: for ratios.
    """

    title: str
    x: str
    y: str
    lines: Mapping[str, Points]
    flat: bool = False


@dataclass(frozen=True)
class Figure:
    """Diagrams side by side, and the name of the file."""

    name: str
    panels: Sequence[Panel] = field(default_factory=tuple)


@dataclass(frozen=True)
class Bars:
    """A bar for every name.

    Attributes:
        title: What it shows.
        values: By name.
        line: Where to draw a line across, for ratios.
    """

    title: str
    values: Mapping[str, float]
    line: float | None = None


def plot_bars(panels: Sequence[Bars], name: str, folder: Path = OUT) -> Path:
    """Write bars side by side as a PNG and give its path."""
    matplotlib = need("matplotlib", "plot", "Plots")
    matplotlib.use("Agg")
    pyplot = need("matplotlib.pyplot", "plot", "Plots")
    fig, axes = pyplot.subplots(1, len(panels), figsize=(5 * len(panels), 4), squeeze=False, layout="constrained")
    for ax, panel in zip(axes[0], panels, strict=True):
        bars = ax.barh(list(panel.values)[::-1], list(panel.values.values())[::-1])
        ax.bar_label(bars, fmt="{:,.3g}", padding=3)
        ax.set(title=panel.title)
        ax.margins(x=0.15)
        if panel.line is not None:
            ax.axvline(panel.line, color="0.6", linewidth=1)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    fig.savefig(path, dpi=120)
    pyplot.close(fig)
    return path


def plot_lines(figure: Figure, folder: Path = OUT) -> Path:
    """Write a PNG and give its path."""
    matplotlib = need("matplotlib", "plot", "Plots")
    matplotlib.use("Agg")
    pyplot = need("matplotlib.pyplot", "plot", "Plots")
    fig, axes = pyplot.subplots(
        1, len(figure.panels), figsize=(5 * len(figure.panels), 4), squeeze=False, layout="constrained"
    )
    for ax, panel in zip(axes[0], figure.panels, strict=True):
        for name, points in panel.lines.items():
            ax.plot(*zip(*points, strict=True), marker="o", label=name)
        ax.set(title=panel.title, xlabel=panel.x, ylabel=panel.y, xscale="log")
        if panel.flat:
            ax.axhline(1, color="0.6", linewidth=1)
            ax.set_ylim(bottom=0)
        else:
            ax.set_yscale("log")
        ax.grid(True, which="both", alpha=0.3)
        ax.legend()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{figure.name}.png"
    fig.savefig(path, dpi=120)
    pyplot.close(fig)
    return path
