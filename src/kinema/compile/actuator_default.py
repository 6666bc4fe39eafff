"""Actuators and their default classes.

Every shortcut is a general actuator with some fields set. A class keeps one record, and its elements are read into it
in order; an actuator starts as a copy of the record of its class. Two kinds of fields differ in how they travel:

    mechanical (ctrlrange, gear, …)      from any default
    gain, bias and dynamics parameters   <general> takes them from any default. A shortcut resets them to its own
        table and takes its parameters (kp, kv, area, …) from the nearest class, outwards, whose default was written
        with the same shortcut, or with <general> of the shortcut's gain type
"""

from __future__ import annotations

import numpy as np

from kinema.compile.actuator_record import Record, read_general, read_mechanical
from kinema.compile.actuator_shortcut import GAIN_TYPES, SHORTCUTS
from kinema.compile.defaults import DefaultClass
from kinema.compile.element import Element, Scope
from kinema.errors import did_you_mean


def class_record(default: DefaultClass | None, scope: Scope, cache: dict[int, Record]) -> Record:
    """The actuator default of a class, with everything it inherits."""
    if default is None:
        return Record()
    known = cache.get(id(default))
    if known is None:
        inherited = () if default.parent is None else default.parent.actuators
        shared = 0
        while shared < min(len(inherited), len(default.actuators)) and inherited[shared] is default.actuators[shared]:
            shared += 1
        known = class_record(default.parent, scope, cache).copy()
        for node in default.actuators[shared:]:
            e = Element(node, "actuator", scope, (node.attributes,))
            read_into(known, e, [known.copy(), *ancestors(default.parent, scope, cache)])
        cache[id(default)] = known
    return known


def ancestors(default: DefaultClass | None, scope: Scope, cache: dict[int, Record]) -> list[Record]:
    """Records of a class and of the classes around it, innermost first."""
    records = []
    while default is not None:
        records.append(class_record(default, scope, cache))
        default = default.parent
    return records


def read_record(e: Element, cache: dict[int, Record]) -> Record:
    """The record of one actuator of the document."""
    own = Element(e.node, "actuator", e.scope, (e.node.attributes,))
    around = ancestors(e.default, e.scope, cache)
    record = around[0].copy() if around else Record()
    record.lengthrange = np.zeros(2)
    read_into(record, own, around)
    return record


def read_into(r: Record, e: Element, around: list[Record]) -> None:
    """Read an element over a record. `around` holds the defaults a shortcut may take its parameters from."""
    if e.tag not in SHORTCUTS and e.tag not in ("general", "plugin"):
        raise e.error(f"unknown actuator {e.tag!r}{did_you_mean(e.tag, [*SHORTCUTS, 'general', 'plugin'])}")
    read_mechanical(r, e)
    if e.tag in SHORTCUTS:
        gaintype = GAIN_TYPES[e.tag]
        like = (b for b in around if b.tag == e.tag or (b.tag == "general" and b.gaintype == gaintype))
        base = next(like, None)
        r.reset_parameters()
        r.inheritrange = 0.0 if base is None else base.inheritrange
        SHORTCUTS[e.tag](r, e, base)
    else:
        read_general(r, e)
    r.tag = "general" if e.tag == "plugin" else e.tag
