"""Orientation as written: quat, axisangle, xyaxes, zaxis or euler, to a unit quaternion.

One element may use one form; the strongest layer that uses any decides.
"""

from __future__ import annotations

import math

from kinema.compile import pose
from kinema.compile.element import Element

ALTERNATIVES = {"axisangle": 4, "xyaxes": 6, "zaxis": 3, "euler": 3}


def read_orientation(e: Element, *, unit: bool = True) -> list[float]:
    """The element's orientation, normalized; or a quaternion as it was written."""
    quat = e.vector("quat", pose.IDENTITY, length=4)
    if not quat.any():
        raise e.error("zero quaternion is not allowed", "quat")
    form = "quat"
    for layer in e.layers:
        here = [name for name in ("quat", *ALTERNATIVES) if layer.get(name, "").strip()]
        if len(here) > 1:
            raise e.error(f"multiple orientation specifiers are not allowed ({', '.join(here)})")
        form = here[0] if here else form
    if form == "quat":
        return pose.normalize(quat.tolist())[0] if unit else quat.tolist()
    return from_alternative(e, form, e.vector(form, length=ALTERNATIVES[form]).tolist())


def from_alternative(e: Element, form: str, values: list[float]) -> list[float]:
    if form == "axisangle":
        axis, norm = pose.normalize(values[:3])
        if norm < pose.EPS:
            raise e.error("axisangle has a zero axis", form)
        angle = values[3] / 180.0 * math.pi if e.settings.degree else values[3]
        return pose.axis_angle(axis, angle)
    if form == "xyaxes":
        return _from_xyaxes(e, values[:3], values[3:])
    if form == "zaxis":
        z, norm = pose.normalize(values)
        if norm < pose.EPS:
            raise e.error("zaxis is zero", form)
        return pose.z_to(z)
    return euler_of(e, values)


def _from_xyaxes(e: Element, x: list[float], y: list[float]) -> list[float]:
    x, norm = pose.normalize(x)
    if norm < pose.EPS:
        raise e.error("xyaxes has a zero x axis", "xyaxes")
    along = pose.dot(x, y)
    y, norm = pose.normalize([b - along * a for a, b in zip(x, y, strict=True)])
    if norm < pose.EPS:
        raise e.error("xyaxes has a y axis that is zero or parallel to x", "xyaxes")
    z, norm = pose.normalize(pose.cross(x, y))
    if norm < pose.EPS:
        raise e.error("xyaxes has axes that are too small", "xyaxes")
    return pose.from_axes(x, y, z)


def euler_of(e: Element, angles: list[float]) -> list[float]:
    """Euler angles in the order and unit of the element's document."""
    sequence = e.settings.eulerseq
    if any(letter not in "xyzXYZ" for letter in sequence):
        raise e.error(f"the compiler's eulerseq may only contain x, y, z, X, Y, Z, not {sequence!r}")
    return from_euler(angles, sequence, e.settings.degree)


def from_euler(angles: list[float], sequence: str, degree: bool) -> list[float]:
    """Rotations about the axes of `sequence`: lower case turns with the frame, upper case stays fixed."""
    quat = list(pose.IDENTITY)
    for letter, angle in zip(sequence, angles, strict=True):
        if degree:
            angle = angle / 180.0 * math.pi
        axis = [0.0, 0.0, 0.0]
        axis["xyz".index(letter.lower())] = 1.0
        turn = pose.axis_angle(axis, angle)
        quat = pose.multiply(quat, turn) if letter.islower() else pose.multiply(turn, quat)
    return pose.normalize(quat)[0]
