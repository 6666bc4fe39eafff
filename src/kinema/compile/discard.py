"""discardvisual: drop what is only for looking at, after its mass has counted.

Materials and textures go unless a sensor or tuple names them; geoms that cannot collide go unless something refers to
them or they move fluid; meshes go unless a remaining geom or a site uses them or something refers to them.
"""

from __future__ import annotations

from kinema.compile.attach import references
from kinema.compile.context import Compilation
from kinema.compile.element import TRUE


def discard_visual(c: Compilation) -> None:
    """Drop visual elements if the compiler settings say so; runs when bodies are compiled and arrays are not."""
    if not c.settings.discardvisual:
        return
    named: dict[str, set[str]] = {kind: set() for kind in ("geom", "mesh", "material", "texture")}
    for kind in ("pair", "tendon", "sensor", "tuple", "actuator"):
        for e in c.elements[kind]:
            for ref in references(e):
                named.setdefault(ref.kind, set()).add(ref.name)
    _discard_geoms(c, named["geom"])
    _discard_meshes(c, named["mesh"])
    for kind in ("material", "texture"):
        c.elements[kind] = [e for e in c.elements[kind] if e.name in named[kind]]
    c.renumber("geom", "mesh", "material", "texture")
    kept = set(c.ids("material"))
    assets = [e.record.asset for e in c.elements["geom"] if e.record.asset is not None]
    for e in [*(e for kind in ("geom", "site", "tendon", "skin", "mesh") for e in c.elements[kind]), *assets]:
        if e.reference("material", "material") not in kept:
            e.resolved["material"] = ""
    for e in c.elements["flex"]:
        if not all(e.scope.full_name("material", name) in kept for name in e.text("material", "").split()):
            e.resolved["material"] = ""
    textures = set(c.ids("texture"))
    for e in [*c.elements["material"], *c.elements["light"]]:
        if e.reference("texture", "texture") not in textures:
            e.resolved["texture"] = ""


def _discard_geoms(c: Compilation, named: set[str]) -> None:
    for body in c.bodies:
        gone = [e for e in body.held["geom"] if e.record.is_visual and e.name not in named and not e.record.fluid[0]]
        if not gone:
            continue
        counted = any(e.record.inertial.mass > 0 for e in gone)
        if counted and not body.is_world and body.element.settings.inertiafromgeom == TRUE:
            raise gone[0].error(
                "discardvisual would drop a geom that the body's inertia comes from; set inertiafromgeom to auto"
            )
        body.held["geom"] = [e for e in body.held["geom"] if e not in gone]
    c.elements["geom"] = [e for body in c.bodies for e in body.held["geom"]]


def _discard_meshes(c: Compilation, named: set[str]) -> None:
    used = {e.record.mesh for e in [*c.elements["geom"], *c.elements["site"]]} - {-1}
    kept = [i for i, e in enumerate(c.elements["mesh"]) if i in used or e.name in named]
    number = {old: new for new, old in enumerate(kept)}
    c.elements["mesh"] = [c.elements["mesh"][i] for i in kept]
    c.scratch["meshes"] = [c.scratch["meshes"][i] for i in kept]
    for e in [*c.elements["geom"], *c.elements["site"]]:
        if e.record.mesh >= 0:
            e.record.mesh = number[e.record.mesh]
