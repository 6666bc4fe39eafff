"""Bodies of a stage and the trees they form.

Every articulation is a tree: bodies are added in the order its joints reach them, parents first, and a tree that
nothing holds gets a free joint (or what `floating` and `base_joint` ask for). Joints that are said to be no part of it
close loops. Bodies and joints of no articulation follow (`loose.py`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..errors import BuildError
from ..model import AttributeFrequency
from ..model.transform import quat_rotate
from .joints import DEGREE, add_joint, ends, root_frame
from .scene import JOINTS, Scene
from .shapes import add_seen, applies

LOOPS = ("MjcEqualityConnectAPI", "MjcEqualityWeldAPI")
"""Joints that are MuJoCo's equality constraints: they close loops wherever they are."""


def add_body(scene: Scene, path: str, desc: Any) -> int:
    """Add a body, and what is seen of it; returns its index."""
    prim = scene.prim(path)
    pose, scale = scene.stands(prim)
    if np.prod(scale) < 0.0:
        warnings.warn(f"{path}: a mirrored body; bake the reflection into its meshes", stacklevel=3)
    body = scene.builder.add_link(
        xform=pose, label=path, is_kinematic=bool(desc.kinematicBody),
        custom_attributes=scene.custom(prim, AttributeFrequency.BODY),
    )  # fmt: skip
    linear = quat_rotate(pose[3:], np.asarray(desc.linearVelocity, dtype=float))
    angular = quat_rotate(pose[3:], DEGREE * np.asarray(desc.angularVelocity, dtype=float))
    if np.any(linear) or np.any(angular):
        scene.builder.edit("body_qd")[body] = np.concatenate([linear, angular])
    scene.bodies[path] = body
    add_seen(scene, body, prim)
    return body


def add_trees(scene: Scene) -> tuple[dict[int, bool], dict[str, Any]]:
    """All bodies, and the joints of articulations.

    Returns:
        Of each articulation, whether its bodies touch each other; and the joints that are left.
    """
    specs = {path: desc for _, path, desc in scene.each("RigidBody")
             if desc.rigidBodyEnabled or not scene.wishes.only_load_enabled_rigid_bodies}  # fmt: skip
    joints = {path: desc for _, path, desc in scene.each(*JOINTS)}
    loops = [path for path in joints if applies(scene.prim(path), *LOOPS)]
    touching: dict[int, bool] = {}
    done: set[str] = set(loops)
    waiting: list[str] = list(loops)
    for _, path, desc in scene.each("Articulation"):
        _add_articulation(scene, path, desc, specs, joints, done, waiting, touching)
    for path, spec in specs.items():
        if path not in scene.bodies:
            add_body(scene, path, spec)
    left = {path: desc for path, desc in joints.items() if path not in done}
    return touching, left | {path: joints[path] for path in waiting}


# ---- articulations


def _add_articulation(
    scene: Scene, path: str, desc: Any, specs: dict[str, Any], joints: dict[str, Any], done: set[str],
    waiting: list[str], touching: dict[int, bool],
) -> None:  # fmt: skip
    prim, builder = scene.prim(path), scene.builder
    inside = [str(p) for p in desc.articulatedBodies if str(p) in specs and str(p) not in scene.bodies]
    if not inside:
        return
    if scene.wishes.override_root_xform:
        scene.rebased[path] = scene.placed(prim)[0]
    groups, edges = _groups(scene, inside, [str(p) for p in desc.articulatedJoints], joints, done, waiting)
    order = sort_joints(edges, scene.wishes.joint_ordering)
    if not scene.wishes.bodies_follow_joint_ordering:
        order_of_bodies = list(range(len(inside)))
    else:
        order_of_bodies = list(dict.fromkeys(b for k in order for b in edges[k] if b >= 0))
        order_of_bodies += [] if order else list(range(len(inside)))
    for k in order_of_bodies:
        add_body(scene, inside[k], specs[inside[k]])
    custom = scene.custom(prim, AttributeFrequency.ARTICULATION)
    if order:
        made = _add_tree_joints(scene, inside, groups, edges, order, joints)
        trees = [(made, path)]
    else:
        trees = [([hold(scene, scene.bodies[body])], body) for body in inside]
    self_collisions = scene.schemas.value(prim, "articulation", "self_collisions", scene.wishes.enable_self_collisions)
    for made, label in trees:
        if made:
            touching[builder.add_articulation(made, label=label, custom_attributes=custom)] = bool(self_collisions)


