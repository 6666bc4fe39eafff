"""Which colliders of a stage do not touch: trees without self-collisions, collision groups, filtered pairs.

Groups of USD let everything touch that they do not forbid, so they become pairs of shapes, found for classes of
shapes with the same groups rather than shape by shape.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np

from ..model import ShapeFlags
from .scene import SHAPES, Scene


def filter_shapes(scene: Scene, touching: dict[int, bool]) -> None:
    """Add every pair that does not touch, once."""
    pairs = [*_within_trees(scene, touching), *_between_groups(scene), *_written(scene)]
    known = {tuple(pair) for pair in scene.builder.rows("shape_filter_pairs").tolist()}
    new = dict.fromkeys((min(a, b), max(a, b)) for a, b in pairs if a != b)
    for pair in new:
        if pair not in known:
            scene.builder.add_shape_collision_filter_pair(*pair)


def _colliding(scene: Scene) -> dict[int, list[int]]:
    """Shapes that touch, by body."""
    rows = scene.builder.rows
    found: dict[int, list[int]] = {}
    for shape in np.flatnonzero(rows("shape_flags") & int(ShapeFlags.COLLIDE_SHAPES)).tolist():
        found.setdefault(int(rows("shape_body")[shape]), []).append(shape)
    return found


def _within_trees(scene: Scene, touching: dict[int, bool]) -> list[tuple[int, int]]:
    rows, shapes = scene.builder.rows, _colliding(scene)
    pairs: list[tuple[int, int]] = []
    for tree in (tree for tree, allowed in touching.items() if not allowed):
        joints = np.flatnonzero(rows("joint_articulation") == tree)
        bodies = {*rows("joint_parent")[joints].tolist(), *rows("joint_child")[joints].tolist()} - {-1}
        for one, other in itertools.combinations(sorted(bodies), 2):
            pairs += itertools.product(shapes.get(one, ()), shapes.get(other, ()))
    return pairs


def _between_groups(scene: Scene) -> list[tuple[int, int]]:
    from pxr import Sdf, UsdPhysics

    classes: dict[tuple[str, ...], list[int]] = {}
    for _, path, desc in scene.each(*SHAPES):
        if path in scene.shapes and desc.collisionEnabled:
            groups = tuple(sorted(str(group) for group in desc.collisionGroups))
            classes.setdefault(groups, []).append(scene.shapes[path])
    if not any(classes):
        return []
    table = UsdPhysics.CollisionGroup.ComputeCollisionGroupTable(scene.stage)
    closed = _closed_groups(scene)

    def touch(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        if one and other:
            return all(table.IsCollisionEnabled(Sdf.Path(a), Sdf.Path(b)) for a in one for b in other)
        return not any(group in closed for group in one or other)

    pairs: list[tuple[int, int]] = []
    for one, other in itertools.combinations_with_replacement(sorted(classes), 2):
        if touch(one, other):
            continue
        same = one == other
        pairs += itertools.combinations(classes[one], 2) if same else itertools.product(classes[one], classes[other])
    return pairs


def _closed_groups(scene: Scene) -> set[str]:
    """Groups that touch only what they name, alone or merged with others: nothing without a group touches them."""
    merged: dict[str, list[str]] = {}
    inverted = set()
    for path, desc in scene.found.get("CollisionGroup", ()):
        merged.setdefault(str(desc.mergeGroupName) or path, []).append(path)
        if desc.invertFilteredGroups:
            inverted.add(path)
    return {path for paths in merged.values() if inverted & set(paths) for path in paths}


def _written(scene: Scene) -> list[tuple[int, int]]:
    """physics:filteredPairs of shapes, bodies and articulations."""
    shapes = _colliding(scene)
    pairs: list[tuple[int, int]] = []
    for path in [*scene.shapes, *scene.bodies, *(path for path, _ in scene.found.get("Articulation", ()))]:
        relation = scene.prim(path).GetRelationship("physics:filteredPairs")
        for target in relation.GetTargets() if relation else ():
            one, other = _shapes_at(scene, path, shapes), _shapes_at(scene, str(target), shapes)
            if not one or not other:
                missing = path if not one else str(target)
                warnings.warn(f"{path}: physics:filteredPairs names {missing}, where nothing touches", stacklevel=4)
            pairs += itertools.product(one, other)
    return pairs


def _shapes_at(scene: Scene, path: str, shapes: dict[int, list[int]]) -> list[int]:
    touching = {shape for found in shapes.values() for shape in found}
    if path in scene.shapes:
        return [scene.shapes[path]] if scene.shapes[path] in touching else []
    if path in scene.bodies:
        return shapes.get(scene.bodies[path], [])
    below: Any = (body for name, body in scene.bodies.items() if name.startswith(f"{path}/"))
    return [shape for body in below for shape in shapes.get(body, [])]
