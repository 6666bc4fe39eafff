"""Who may touch a flex: geoms, other flexes, and the flex itself; and the parameters of such contacts.

A pair is (geom, -1, flex), (-1, flex, flex) or (-1, flex, the same). Flexes have parameters of contacts as geoms have,
and they are mixed alike. Contacts of a flex with itself have no margin.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from kinema.collide.parameters import mix_parameters, override_parameters
from kinema.convex.flex.rods import has_box_section
from kinema.convex.flex.tables import has_flexes, search_of
from kinema.mujoco_enums import Disable, FlexSelf, Geom

MAX_CONTACTS = 50  # MuJoCo's mjMAXCONPAIR
BOX_ROD = 0  # stands for the dim of rods with a box section
MIXED = ("priority", "condim", "solmix", "solref", "solimp", "friction", "margin", "gap")


def _meets(type1: Any, affinity1: Any, type2: Any, affinity2: Any) -> Any:
    """May two things touch, by their bits?"""
    return (type1 & affinity2) | (type2 & affinity1)


def touches_itself(m: Any, f: int) -> bool:
    """May elements of a flex touch each other?"""
    if m.flex_rigid[f] or int(m.flex_selfcollide[f]) == FlexSelf.NONE:
        return False
    return bool(int(m.flex_contype[f]) & int(m.flex_conaffinity[f]))


def flex_pairs(m: Any) -> np.ndarray:
    """The pairs, (n, 3), in the order of bodies, flexes and geoms."""
    found: list[tuple[int, int, int, int]] = []
    if has_flexes(m) and not int(m.opt.disableflags) & (Disable.CONSTRAINT | Disable.CONTACT):
        for f in range(m.nflex):
            bits = int(m.flex_contype[f]), int(m.flex_conaffinity[f])
            moves = _may_move(m, f)
            for g in range(m.ngeom):
                if not moves and not _has_dofs(m, int(m.geom_bodyid[g])):
                    continue
                if _meets(int(m.geom_contype[g]), int(m.geom_conaffinity[g]), *bits) and _can_press(m, g, f):
                    found.append((int(m.geom_bodyid[g]), g, -1, f))
            for other in range(f + 1, m.nflex):
                if not moves and not _may_move(m, other):
                    continue
                if _meets(*bits, int(m.flex_contype[other]), int(m.flex_conaffinity[other])):
                    found.append((m.nbody + f, -1, f, other))
            if touches_itself(m, f):
                found.append((m.nbody + m.nflex, -1, f, f))
    found.sort(key=lambda pair: (pair[0], pair[3], pair[1]))
    return np.array([pair[1:] for pair in found], dtype=int).reshape(-1, 3)


def _has_dofs(m: Any, body: int) -> bool:
    """Does a joint move a body, or what it is welded to?"""
    return int(m.body_dofnum[int(m.body_weldid[body])]) > 0


def _may_move(m: Any, f: int) -> bool:
    """Is a flex soft, or rigid on a body that moves? Of two things that do not move neither minds a contact."""
    if not m.flex_rigid[f]:
        return True
    lattice = int(m.flex_nodenum[f]) > 0
    bearers = m.flex_nodebodyid if lattice else m.flex_vertbodyid
    return _has_dofs(m, int(bearers[int((m.flex_nodeadr if lattice else m.flex_vertadr)[f])]))


def _can_press(m: Any, g: int, f: int) -> bool:
    """What MuJoCo lets alone: planes of bodies that move; of signed distance fields all but sheets."""
    kind = int(m.geom_type[g])
    if kind == Geom.SDF:
        return int(m.flex_dim[f]) == 2
    return kind != Geom.PLANE or not _has_dofs(m, int(m.geom_bodyid[g]))


def _everything(m: Any) -> SimpleNamespace:
    """Geoms and flexes in one list, under the names of geoms."""
    both = {f"geom_{name}": np.concatenate([getattr(m, f"geom_{name}"), getattr(m, f"flex_{name}")]) for name in MIXED}
    adhesion = np.concatenate([np.asarray(m.geom_adhesion), np.zeros(m.nflex)])
    return SimpleNamespace(**both, geom_adhesion=adhesion, ngeom=m.ngeom + m.nflex)


def pair_lists(m: Any) -> tuple[np.ndarray, np.ndarray]:
    """For each pair geom, flex, flex, condim, contacts kept, bits; and numbers.

    Bits: 1 a sweep says which element comes first, 2 passive. Numbers: margin, gap, friction, solref, solimp, adhesion,
    solreffriction.
    Where a flex has few dofs, being rigid or interpolated, and nothing softer meets it, MAX_CONTACTS are kept; 0: all.
    Negative: with a signed distance field, so many of the first.
    """
    pairs = flex_pairs(m)
    if not len(pairs):
        return np.zeros((0, 6), int), np.zeros((0, 17))
    first = np.where(pairs[:, 0] >= 0, pairs[:, 0], m.ngeom + pairs[:, 1])
    p = override_parameters(m, mix_parameters(_everything(m), first, m.ngeom + pairs[:, 2]))
    same = pairs[:, 1] == pairs[:, 2]
    margin, gap = np.where(same, 0.0, p.margin), np.where(same, 0.0, p.gap)
    numbers = np.column_stack([margin, gap, p.friction, p.solref, p.solimp, p.adhesion, p.solreffriction])
    stiff = np.asarray(m.flex_rigid).astype(bool) | (np.asarray(m.flex_interp) != 0)
    few = stiff[pairs[:, 2]] & ((pairs[:, 0] >= 0) | stiff[pairs[:, 1]])
    field = [g >= 0 and int(m.geom_type[g]) == Geom.SDF for g in pairs[:, 0].tolist()]
    most = np.where(field, -MAX_CONTACTS, MAX_CONTACTS * few)
    swept = [int(f == other and search_of(m, f) == FlexSelf.SAP) for _, f, other in pairs.tolist()]
    bits = np.array(swept) + 2 * np.array([is_passive(m, *pair) for pair in pairs.tolist()])
    return np.column_stack([pairs, p.condim, most, bits]), numbers


def spans(m: Any) -> np.ndarray:
    """Of each flex the first vertex, the number of them, the first element, the number of them; and its lattice.

    It says the order of the basis (of shells negative, 0: none), cells along three axes, the first node as a point, and
    how many nodes slide along three axes.
    """
    owner = np.repeat(np.arange(m.nflex), np.asarray(m.flex_nodenum))
    slides = np.asarray(m.body_dofnum)[np.maximum(np.asarray(m.flex_nodebodyid), 0)] == 3
    free = np.bincount(owner[slides], minlength=m.nflex)
    lattice = [m.flex_interp, *np.asarray(m.flex_cellnum).reshape(-1, 3).T, m.nflexvert + np.asarray(m.flex_nodeadr)]
    lattice.append(free)
    return np.column_stack([m.flex_vertadr, m.flex_vertnum, m.flex_elemadr, m.flex_elemnum, *lattice])


def kinds(m: Any) -> frozenset[tuple[int, int]]:
    """What has to be told apart: (type of geom, dim of flex), or (-1, dim of flex) for flexes among themselves.

    A rod with a box section has the dim BOX_ROD as well: to most geoms it is as if it were round.
    """
    boxes = [has_box_section(m, f) for f in range(getattr(m, "nflex", 0))]
    found = set()
    for g, f, other in flex_pairs(m):
        kind = int(m.geom_type[g]) if g >= 0 else -1
        for k in (f, other):
            if k >= 0:
                found |= {(kind, int(m.flex_dim[k]))} | ({(kind, BOX_ROD)} if boxes[k] else set())
    return frozenset(found)


def most_contacts(m: Any) -> int:
    """A first guess of the contacts of flexes in a world: one a vertex of each flex that a geom may touch, and some."""
    pairs = flex_pairs(m)
    touched = {int(f) for g, _, f in pairs if g >= 0}
    return int(sum(int(m.flex_vertnum[f]) for f in touched) + 32 * len(pairs))


def meets_fields(m: Any) -> bool:
    """Does a flex meet a signed distance field?"""
    return has_flexes(m) and any(kind == Geom.SDF for kind, _ in kinds(m))


def is_passive(m: Any, g: int, f: int, other: int) -> bool:
    """Is contact of a pair a spring in place of a constraint? Not with what can move."""
    wants = any(_wants_springs(m, k) for k in (f, other) if k >= 0)
    return wants and (g < 0 or int(m.body_weldid[int(m.geom_bodyid[g])]) == 0)


def _wants_springs(m: Any, f: int) -> bool:
    return bool(m.flex_passive[f]) and int(m.flex_dim[f]) > 1 and not m.flex_rigid[f]


def has_passive_contacts(m: Any) -> bool:
    """Is any?"""
    return has_flexes(m) and any(is_passive(m, *pair) for pair in flex_pairs(m).tolist())


def mixed_lists(m: Any) -> dict[str, np.ndarray]:
    """The lists that follow numbers of geoms which are written while worlds run."""
    if not has_flexes(m):
        return {}
    pairs, numbers = pair_lists(m)
    return {"flex_pair": pairs, "flex_pairnumber": numbers}
