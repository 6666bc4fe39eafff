"""Attach: copy a subtree of a model into another (or the same) one, with all that refers to it.

The copy's names get a prefix and a suffix. Elements outside the tree (pairs, tendons, actuators, sensors, ...) come
along when all they refer to exists under the new names; assets, numerics and texts of another document always come.
Where an element names two objects and only one of them was copied, the other is taken as it stands (MuJoCo's rule for
pairs, excludes and sensors, and step by step for the paths of tendons).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kinema.compile.conflict import settle_conflicts
from kinema.compile.element import Element
from kinema.compile.frames import Frame
from kinema.compile.tree import HELD, AttachedKey, Body, Spec
from kinema.errors import did_you_mean

ASSET_LISTS = ("mesh", "skin", "hfield", "texture", "material", "numeric", "text")
REFERRING_LISTS = ("flex", "pair", "exclude", "tendon", "equality", "actuator", "sensor", "tuple")
EITHER_OR = frozenset({"pair", "exclude", "sensor"})
"""Kinds of which one of two references may stay outside the copied subtree; the other is then to something inside."""

WORLD = "world"
"""The body whose name no attachment changes."""

Names = dict[str, set[str]]


@dataclass(frozen=True, slots=True)
class Reference:
    """What an element refers to: the attribute (empty inside children), the kind and the full name."""

    attribute: str
    kind: str
    name: str


# ---- what refers to what

_OBJECT_KINDS = {
    "xbody": "body", "body": "body", "geom": "geom", "site": "site", "camera": "camera", "joint": "joint",
    "tendon": "tendon", "actuator": "actuator", "mesh": "mesh", "material": "material", "texture": "texture",
    "light": "light", "hfield": "hfield", "skin": "skin", "sensor": "sensor", "equality": "equality", "pair": "pair",
    "exclude": "exclude", "numeric": "numeric", "text": "text", "tuple": "tuple", "key": "key", "plugin": "plugin",
    "flex": "flex",
}  # fmt: skip
_PLAIN = {
    "pair": {"geom1": "geom", "geom2": "geom"},
    "exclude": {"body1": "body", "body2": "body"},
    "equality": {
        "body1": "body", "body2": "body", "site1": "site", "site2": "site", "joint1": "joint", "joint2": "joint",
        "tendon1": "tendon", "tendon2": "tendon", "flex": "flex",
    },
    "actuator": {
        "joint": "joint", "jointinparent": "joint", "tendon": "tendon", "site": "site", "refsite": "site",
        "slidersite": "site", "cranksite": "site", "body": "body",
    },
    "sensor": {
        "joint": "joint", "tendon": "tendon", "actuator": "actuator", "site": "site", "body": "body",
        "camera": "camera", "geom": "geom", "mesh": "mesh", "geom1": "geom", "geom2": "geom",
        "body1": "body", "body2": "body",
        "subtree1": "body", "subtree2": "body",
    },
}  # fmt: skip
_BY_TYPE = {"sensor": (("objtype", "objname"), ("reftype", "refname"))}


def references(e: Element) -> Iterator[Reference]:
    """Everything an element outside the tree refers to."""
    for attribute, kind in _PLAIN.get(e.kind, {}).items():
        if e.text(attribute, ""):
            yield Reference(attribute, kind, e.reference(attribute, kind))
    for type_attribute, attribute in _BY_TYPE.get(e.kind, ()):
        kind = _OBJECT_KINDS.get(e.text(type_attribute, ""))
        if kind is not None and e.text(attribute, ""):
            yield Reference(attribute, kind, e.reference(attribute, kind))
    if e.kind == "tendon":
        for step in e.children("site", "geom", "joint"):
            yield Reference("", step.tag, step.reference(step.tag, step.tag))
            if step.text("sidesite", ""):
                yield Reference("", "site", step.reference("sidesite", "site"))
    elif e.kind == "flex":
        for name in dict.fromkeys(f"{e.text('body', '')} {e.text('node', '')}".split()):
            yield Reference("", "body", name if name == WORLD else e.scope.full_name("body", name))
    elif e.kind == "tuple":
        for entry in e.children("element"):
            kind = _OBJECT_KINDS.get(entry.text("objtype", ""), "")
            yield Reference("", kind, entry.reference("objname", kind))


def names_in(spec: Spec) -> Names:
    """Every name a reference could resolve to."""
    names: Names = {kind: set() for kind in (*HELD.values(), "body", *ASSET_LISTS, *REFERRING_LISTS, "key", "plugin")}
    for body in spec.world.walk():
        names["body"].add(body.name)
        for kind, elements in body.held.items():
            names[kind].update(element.name for element in elements)
    for kind, elements in spec.lists.items():
        names.setdefault(kind, set()).update(element.name for element in elements)
    return names


def _resolve_path(copy: Element, original: Element, names: Names) -> Element | None:
    """A tendon's copy: each step of its path is the copied object or, where there is none, the original one."""
    resolved, copied = dict(copy.resolved), 0
    for index, (new, old) in enumerate(zip(copy.children(), original.children(), strict=True)):
        if new.tag == "pulley":
            continue
        parts = [(new.tag, new.tag)] + ([("sidesite", "site")] if new.text("sidesite", "") else [])
        if all(new.reference(attribute, kind) in names.get(kind, ()) for attribute, kind in parts):
            copied += 1
            continue
        for attribute, kind in parts:
            name = old.reference(attribute, kind)
            if name not in names.get(kind, ()):
                return None
            resolved[f"{index}:{attribute}"] = name
    return replace(copy, resolved=resolved) if copied else None


