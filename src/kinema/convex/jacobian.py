"""Jacobians of points, by walking the dofs that move a body.

A dof j moves the body it belongs to and all its descendants with the motion vector cdof_j = (a, b), written about the
centre of mass c of its kinematic tree. A point p of such a body then moves with

    J_p column:  b + a x (p - c)          J_r column:  a

The dofs that move a body are its last dof and that dof's ancestors (`dof_parentid`), in falling order. So a Jacobian is
never stored: a product J q' or J' f is one walk, and a row of a sparse matrix, whose columns ascend, is filled from its
end. Two points of the same tree share the tail of their walks; walking until the two meet leaves the shared dofs out.
"""

import warp as wp

from kinema.math.spatial import angular, linear


@wp.func
def point_motion(motion: wp.spatial_vector, offset: wp.vec3) -> wp.vec3:
    """Linear velocity, at an offset from the reference point, of a motion vector (a column of J_p, or cvel)."""
    return linear(motion) + wp.cross(angular(motion), offset)


@wp.func
def wrench_work(motion: wp.spatial_vector, offset: wp.vec3, force: wp.vec3, torque: wp.vec3) -> float:
    """Power of a force at an offset from the reference point and a torque, under a motion vector: an entry of J' f."""
    return wp.dot(point_motion(motion, offset), force) + wp.dot(angular(motion), torque)


@wp.func
def last_dof(weldid: wp.array(dtype=int), dofadr: wp.array(dtype=int), dofnum: wp.array(dtype=int), body: int) -> int:
    """The last dof that moves a body; -1 for a body that nothing moves."""
    weld = weldid[body]
    return wp.max(dofadr[weld] + dofnum[weld] - 1, -1)


@wp.func
def common_dof(parentid: wp.array(dtype=int), first: int, second: int) -> int:
    """Where the walks from two dofs to the root meet; -1: they never do."""
    i = int(first)
    j = int(second)
    while i != j:
        if i > j:
            i = parentid[i]
        else:
            j = parentid[j]
    return i


@wp.func
def add_row(
    row: wp.array2d(dtype=float),
    w: int,
    end: int,
    colind: wp.array(dtype=int),
    parentid: wp.array(dtype=int),
    cdof: wp.array2d(dtype=wp.spatial_vector),
    dof: int,
    stop: int,
    offset: wp.vec3,
    direction: wp.vec3,
):
    """Add direction . J_p to a sparse row that ends before `end`, for the dofs from `dof` up to, not with, `stop`."""
    i = int(dof)
    k = int(end)
    while i != stop:
        k -= 1
        while colind[k] != i:
            k -= 1
        row[w, k] = row[w, k] + wp.dot(point_motion(cdof[w, i], offset), direction)
        i = parentid[i]
