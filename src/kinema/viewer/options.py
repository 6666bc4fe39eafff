"""What is shown and how: the choices a user makes in the page."""

from __future__ import annotations

from dataclasses import dataclass, field

from kinema.viewer.scene import SHOWN_GROUPS


@dataclass
class Options:
    """Choices of what is drawn.

    Attributes:
        groups: Visible groups of geoms, sites, tendons, skins and flexes.
        contacts, forces, joints, inertia, skins, shadows: Whether these are drawn.
        frames: "none", "body", "geom" or "site".
        labels: "none", or what is called by its name: "body", "joint", "geom", "site", ...
        grid: Draw all worlds beside each other rather than the picked one.
        spacing: Distance between worlds of the grid [m]; None: from the model's extent.
        world: The picked world.
    """

    groups: dict[str, set[int]] = field(
        default_factory=lambda: {kind: set(SHOWN_GROUPS) for kind in ("geom", "site", "tendon", "skin", "flex")}
    )
    contacts: bool = False
    forces: bool = False
    joints: bool = False
    inertia: bool = False
    skins: bool = True
    shadows: bool = True
    frames: str = "none"
    labels: str = "none"
    grid: bool = True
    spacing: float | None = None
    world: int = 0
