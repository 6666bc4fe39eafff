"""Frames: coordinate transformations that are composed into what they hold, and disappear."""

from __future__ import annotations

from dataclasses import dataclass, field

from kinema.compile import pose
from kinema.compile.defaults import DefaultClass
from kinema.compile.element import Element
from kinema.compile.orientation import read_orientation


@dataclass(slots=True, eq=False)
class Frame:
    """One frame of a body: its pose in the frame around it, its default class, and its name if any."""

    pos: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    quat: list[float] = field(default_factory=lambda: list(pose.IDENTITY))
    parent: Frame | None = None
    default: DefaultClass | None = None
    element: Element | None = None

    @property
    def name(self) -> str:
        return self.element.name if self.element is not None else ""

    def in_body(self) -> tuple[list[float], list[float]]:
        """The frame's pose in its body: all frames around it composed."""
        pos, quat = self.pos, self.quat
        outer = self.parent
        while outer is not None:
            pos, quat = pose.compose(outer.pos, outer.quat, pos, quat)
            outer = outer.parent
        return pos, pose.normalize(quat)[0]

    def inside(self, outer: Frame) -> bool:
        """Whether this is `outer` or a frame within it."""
        here: Frame | None = self
        while here is not None:
            if here is outer:
                return True
            here = here.parent
        return False


def read_frame(e: Element, parent: Frame | None, default: DefaultClass) -> Frame:
    """The frame an element <frame> describes."""
    for attribute in ("scale", "massscale"):
        if e.given(attribute):
            raise e.error(f"frame: {attribute!r} is not there: scale the contents of the frame themselves", attribute)
    pos = e.vector("pos", (0, 0, 0), length=3).tolist()
    return Frame(pos, read_orientation(e), parent, default, e)


def apply_frame(frame: Frame | None, pos: pose.Vector, quat: pose.Vector) -> tuple[list[float], list[float]]:
    """A pose written inside a frame, in the body's coordinates."""
    if frame is None:
        return list(pos), list(quat)
    return pose.compose(*frame.in_body(), pos, quat)