def _groups(
    scene: Scene, inside: list[str], paths: list[str], joints: dict[str, Any], done: set[str], waiting: list[str],
) -> tuple[list[list[str]], list[tuple[int, int]]]:  # fmt: skip
    """Joints of an articulation by the two bodies they join, numbered within it; -1 is the world."""
    number = {body: k for k, body in enumerate(inside)}
    groups: dict[tuple[int, int], list[str]] = {}
    for path in paths:
        if path in done or path not in joints:
            continue
        desc = joints[path]
        found = ends(desc, number)
        done.add(path)
        if desc.excludeFromArticulation:
            waiting.append(path)
        elif found is not None and (desc.jointEnabled or not scene.wishes.only_load_enabled_joints):
            groups.setdefault(found[:2], []).append(path)
    return list(groups.values()), list(groups)


def _add_tree_joints(
    scene: Scene, inside: list[str], groups: list[list[str]], edges: list[tuple[int, int]], order: list[int],
    joints: dict[str, Any],
) -> list[int]:  # fmt: skip
    """Joints of a tree in order, and before them what holds it; returns their indices."""
    made: list[int | None] = []
    parent, child = edges[order[0]]
    given = scene.wishes.floating is not None or scene.wishes.base_joint is not None
    if parent >= 0:
        made.append(hold(scene, scene.bodies[inside[parent]]))
    elif given:
        made.append(hold(scene, scene.bodies[inside[child]]))
        order = order[1:]
    for k in order:
        descs = [joints[path] for path in groups[k]]
        root = root_frame(scene, descs[0], set(inside)) if edges[k][0] < 0 else None
        made.append(add_joint(scene, descs, root))
    return [joint for joint in made if joint is not None]


def sort_joints(edges: list[tuple[int, int]], order: str | None) -> list[int]:
    """Joints so that parents come before children; siblings as they stand."""
    if order is None or not edges:
        return list(range(len(edges)))
    leaving: dict[int, list[int]] = {}
    held: dict[int, int] = {}
    for k, (parent, child) in enumerate(edges):
        if child in held:
            raise BuildError(
                f"body {child} of an articulation has two parents: write physics:excludeFromArticulation = true "
                "on the joint that closes the loop"
            )
        held[child] = parent
        leaving.setdefault(parent, []).append(k)
    roots = sorted(parent for parent in leaving if parent not in held)
    if len(roots) != 1:
        raise BuildError(
            f"an articulation needs one root and has {len(roots)}: physics:body0 is the parent, physics:body1 the child"
        )
    found: list[int] = []
    queue = list(leaving[roots[0]])
    while queue:
        k = queue.pop(0)
        found.append(k)
        more = leaving.get(edges[k][1], [])
        queue = [*more, *queue] if order == "dfs" else [*queue, *more]
    return found


def hold(scene: Scene, body: int) -> int:
    """A joint of a body to the world: free, fixed, or what was asked for."""
    builder, wishes = scene.builder, scene.wishes
    here = np.asarray(builder.rows("body_q")[body], dtype=float)
    if wishes.base_joint is not None:
        given = {key: value for key, value in wishes.base_joint.items() if key not in ("parent", "child")}
        return builder.add_joint(parent=-1, child=body, **{"parent_xform": here, **given})
    if wishes.floating is False:
        return builder.add_joint_fixed(-1, body, parent_xform=here)
    return builder.add_joint_free(body)