def _resolve(copy: Element, original: Element, names: Names) -> Element | None:
    """The copy with its references settled, or None when something it needs is not there."""
    if copy.kind == "tendon":
        return _resolve_path(copy, original, names)
    found = list(references(copy))
    missing = [ref for ref in found if ref.name not in names.get(ref.kind, ())]
    if not missing:
        return copy
    copied = [ref for ref in found if ref not in missing and ref.kind not in ASSET_LISTS]
    if copy.kind not in EITHER_OR or len(found) != 2 or not copied:
        return None
    kept = missing[0]
    outside = original.reference(kept.attribute, kept.kind)
    if outside not in names.get(kept.kind, ()):
        return None
    return replace(copy, resolved={**copy.resolved, kept.attribute: outside})


# ---- copying


def attach_frame(
    dest: Spec,
    body: Body,
    frame: Frame | None,
    source: Spec,
    owner: Body,
    inside: Frame | None,
    prefix: str,
    suffix: str,
) -> None:
    """Copy into `body` what `owner` holds inside the frame `inside` (everything if None)."""
    crossing = source is not dest
    keys = _keys_of(source, prefix, suffix) if crossing else []
    top = Frame(default=inside.default if inside is not None else None, parent=frame)
    if inside is not None:
        top.pos, top.quat = list(inside.pos), list(inside.quat)
        top.element = None if inside.element is None else inside.element.copy(prefix, suffix, assets=crossing)
    mapping: dict[Frame | None, Frame] = {inside: top}
    body.frames.append(top)

    def wanted(around: Frame | None) -> bool:
        return inside is None or (around is not None and around.inside(inside))

    copier = _Copier(prefix, suffix, crossing)
    copier.frames([f for f in owner.frames if f is not inside and wanted(f)], mapping, body)
    for kind, elements in list(owner.held.items()):
        chosen = [e for e in elements if wanted(e.frame)]
        body.held[kind].extend(copier.element(e, body, mapping) for e in chosen)
    for child in [b for b in owner.children if wanted(b.frame)]:
        copier.body(child, body, mapping[child.frame])
    _merge(dest, source, prefix, suffix, crossing)
    _settle_keys(dest, source, keys, copier)


def attach_body(
    dest: Spec, body: Body, frame: Frame | None, source: Spec, subtree: Body, prefix: str, suffix: str
) -> None:
    """Copy a body with all below it as a child of `body`, in `frame`."""
    crossing = source is not dest
    keys = _keys_of(source, prefix, suffix) if crossing else []
    copier = _Copier(prefix, suffix, crossing)
    copier.body(subtree, body, frame)
    _merge(dest, source, prefix, suffix, crossing)
    _settle_keys(dest, source, keys, copier)


