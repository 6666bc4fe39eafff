"""fusestatic: bodies that cannot move dissolve into their parents, with their contents re-expressed there.

A body stays when something refers to it by name, when it has joints, a mocap handle, a plugin, a sleep policy or
``fuse="false"``, when a force or torque sensor sits on it, and when merging would change the dynamics: its gravity
compensation differs from its parent's, it has mass in a fluid, or an inertia that was adjusted. What the world holds
has no dynamics to change.
"""

from __future__ import annotations

from kinema.compile import pose
from kinema.compile.attach import references
from kinema.compile.body import move_record
from kinema.compile.context import Compilation
from kinema.compile.element import TRUE
from kinema.compile.inertia import Inertial, combine, principal_axes
from kinema.compile.tree import Body, number_tree
from kinema.mujoco_enums import MINVAL


def fuse_static(c: Compilation) -> None:
    """Fuse every body that allows it, if the compiler settings say so, and renumber the tree."""
    if not c.settings.fusestatic:
        return
    named, sensed = _referenced(c)
    world = c.bodies[0]
    for body in list(c.bodies[1:]):
        if _can_fuse(c, body, named, sensed):
            _fuse(body)
    lists = number_tree(world)
    c.bodies = lists["body"]
    c.elements["body"] = [body.element for body in c.bodies]
    for kind in ("joint", "geom", "site", "camera", "light"):
        c.elements[kind] = lists[kind]
    c.renumber("body", "joint", "geom", "site", "camera", "light")


def _referenced(c: Compilation) -> tuple[set[str], set[str]]:
    """Names of bodies something refers to, and of sites with force or torque sensors."""
    bodies: set[str] = set()
    sites: set[str] = set()
    for kind in ("flex", "exclude", "equality", "actuator", "sensor", "tuple"):
        for e in c.elements[kind]:
            bodies.update(ref.name for ref in references(e) if ref.kind == "body")
            if e.tag in ("force", "torque"):
                sites.add(e.reference("site", "site"))
    for kind in ("camera", "light"):
        bodies.update(e.reference("target", "body") for e in c.elements[kind])
    for e in c.elements["skin"]:
        bodies.update(bone.reference("body", "body") for bone in e.children("bone"))
    return bodies - {""}, sites - {""}


def _can_fuse(c: Compilation, body: Body, named: set[str], sensed: set[str]) -> bool:
    e, record, parent = body.element, body.record, body.parent
    if parent is None:
        return False
    if body.held["joint"] or record.mocap or body.plugin is not None or e.given("sleep"):
        return False
    if not e.keyword("fuse", {"false": False, "auto": True}, True) or (body.name and body.name in named):
        return False
    if any(site.name in sensed for site in body.held["site"]):
        return False
    if parent.is_world:
        return True
    fluid = c.option["density"] > 0 or c.option["viscosity"] > 0
    if fluid and any(geom.record.fluid[0] for geom in body.held["geom"]):
        return False
    if record.inertial.mass >= MINVAL:
        lifted = e.number("gravcomp", 0.0) != parent.element.number("gravcomp", 0.0)
        if fluid or lifted:
            return False
    adjusted = record.adjusted or parent.record.adjusted
    return not (e.settings.inertiafromgeom == TRUE and adjusted)


def _fuse(body: Body) -> None:
    parent, record = body.parent, body.record
    assert parent is not None, "the world is not fused with anything"
    if not parent.is_world and record.inertial.mass >= MINVAL:
        _add_inertia(parent.record.inertial, record)
    for child in body.children:
        child.parent = parent
        child.record.pos, child.record.quat = pose.compose(record.pos, record.quat, child.record.pos, child.record.quat)
    at = parent.children.index(body)
    parent.children[at : at + 1] = body.children
    for kind, elements in body.held.items():
        for e in elements:
            e.body = parent
            move_record(e.record, record.pos, record.quat)
        parent.held[kind].extend(elements)


def _add_inertia(into: Inertial, record) -> None:
    pos, quat = pose.compose(record.pos, record.quat, record.inertial.pos, record.inertial.quat)
    part = Inertial(record.inertial.mass, pos, quat, record.inertial.inertia)
    parts = [part] if into.mass < MINVAL else [into, part]
    into.mass, into.pos, full = combine(parts)
    into.inertia, into.quat = principal_axes(full)
