"""Jacobians of points, their rates, of centres of mass, and the matrix of angular momentum.

A dof i moves a body with the motion vector cdof_i = (a, b) about the centre of mass c of its tree (`convex.jacobian`).

    J_p column       b + a x (p - c)                     J_r column       a                  of a point p of the body
    their rates      b' + a' x (p - c) + a x v_p                          a'                 (a', b') = cdof_i'
    of a subtree's centre of mass, s being the deeper of the dof's body and the subtree's root r
                     m_s / m_r (b + a x (x_s - c))       x_s, m_s: centre and mass of the subtree of s
    of its momentum  L - (x_r - c) x P                   (L, P) = crb_s cdof_i: momentum of all that the dof moves

The axes of a ball joint, and of the turning half of a free one, are fixed in the body they move: their rate is that of
the body, cvel x cdof, where the engine keeps that of the frame the joint begins in.
"""

import warp as wp

from kinema.convex.bundle import bundle, data, index, param, vec10
from kinema.convex.jacobian import last_dof, point_motion
from kinema.engine import Engine
from kinema.math.spatial import angular, cross_motion, inertia_mul, linear
from kinema.mujoco_enums import Joint


@bundle("body_")
class Bodies:
    rootid: index()
    weldid: index()
    dofadr: index()
    dofnum: index()
    subtreemass: param()
    subtree_com: data(dtype=wp.vec3)


@bundle("dof_")
class Axes:
    bodyid: index()
    parentid: index()
    jntid: index()
    jnt_type: index()
    jnt_dofadr: index()
    bodyend: index("nv")
    cdof: data(dtype=wp.spatial_vector)


@bundle()
class Rates:
    cvel: data(dtype=wp.spatial_vector)
    cdof_dot: data(dtype=wp.spatial_vector)


@bundle()
class Composites:
    crb: data(dtype=vec10)


@wp.func
def centre(bodies: Bodies, w: int, body: int) -> wp.vec3:
    """The point that motion vectors of a body are about."""
    return bodies.subtree_com[w, bodies.rootid[body]]


@wp.func
def put_column(jac: wp.array4d(dtype=float), w: int, k: int, i: int, v: wp.vec3):
    for c in range(3):
        jac[w, k, c, i] = v[c]


@wp.kernel(enable_backward=False)
def _points(
    bodies: Bodies, axes: Axes, body: wp.array(dtype=int), point: wp.array2d(dtype=wp.vec3), at: wp.array(dtype=int),
    jacp: wp.array4d(dtype=float), jacr: wp.array4d(dtype=float),
):  # fmt: skip
    w, k = wp.tid()
    offset = point[w, at[k]] - centre(bodies, w, body[k])
    i = last_dof(bodies.weldid, bodies.dofadr, bodies.dofnum, body[k])
    while i >= 0:
        motion = axes.cdof[w, i]
        put_column(jacp, w, k, i, point_motion(motion, offset))
        put_column(jacr, w, k, i, angular(motion))
        i = axes.parentid[i]


@wp.func
def axis_rate(axes: Axes, rates: Rates, w: int, i: int) -> wp.spatial_vector:
    """Rate of the motion vector of a dof."""
    j = axes.jntid[i]
    kind = axes.jnt_type[j]
    rate = rates.cdof_dot[w, i]
    if kind == Joint.BALL or (kind == Joint.FREE and i >= axes.jnt_dofadr[j] + 3):
        rate = cross_motion(rates.cvel[w, axes.bodyid[i]], axes.cdof[w, i])
    return rate


@wp.kernel(enable_backward=False)
def _rates(
    bodies: Bodies, axes: Axes, rates: Rates, body: wp.array(dtype=int), point: wp.array2d(dtype=wp.vec3),
    jacp: wp.array4d(dtype=float), jacr: wp.array4d(dtype=float),
):  # fmt: skip
    w, k = wp.tid()
    offset = point[w, k] - centre(bodies, w, body[k])
    velocity = point_motion(rates.cvel[w, body[k]], offset)
    i = last_dof(bodies.weldid, bodies.dofadr, bodies.dofnum, body[k])
    while i >= 0:
        rate = axis_rate(axes, rates, w, i)
        put_column(jacp, w, k, i, point_motion(rate, offset) + wp.cross(angular(axes.cdof[w, i]), velocity))
        put_column(jacr, w, k, i, angular(rate))
        i = axes.parentid[i]