class _Copier:
    """Copies bodies, frames and elements under new names, and remembers which copy stands for which original."""

    def __init__(self, prefix: str, suffix: str, crossing: bool):
        self.prefix, self.suffix, self.crossing = prefix, suffix, crossing
        self.copies: dict[int, Element] = {}
        self.bodies: dict[int, Body] = {}

    def frames(self, frames: list[Frame], mapping: dict[Frame | None, Frame], body: Body) -> None:
        for old in frames:  # outer frames stand before those inside them
            new = Frame(list(old.pos), list(old.quat), mapping.get(old.parent), old.default)
            if old.element is not None:
                new.element = old.element.copy(self.prefix, self.suffix, assets=self.crossing)
            mapping[old] = new
            body.frames.append(new)

    def element(self, old: Element, body: Body, mapping: dict[Frame | None, Frame]) -> Element:
        new = old.copy(self.prefix, self.suffix, assets=self.crossing)
        new.body, new.frame = body, mapping.get(old.frame)
        self.copies[id(old)] = new
        return new

    def body(self, old: Body, parent: Body, frame: Frame | None) -> Body:
        element = old.element.copy(self.prefix, self.suffix, assets=self.crossing)
        new = Body(element, parent, frame, old.default)
        element.frame = frame
        self.bodies[id(old)] = new
        parent.children.append(new)
        mapping: dict[Frame | None, Frame] = {}
        self.frames(old.frames, mapping, new)
        for kind, elements in old.held.items():
            new.held[kind] = [self.element(e, new, mapping) for e in elements]
        if old.inertial is not None:
            new.inertial = self.element(old.inertial, new, mapping)
        if old.plugin is not None:
            new.plugin = self.element(old.plugin, new, mapping)
        for child in list(old.children):
            self.body(child, new, mapping.get(child.frame))
        return new


def _merge(dest: Spec, source: Spec, prefix: str, suffix: str, crossing: bool) -> None:
    """Bring over assets of another document, and what refers to the copied subtree."""
    if crossing:
        for kind in ASSET_LISTS:
            copies = [e.copy(prefix, suffix, assets=True) for e in source.list(kind)]
            dest.list(kind).extend(copies)
    if not any(source.list(kind) for kind in REFERRING_LISTS) and not source.list("plugin"):
        return
    names = names_in(dest)
    for kind in REFERRING_LISTS:
        for original in list(source.list(kind)):
            copy = _resolve(original.copy(prefix, suffix, assets=crossing), original, names)
            if copy is not None:
                dest.list(kind).append(copy)
                names[kind].add(copy.name)
    _merge_plugins(dest, source, prefix, suffix, crossing)


def _merge_plugins(dest: Spec, source: Spec, prefix: str, suffix: str, crossing: bool) -> None:
    """Copy plugin instances that something in the model now refers to under the new name."""
    if not source.list("plugin"):
        return
    used = set(_plugin_names(dest))
    for original in list(source.list("plugin")):
        copy = original.copy(prefix, suffix, assets=crossing)
        if copy.name in used and all(e.name != copy.name for e in dest.list("plugin")):
            dest.list("plugin").append(copy)


def _plugin_names(spec: Spec) -> Iterator[str]:
    for body in spec.world.walk():
        if body.plugin is not None:
            yield body.plugin.reference("instance", "plugin")
        for e in body.held["geom"]:
            yield from (p.reference("instance", "plugin") for p in e.children("plugin"))
    for kind in ("mesh",):
        for e in spec.list(kind):
            yield from (p.reference("instance", "plugin") for p in e.children("plugin"))
    for kind in ("actuator", "sensor"):
        for e in spec.list(kind):
            if e.tag == "plugin":
                yield e.reference("instance", "plugin")


def drop_broken_references(spec: Spec, removed: Body) -> None:
    """Drop elements that referred to a subtree which has just been taken out of the tree."""
    if not any(spec.list(kind) for kind in REFERRING_LISTS):
        return
    now = names_in(spec)
    before: Names = {kind: set(names) for kind, names in now.items()}
    for body in removed.walk():
        before["body"].add(body.name)
        for kind, elements in body.held.items():
            before[kind].update(e.name for e in elements)
    for kind in REFERRING_LISTS:
        kept = []
        for e in spec.list(kind):
            refs = list(references(e))
            was = all(ref.name in before.get(ref.kind, ()) for ref in refs)
            if not was or all(ref.name in now.get(ref.kind, ()) for ref in refs):
                kept.append(e)
        if len(kept) != len(spec.list(kind)):
            gone = {e.name for e in spec.list(kind)} - {e.name for e in kept}
            spec.lists[kind] = kept
            now[kind] -= gone


