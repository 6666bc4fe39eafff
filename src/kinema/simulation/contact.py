"""Contacts as records with mjContact's names, world by world.

    sim.d.contact.dist          (worlds, n)       n: the contacts of the world that has most
    sim.d.contact[2]            the contacts of one world; the first sim.d.ncon[2] of them count

Beyond a world's own contacts numbers are 0, and geoms, bodies' rows and such ids -1.
"""

from __future__ import annotations

import numpy as np

from kinema.engine import Engine
from kinema.errors import UnknownKey

RECORD = (
    ("dist", ()), ("pos", (3,)), ("frame", (9,)), ("includemargin", ()), ("friction", (5,)), ("solref", (2,)),
    ("solreffriction", (2,)), ("solimp", (5,)), ("adhesion", ()), ("mu", ()), ("dim", ()), ("geom", (2,)),
    ("exclude", ()),
)  # fmt: skip
"""Fields that the engine keeps of a contact, and their shapes."""

INTEGERS = ("dim", "geom", "exclude")
FLEX = ("flex", "elem", "vert")
"""What of flexes meets in a contact; -1: nothing of that kind."""


def _has_flexes(engine: Engine) -> bool:
    """Do contacts name flexes?"""
    return bool(engine.source.nflex) and "contact_flex" in engine.names


def contact_records(engine: Engine) -> np.recarray:
    """All contacts as records, (nworld, longest)."""
    if "contact_dist" not in engine.names:
        raise UnknownKey("d.contact: contacts are not brought over from the program that runs these worlds")
    count = engine.read("ncon")
    shape = engine.in_use("contact_dist").shape
    types: list[tuple] = [(name, np.int32 if name in INTEGERS else np.float64, extent) for name, extent in RECORD]
    types += [(name, np.int32, (2,)) for name in FLEX]
    types += [("geom1", np.int32), ("geom2", np.int32), ("efc_address", np.int32)]
    records = np.zeros(shape, dtype=types).view(np.recarray)
    for name, extent in RECORD:
        records[name] = engine.in_use(f"contact_{name}").reshape(*shape, *extent)
    for name in FLEX:
        records[name] = engine.in_use(f"contact_{name}") if _has_flexes(engine) else -1
    records["efc_address"] = engine.in_use("contact_address")
    beyond = np.arange(shape[1]) >= count[:, None]
    for name in ("geom", "efc_address", *FLEX):
        records[name][beyond] = -1
    records["geom1"], records["geom2"] = records["geom"][..., 0], records["geom"][..., 1]
    records.flags.writeable = False  # contacts are computed
    return records