@wp.func
def moved(axes: Axes, root: int, end: int, i: int) -> int:
    """The root of what a dof moves of a subtree, the bodies [root, end); -1: nothing."""
    first = axes.bodyid[i]
    if first >= root and first < end:
        return first
    if first < root and root < axes.bodyend[i]:
        return root
    return -1


@wp.kernel(enable_backward=False)
def _subtrees(
    bodies: Bodies, axes: Axes, root: wp.array(dtype=int), end: wp.array(dtype=int), jacp: wp.array4d(dtype=float)
):
    w, k, i = wp.tid()
    s = moved(axes, root[k], end[k], i)
    mass = bodies.subtreemass[w, root[k]]
    if s >= 0 and mass > 0.0:
        offset = bodies.subtree_com[w, s] - centre(bodies, w, axes.bodyid[i])
        put_column(jacp, w, k, i, bodies.subtreemass[w, s] / mass * point_motion(axes.cdof[w, i], offset))


@wp.kernel(enable_backward=False)
def _momenta(
    bodies: Bodies, axes: Axes, composites: Composites, root: wp.array(dtype=int), end: wp.array(dtype=int),
    mat: wp.array4d(dtype=float),
):  # fmt: skip
    w, k, i = wp.tid()
    s = moved(axes, root[k], end[k], i)
    if s >= 0:
        momentum = inertia_mul(composites.crb[w, s], axes.cdof[w, i])
        arm = bodies.subtree_com[w, root[k]] - centre(bodies, w, axes.bodyid[i])
        put_column(mat, w, k, i, angular(momentum) - wp.cross(arm, linear(momentum)))


def _room(engine: Engine, count: int) -> wp.array:
    return wp.zeros((engine.nworld, count, 3, engine.source.nv), dtype=float, device=engine.device)


def _ids(engine: Engine, ids: list[int]) -> wp.array:
    return wp.array(ids, dtype=int, device=engine.device)


def point_jacobians(engine: Engine, point: wp.array, at: list[int], body: list[int]) -> tuple[wp.array, wp.array]:
    """J_p and J_r of the points [world, at] of bodies, (nworld, n, 3, nv)."""
    jacp, jacr = _room(engine, len(body)), _room(engine, len(body))
    inputs = [engine.bundle(Bodies), engine.bundle(Axes), _ids(engine, body), point, _ids(engine, at)]
    wp.launch(_points, (engine.nworld, len(body)), inputs, [jacp, jacr], device=engine.device)
    return jacp, jacr


def jacobian_rates(engine: Engine, point: wp.array, body: list[int]) -> tuple[wp.array, wp.array]:
    """Rates of J_p and J_r of points of bodies, (nworld, n, 3, nv)."""
    jacp, jacr = _room(engine, len(body)), _room(engine, len(body))
    inputs = [engine.bundle(Bodies), engine.bundle(Axes), engine.bundle(Rates), _ids(engine, body), point]
    wp.launch(_rates, (engine.nworld, len(body)), inputs, [jacp, jacr], device=engine.device)
    return jacp, jacr


def subtree_ends(model, body: list[int]) -> list[int]:
    """The end of the range of bodies of each subtree; bodies are numbered depth first."""
    parent, ends = list(model.body_parentid), []
    for root in body:
        end = root + 1
        while end < model.nbody and parent[end] >= root:
            end += 1
        ends.append(end)
    return ends


def subtree_jacobians(engine: Engine, body: list[int]) -> wp.array:
    """J_p of the centres of mass of subtrees, (nworld, n, 3, nv)."""
    jacp = _room(engine, len(body))
    ends = _ids(engine, subtree_ends(engine.source, body))
    inputs = [engine.bundle(Bodies), engine.bundle(Axes), _ids(engine, body), ends]
    wp.launch(_subtrees, (engine.nworld, len(body), engine.source.nv), inputs, [jacp], device=engine.device)
    return jacp


def momentum_matrices(engine: Engine, body: list[int]) -> wp.array:
    """Matrices from qvel to the angular momentum of subtrees about their centres of mass, (nworld, n, 3, nv)."""
    mat = _room(engine, len(body))
    ends = _ids(engine, subtree_ends(engine.source, body))
    inputs = [engine.bundle(Bodies), engine.bundle(Axes), engine.bundle(Composites), _ids(engine, body), ends]
    wp.launch(_momenta, (engine.nworld, len(body), engine.source.nv), inputs, [mat], device=engine.device)
    return mat