# ---- keyframes


def _keys_of(source: Spec, prefix: str, suffix: str) -> list[AttachedKey]:
    """The source's keyframes with the joints, actuators and mocap bodies their numbers stand for, before copying.

    Keyframes that the source itself got by attachment come along under the name they have (as in MuJoCo, which warns).
    """
    bodies = list(source.world.walk())
    joints: list[Any] = [joint for body in bodies for joint in body.held["joint"]]
    mocaps: list[Any] = [body for body in bodies if body.element.text("mocap", "") == "true"]
    own = [
        AttachedKey(key.copy(prefix, suffix, assets=True), joints, joints, [*source.list("actuator")], mocaps)
        for key in source.list("key")
    ]
    return own + [replace(key) for key in source.attached_keys]


def _settle_keys(dest: Spec, source: Spec, keys: list[AttachedKey], copier: _Copier) -> None:
    """Point keyframes at the copies; within one model the first copy takes over from the original."""
    actuators = {(e.node, e.scope.prefix, e.scope.suffix): e for e in dest.list("actuator")}
    crossing = source is not dest

    def copy_of(e: Element | None) -> Element | None:
        if e is None:
            return None
        scope = e.scope.renamed(copier.prefix, copier.suffix, assets=crossing)
        return actuators.get((e.node, scope.prefix, scope.suffix), None if crossing else e)

    for key in keys if crossing else dest.attached_keys:
        key.joints = [copier.copies.get(id(joint), None if crossing else joint) for joint in key.joints]
        key.mocaps = [copier.bodies.get(id(body), None if crossing else body) for body in key.mocaps]
        key.actuators = [copy_of(e) for e in key.actuators]
    if crossing:
        dest.attached_keys.extend(keys)


# ---- the <attach> element


def attach_element(spec: Spec, e: Element, body: Body, frame: Frame | None) -> None:
    """Carry out one <attach>."""
    model, prefix = e.text("model", None), e.text("prefix", None)
    if prefix is None:
        raise e.error("attach needs 'prefix'")
    body_name, frame_name = e.text("body", ""), e.text("frame", "")
    for kind in ("body", "frame"):
        if e.given(kind) and not e.text(kind):
            raise e.error(f"attach takes the name of a {kind}, not ''; without it the whole model is attached", kind)
    if body_name and frame_name:
        raise e.error("attach takes 'body' or 'frame', not both")
    source = spec
    if model is not None:
        if model not in spec.models:
            raise e.error(f"could not find model {model!r}{did_you_mean(model, spec.models)}")
        source = spec.models[model]
        settle_conflicts(spec.root, source.root, spec.scope.settings.conflict, e, spec.warnings.append)
    elif not body_name and not frame_name:
        raise e.error("attach without 'model' needs 'body' or 'frame'")
    place = frame if frame is not None else Frame(default=body.default)
    if body_name:
        _refuse_taken(e, prefix + body_name, (b.name for b in spec.world.walk()), "body")
        subtree = _find_body(e, source, body_name)
        attach_body(spec, body, place, source, subtree, prefix, "")
    elif frame_name:
        _refuse_taken(e, prefix + frame_name, (f.name for b in spec.world.walk() for f in b.frames), "frame")
        owner, inside = _find_frame(e, source, frame_name)
        attach_frame(spec, body, place, source, owner, inside, prefix, "")
    else:
        attach_frame(spec, body, place, source, source.world, None, prefix, "")


def _refuse_taken(e: Element, name: str, taken: Iterator[str], kind: str) -> None:
    if name in set(taken):
        raise e.error(f"cannot attach: {kind} {name!r} already exists; choose another prefix", "prefix")


def _find_body(e: Element, source: Spec, name: str) -> Body:
    for body in source.world.walk():
        if body.name == name:
            return body
    known = [b.name for b in source.world.walk() if b.name]
    raise e.error(f"could not find body {name!r} to attach{did_you_mean(name, known)}")


def _find_frame(e: Element, source: Spec, name: str) -> tuple[Body, Frame]:
    known = []
    for body in source.world.walk():
        for frame in body.frames:
            if frame.name == name:
                return body, frame
            known.append(frame.name)
    raise e.error(f"could not find frame {name!r} to attach{did_you_mean(name, known)}")
