"""The shortcuts of <actuator>: what each sets in a general actuator.

    motor         force = u
    position      force = kp (u - ℓ) - kv v, optionally through a filter      intvelocity  the same, u integrated
    velocity      force = kv (u - v)                                          damper       force = -kv u v
    cylinder      filtered pressure times area, plus an affine bias           adhesion     force = gain u
    muscle        force-length-velocity curves                                orientation  kp log(q⁻¹ q_u) - kv ω
    pid           kp (u_pos - ℓ) + kv (u_vel - v) + ki ∫ + u_ff               dcmotor      see dcmotor.py

Each function gets the record with its parameters reset, the element, and the default its parameters come from, if any.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kinema.compile.actuator_record import Record, parameters, read_input
from kinema.compile.dcmotor import dcmotor
from kinema.compile.element import TRUE, Element
from kinema.mujoco_enums import Bias, ControlInput, Dynamics, Gain

MUSCLE = (0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2)
MUSCLE_NAMES = ("force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax")
"""Built-in muscle parameters: range (2), then the named ones."""


def _motor(r: Record, e: Element, base: Record | None) -> None:
    pass


def _servo(r: Record, e: Element, base: Record | None, *, range_name: str) -> None:
    """kp, kv or dampratio, and inheritrange, shared by position, intvelocity and orientation servos."""
    kp = e.number("kp", 1.0 if base is None else float(base.gainprm[0]))
    r.gainprm, r.biasprm = parameters(kp), parameters(0.0, -kp, _damping(e, base))
    inherit_range(r, e, range_name)


def _damping(e: Element, base: Record | None) -> float:
    """biasprm[2]: minus a damping coefficient, or plus a damping ratio."""
    if e.count("kv") and e.count("dampratio"):
        raise e.error("kv and dampratio cannot both be defined")
    for name, sign in (("kv", -1.0), ("dampratio", 1.0)):
        if e.count(name):
            value = e.number(name)
            if value < 0:
                raise e.error(f"{name} cannot be negative", name)
            return sign * value
    return 0.0 if base is None else float(base.biasprm[2])


def inherit_range(r: Record, e: Element, name: str, alias: str | None = None) -> None:
    """inheritrange against an explicit range: written on one element they conflict, else the later one wins."""
    written = e.given(name) or (alias is not None and e.given(alias))
    r.inheritrange = e.number("inheritrange", r.inheritrange)
    if written and not e.given("inheritrange"):
        r.inheritrange = 0.0
    elif e.given("inheritrange") and not written and r.inheritrange > 0:
        setattr(r, name, np.zeros(2))
    if r.inheritrange > 0 and getattr(r, name).any():
        raise e.error(f"{alias or name} and inheritrange cannot both be defined")


def _position(r: Record, e: Element, base: Record | None) -> None:
    _servo(r, e, base, range_name="ctrlrange")
    filtered = base is not None and base.dyntype == Dynamics.FILTEREXACT
    timeconst = e.number("timeconst", float(base.dynprm[0]) if base is not None and filtered else 0.0)
    if timeconst < 0:
        raise e.error("timeconst cannot be negative", "timeconst")
    if e.count("timeconst") or filtered:
        r.dynprm = parameters(timeconst)
        r.dyntype = Dynamics.FILTEREXACT if timeconst else Dynamics.NONE
    r.biastype, r.ctrlspec = Bias.AFFINE, ControlInput.POS


def _intvelocity(r: Record, e: Element, base: Record | None) -> None:
    _servo(r, e, base, range_name="actrange")
    if base is not None and base.dyntype == Dynamics.FILTEREXACT:
        r.dynprm = parameters(float(base.dynprm[0]))  # unused, but MuJoCo keeps it
    r.dyntype, r.biastype, r.ctrlspec = Dynamics.INTEGRATOR, Bias.AFFINE, ControlInput.VEL


def _orientation(r: Record, e: Element, base: Record | None) -> None:
    kp = e.number("kp", 1.0 if base is None else float(base.gainprm[0]))
    r.gainprm, r.biasprm = parameters(kp), parameters(0.0, -kp, _damping(e, base))
    r.gaintype, r.biastype = Gain.SO3, Bias.SO3
    r.ctrlspec = 0 if base is None else base.ctrlspec
    read_input(r, e)


def _velocity(r: Record, e: Element, base: Record | None) -> None:
    kv = e.number("kv", 1.0 if base is None else float(base.gainprm[0]))
    r.gainprm, r.biasprm = parameters(kv), parameters(0.0, 0.0, -kv)
    r.biastype, r.ctrlspec = Bias.AFFINE, ControlInput.VEL


def _pid(r: Record, e: Element, base: Record | None) -> None:
    kp = e.number("kp", 1.0 if base is None else -float(base.biasprm[1]))
    r.biasprm = parameters(0.0, -kp, _damping(e, base))
    ki, imax, slewmax = (0.0, 0.0, 0.0) if base is None else (base.gainprm[0], *base.dynprm[:2])
    ki, imax, slewmax = e.number("ki", float(ki)), e.number("imax", float(imax)), e.number("slewmax", float(slewmax))
    if slewmax < 0:
        raise e.error("slewmax cannot be negative", "slewmax")
    r.gainprm, r.dynprm = parameters(ki), parameters(imax if ki else 0.0, slewmax)
    r.dyntype = Dynamics.PID if ki or slewmax else Dynamics.NONE
    r.gaintype, r.biastype = Gain.PID, Bias.AFFINE
    r.ctrlspec = 0 if base is None else base.ctrlspec
    read_input(r, e)
    r.ctrlrange = e.vector("posrange", r.ctrlrange, length=2)
    inherit_range(r, e, "ctrlrange", "posrange")


def _damper(r: Record, e: Element, base: Record | None) -> None:
    kv = e.number("kv", 0.0 if base is None else -float(base.gainprm[2]))
    if kv < 0:
        raise e.error("damping coefficient cannot be negative", "kv")
    if (r.ctrlrange < 0).any():
        raise e.error("control range of a damper cannot be negative", "ctrlrange")
    r.gaintype, r.gainprm = Gain.AFFINE, parameters(0.0, 0.0, -kv)
    r.ctrllimited = TRUE


def _cylinder(r: Record, e: Element, base: Record | None) -> None:
    base = base or Record()
    area = e.number("area", float(base.gainprm[0]))
    diameter = e.number("diameter", -1.0)
    if diameter >= 0:
        area = np.pi / 4 * diameter * diameter
    r.gainprm = parameters(area)
    r.dyntype, r.dynprm = Dynamics.FILTER, parameters(e.number("timeconst", float(base.dynprm[0])))
    r.biastype, r.biasprm = Bias.AFFINE, parameters(*e.vector("bias", base.biasprm[:3], length=3))
    r.ctrlspec = ControlInput.PRESSURE


def _muscle(r: Record, e: Element, base: Record | None) -> None:
    prm = np.array([*MUSCLE, 0.0]) if base is None else base.gainprm.copy()
    dyn = np.array([0.01, 0.04, *[0.0] * 8]) if base is None else base.dynprm.copy()
    given = np.concatenate((
        e.vector("range", (-1.0, -1.0), length=2), [e.number(name, -1.0) for name in MUSCLE_NAMES]
    ))  # fmt: skip
    prm[:9] = np.where(given >= 0, given, prm[:9])
    timeconst = e.vector("timeconst", (-1.0, -1.0), length=2)
    dyn[:2] = np.where(timeconst >= 0, timeconst, dyn[:2])
    dyn[2] = e.number("tausmooth", float(dyn[2]))
    if dyn[2] < 0:
        raise e.error("muscle tausmooth cannot be negative", "tausmooth")
    r.gaintype, r.gainprm = Gain.MUSCLE, prm
    r.biastype, r.biasprm = Bias.MUSCLE, np.concatenate((prm[:9], [0.0]))
    r.dyntype, r.dynprm = Dynamics.MUSCLE, dyn


def _adhesion(r: Record, e: Element, base: Record | None) -> None:
    gain = e.number("gain", 1.0 if base is None else float(base.gainprm[0]))
    if gain < 0:
        raise e.error("adhesion gain cannot be negative", "gain")
    if (r.ctrlrange < 0).any():
        raise e.error("control range of an adhesion cannot be negative", "ctrlrange")
    r.gainprm = parameters(gain)
    r.ctrllimited = TRUE


SHORTCUTS: dict[str, Callable[[Record, Element, Record | None], None]] = {
    "motor": _motor, "position": _position, "velocity": _velocity, "intvelocity": _intvelocity, "damper": _damper,
    "cylinder": _cylinder, "muscle": _muscle, "adhesion": _adhesion, "pid": _pid, "orientation": _orientation,
    "dcmotor": dcmotor,
}  # fmt: skip
GAIN_TYPES = {
    **dict.fromkeys(SHORTCUTS, Gain.FIXED), "damper": Gain.AFFINE, "muscle": Gain.MUSCLE, "pid": Gain.PID,
    "orientation": Gain.SO3, "dcmotor": Gain.DCMOTOR,
}  # fmt: skip
"""Gain type a <general> default must have for a shortcut to read its parameters from it."""
