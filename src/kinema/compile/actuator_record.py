"""What an actuator element says: the fields of one general actuator, and how <general> and all shortcuts set them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kinema.compile.element import AUTO, FALSE_TRUE_AUTO, Element
from kinema.errors import did_you_mean
from kinema.mujoco_enums import Bias, ControlChart, ControlInput, Dynamics, Gain, Interpolation, words

INPUTS = words(ControlInput, "pos", "vel", "ff", "voltage")
INPUT_WORDS = {**words(ControlChart), **words(ControlInput, "none", "pressure")}

DYNAMICS = words(Dynamics)
GAINS = words(Gain)
BIASES = words(Bias)
INTERPOLATION = words(Interpolation)

LIMITS = ("ctrllimited", "forcelimited", "actlimited")
PARAMETERS = (
    "gaintype", "gainprm", "biastype", "biasprm", "dyntype", "dynprm", "actdim", "ctrlspec", "actearly",
    "inheritrange", "actlimited",
)  # fmt: skip
PAIRS = ("ctrlrange", "forcerange", "actrange", "velrange", "ffrange", "lengthrange")


def parameters(*head: float) -> np.ndarray:
    return np.array([*head, *[0.0] * (10 - len(head))])


@dataclass
class Record:
    """One general actuator, as written; angles and lengths as in MJCF."""

    tag: str = "general"
    gaintype: int = Gain.FIXED
    gainprm: np.ndarray = field(default_factory=lambda: parameters(1.0))
    biastype: int = Bias.NONE
    biasprm: np.ndarray = field(default_factory=lambda: parameters())
    dyntype: int = Dynamics.NONE
    dynprm: np.ndarray = field(default_factory=lambda: parameters(1.0))
    actdim: int = -1
    ctrlspec: int = 0
    actearly: bool = False
    inheritrange: float = 0.0
    ctrllimited: int = AUTO
    forcelimited: int = AUTO
    actlimited: int = AUTO
    ctrlrange: np.ndarray = field(default_factory=lambda: np.zeros(2))
    forcerange: np.ndarray = field(default_factory=lambda: np.zeros(2))
    actrange: np.ndarray = field(default_factory=lambda: np.zeros(2))
    velrange: np.ndarray = field(default_factory=lambda: np.zeros(2))
    ffrange: np.ndarray = field(default_factory=lambda: np.zeros(2))
    lengthrange: np.ndarray = field(default_factory=lambda: np.zeros(2))
    gear: np.ndarray = field(default_factory=lambda: np.array([1.0, 0, 0, 0, 0, 0]))
    damping: np.ndarray = field(default_factory=lambda: np.zeros(3))
    armature: float = 0.0
    cranklength: float = 0.0
    group: int = 0
    nsample: int = 0
    interp: int = 0
    delay: float = 0.0
    user: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def copy(self) -> Record:
        held = vars(self).items()
        arrays: dict[str, Any] = {name: value.copy() for name, value in held if isinstance(value, np.ndarray)}
        return replace(self, **arrays)

    def reset_parameters(self) -> None:
        """Gain, bias, dynamics and the activation layout back to the built-in values."""
        fresh = Record()
        for name in PARAMETERS:
            setattr(self, name, getattr(fresh, name))


def read_mechanical(r: Record, e: Element) -> None:
    for name in ("group", "nsample"):
        setattr(r, name, e.integer(name, getattr(r, name)))
    for name in ("delay", "armature", "cranklength"):
        setattr(r, name, e.number(name, getattr(r, name)))
    for name in PAIRS:
        setattr(r, name, e.vector(name, getattr(r, name), length=2))
    for name in LIMITS:
        setattr(r, name, e.keyword(name, FALSE_TRUE_AUTO, getattr(r, name)))
    r.interp = e.keyword("interp", INTERPOLATION, r.interp)
    r.gear = e.vector("gear", r.gear, at_most=6)
    r.damping = e.vector("damping", r.damping, at_most=3)
    r.user = e.vector("user", r.user)


def read_general(r: Record, e: Element) -> None:
    gaintype = r.gaintype
    r.dyntype = e.keyword("dyntype", DYNAMICS, r.dyntype)
    r.gaintype = e.keyword("gaintype", GAINS, r.gaintype)
    r.biastype = e.keyword("biastype", BIASES, r.biastype)
    for name in ("dynprm", "gainprm", "biasprm"):
        setattr(r, name, e.vector(name, getattr(r, name), at_most=10))
    r.actdim = e.integer("actdim", r.actdim)
    r.actearly = e.flag("actearly", r.actearly)
    r.inheritrange = e.number("inheritrange", r.inheritrange)
    if r.gaintype != gaintype:
        r.ctrlspec = 0  # what an input means depends on the gain
    read_input(r, e)


def read_input(r: Record, e: Element) -> None:
    """The input signature: one keyword, or tokens in the order pos, vel, ff, voltage."""
    text = e.text("input", None)
    if text is None:
        return
    if text in INPUT_WORDS:
        r.ctrlspec = INPUT_WORDS[text]
        return
    bits = []
    for word in text.split():
        if word not in INPUTS:
            raise e.error(f"unknown input {word!r}{did_you_mean(word, [*INPUTS, *INPUT_WORDS])}", "input")
        bits.append(INPUTS[word])
    if bits != sorted(set(bits)):
        raise e.error("inputs must be listed in the order pos, vel, ff, voltage, each once", "input")
    r.ctrlspec = sum(bits)
