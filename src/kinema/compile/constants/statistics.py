"""The statistics of a model at qpos0: extent, centre, and mean size, mass and inertia, and length scales of dofs.

    extent      longest side of the box around bodies, joints, sites and geoms (at least twice the mean size)
    meansize    mean over bodies of the farthest joint or geom from the centre of mass
    dof_length  1 for a translation, the size of its body for a rotation
"""

from __future__ import annotations

import numpy as np

from kinema.compile.constants.kinematics import Pose
from kinema.mujoco_enums import Geom, Joint

Array = np.ndarray

MIN_SIZE = 1e-5


def statistics(m, pose: Pose, inertia: Array, edges: Array) -> tuple[dict[str, float | Array], Array]:
    """mjStatistic's fields, and dof_length; defaults come from m.stat.

    Args:
        inertia: Diagonal of M at qpos0.
        edges: Lengths of the edges of flexes.
    """
    low, high = _box(m, pose)
    size = _body_sizes(m, pose, edges)
    names = ("meaninertia", "meanmass", "meansize", "extent")
    stat: dict[str, float | Array] = {name: getattr(m.stat, name) for name in names}
    stat["center"] = 0.5 * (low + high)
    if high[0] > low[0]:
        stat["extent"] = max(MIN_SIZE, float(np.max(high - low)))
    if m.nbody > 1:
        stat["meansize"] = float(np.maximum(size[1:], MIN_SIZE).mean())
        stat["meanmass"] = float(np.asarray(m.body_mass)[1:].mean())
    stat["extent"] = max(float(stat["extent"]), 2.0 * float(stat["meansize"]))
    if m.nv:
        stat["meaninertia"] = float(inertia.mean())
    return stat, _dof_lengths(m, np.maximum(size, np.where(np.arange(m.nbody) > 0, MIN_SIZE, 0.0)))


def _box(m, pose: Pose) -> tuple[Array, Array]:
    radius = _geom_radius(m)[:, None]
    points = (pose.xpos[0, 1:], pose.xipos[0, 1:], pose.xanchor[0], pose.site_xpos[0])
    geoms = pose.geom_xpos[0]
    low = np.concatenate((*points, geoms - radius)).min(axis=0, initial=1e10)
    high = np.concatenate((*points, geoms + radius)).max(axis=0, initial=-1e10)
    return low, high


def _geom_radius(m) -> Array:
    radius = np.maximum(np.asarray(m.geom_rbound), 0.0).copy()
    kind, size = np.asarray(m.geom_type), np.asarray(m.geom_size)
    for g in np.flatnonzero((radius == 0) & (kind == Geom.PLANE)):
        radius[g] = 0.1 * max(size[g, :2]) if size[g, :2].any() else 0.01
    for g in np.flatnonzero((radius == 0) & (kind == Geom.HFIELD)):
        radius[g] = 0.1 * np.asarray(m.hfield_size)[m.geom_dataid[g]].max()
    return radius


def _body_sizes(m, pose: Pose, edges: Array) -> Array:
    size = np.zeros(m.nbody)
    body = np.asarray(m.jnt_bodyid)
    for owner in (body, np.asarray(m.body_parentid)[body]):
        distance = np.sqrt(np.sum((pose.xipos[0][owner] - pose.xanchor[0]) ** 2, axis=-1))
        np.maximum.at(size, owner, distance)
    size[0] = 0.0
    geom_body, bound = np.asarray(m.geom_bodyid), np.asarray(m.geom_rbound)
    own = (geom_body > 0) & (bound > 0)
    distance = np.sqrt(np.sum((pose.xipos[0][geom_body] - pose.geom_xpos[0]) ** 2, axis=-1))
    np.maximum.at(size, geom_body[own], (bound + distance)[own])
    _flex_sizes(m, pose, size, edges)
    return size


def _flex_sizes(m, pose: Pose, size: Array, lengths: Array) -> None:
    """Bodies carrying a flex are at least as large as its edges."""
    x = pose.xpos[0]
    for f in range(m.nflex):
        if m.flex_interp[f]:
            nodes = np.asarray(m.flex_nodebodyid)[m.flex_nodeadr[f] : m.flex_nodeadr[f] + m.flex_nodenum[f]]
            reach = np.sqrt(np.sum((x[nodes, None] - x[None, nodes]) ** 2, axis=-1)).max(axis=1)
            np.maximum.at(size, nodes, reach)
            continue
        edges = slice(m.flex_edgeadr[f], m.flex_edgeadr[f] + m.flex_edgenum[f])
        ends = np.asarray(m.flex_vertbodyid)[m.flex_vertadr[f] + np.asarray(m.flex_edge)[edges]]
        for column in range(2):
            np.maximum.at(size, ends[:, column], lengths[edges])


def _dof_lengths(m, size: Array) -> Array:
    joint = np.asarray(m.dof_jntid)
    kind = np.asarray(m.jnt_type)[joint]
    offset = np.arange(m.nv) - np.asarray(m.jnt_dofadr)[joint]
    turns = (kind == Joint.BALL) | (kind == Joint.HINGE) | ((kind == Joint.FREE) & (offset >= 3))
    return np.where(turns, size[np.asarray(m.dof_bodyid)], 1.0)
