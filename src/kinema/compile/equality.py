"""<equality>: connect and weld (between bodies or sites), joint and tendon couplings, edges and strain of flexes.

    connect  data = anchor in body 1, anchor in body 2 (completed from qpos0), …, slot 10 = 1
    weld     data = anchor in body 2, relative position and orientation (completed from qpos0 unless given),
             slot 10 torquescale, slot 11 = 1 where the relative pose is to be completed
    joint    data = polynomial coefficients of y - y0 = Σ c_k (x - x0)^k
    strain   data = the cell of the flex: three lattice coordinates, or the number of a face of its shell, -1, -1
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.compile.flex_checks import check_strained
from kinema.compile.tendon import SOLIMP, SOLREF
from kinema.mujoco_enums import Equality, Joint, Obj

DATA = np.array([0.0, 1.0, *[0.0] * 8, 1.0, 0.0])
"""What eq_data holds before anything is read: a joint coupling of slope one, a torque scale of one."""

Row = tuple[int, int, int, int, np.ndarray]
"""type, object type, first object, second object, data"""


def compile_equality(c: Compilation) -> None:
    """Fill the eq arrays; anchors and relative poses that depend on qpos0 are completed with the constants."""
    equalities = c.elements["equality"]
    rows = [_READERS[e.tag](c, e) for e in equalities]
    a = c.arrays
    for k, name in enumerate(("eq_type", "eq_objtype", "eq_obj1id", "eq_obj2id")):
        a[name] = np.array([row[k] for row in rows], dtype=np.int32)
    a["eq_data"] = np.array([row[4] for row in rows], dtype=np.float64).reshape(-1, 12)
    a["eq_active0"] = np.array([e.flag("active", True) for e in equalities], dtype=np.uint8)
    a["eq_solref"] = np.array([e.vector("solref", SOLREF, at_most=2) for e in equalities]).reshape(-1, 2)
    a["eq_solimp"] = np.array([e.vector("solimp", SOLIMP, at_most=5) for e in equalities]).reshape(-1, 5)
    rows_of: dict[int, int] = {Equality.CONNECT: 3, Equality.WELD: 7}
    c.sizes["nemax"] = sum(rows_of.get(row[0], 1) for row in rows)


def _connect(c: Compilation, e: Element) -> Row:
    data = DATA.copy()
    by_bodies = e.given("body1") and e.given("anchor")
    _one_semantics(e, ("body1", "body2", "anchor"), "connect needs body1 and anchor, or site1 and site2", by_bodies)
    if by_bodies:
        data[:3] = e.vector("anchor", length=3)
        return (Equality.CONNECT, Obj.BODY, *_pair(c, e, "body", second=0), data)
    return (Equality.CONNECT, Obj.SITE, *_pair(c, e, "site"), np.zeros(12))


def _weld(c: Compilation, e: Element) -> Row:
    data = DATA.copy()
    data[:3] = 0.0
    by_bodies = e.given("body1")
    _one_semantics(e, ("body1", "body2", "anchor", "relpose"), "weld needs body1, or site1 and site2", by_bodies)
    data[10] = e.number("torquescale", 1.0)
    if not by_bodies:
        data[1] = DATA[1]
        return (Equality.WELD, Obj.SITE, *_pair(c, e, "site"), data)
    data[:3] = e.vector("anchor", (0.0, 0.0, 0.0), length=3)
    pose = e.vector("relpose", (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0), length=7)
    if e.given("relpose"):
        data[3:10] = pose
    data[11] = 0.0 if data[6:10].any() else 1.0
    return (Equality.WELD, Obj.BODY, *_pair(c, e, "body", second=0), data)


def _joint(c: Compilation, e: Element) -> Row:
    one, two = _pair(c, e, "joint")
    for joint in (one, two):
        if joint >= 0 and c.arrays["jnt_type"][joint] not in (Joint.SLIDE, Joint.HINGE):
            raise e.error("only hinge and slide joints can be coupled")
    return (Equality.JOINT, Obj.UNKNOWN, one, two, _polynomial(e))


def _tendon(c: Compilation, e: Element) -> Row:
    return (Equality.TENDON, Obj.UNKNOWN, *_pair(c, e, "tendon"), _polynomial(e))


def _flex(c: Compilation, e: Element) -> Row:
    return (Equality.FLEX, Obj.UNKNOWN, _soft_flex(c, e), -1, DATA.copy())


def _strain(c: Compilation, e: Element) -> Row:
    flex, data = _soft_flex(c, e), DATA.copy()
    data[:3] = e.vector("cell", DATA[:3], length=3)
    check_strained(c, e, flex, data[:3])
    return (Equality.FLEXSTRAIN, Obj.UNKNOWN, flex, -1, data)


def _soft_flex(c: Compilation, e: Element) -> int:
    flex = c.reference(e, "flex", "flex", required=True)
    if c.arrays["flex_rigid"][flex]:
        raise e.error(f"flex {e.reference('flex', 'flex')!r} is rigid: nothing of it can be constrained")
    return flex


def _polynomial(e: Element) -> np.ndarray:
    data = DATA.copy()
    data[:5] = e.vector("polycoef", DATA[:5], at_most=5)
    return data


def _pair(c: Compilation, e: Element, kind: str, *, second: int = -1) -> tuple[int, int]:
    one = c.reference(e, f"{kind}1", kind, required=True)
    two = c.reference(e, f"{kind}2", kind, required=kind == "site")
    two = second if two < 0 else two
    if one == two:
        raise e.error(f"the same {kind} twice in one equality")
    return one, two


def _one_semantics(e: Element, body_attributes: tuple[str, ...], message: str, by_bodies: bool) -> None:
    """Bodies or sites, never a mixture."""
    sites = [name for name in ("site1", "site2") if e.given(name)]
    if sites and any(e.given(name) for name in body_attributes):
        raise e.error(f"body and site attributes cannot be mixed; {message}")
    if not by_bodies and len(sites) < 2:
        raise e.error(message)


_READERS: dict[str, Callable[[Compilation, Element], Row]] = {
    "connect": _connect, "weld": _weld, "joint": _joint, "tendon": _tendon, "flex": _flex,
    "flexstrain": _strain,
}  # fmt: skip
