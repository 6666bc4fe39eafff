"""6-D spatial vectors [angular; linear] in MuJoCo's order, held in ``wp.spatial_vector``.

Motion vectors are (w, v), force vectors are (torque, force); both are written about one common point, in MuJoCo the
centre of mass of the kinematic tree.

    crossMotion((w, v), (a, b)) = (w x a,  w x b + v x a)
    crossForce((w, v), (t, f))  = (w x t + v x f,  w x f)
    inertia (10 numbers): Ixx Iyy Izz Ixy Ixz Iyz, m c (3), m
    I (w, v) = (J w + mc x v,  m v - mc x w)
"""

import warp as wp

vec10 = wp.types.vector(length=10, dtype=float)


@wp.func
def angular(s: wp.spatial_vector) -> wp.vec3:
    """The first three components."""
    return wp.vec3(s[0], s[1], s[2])


@wp.func
def linear(s: wp.spatial_vector) -> wp.vec3:
    """The last three components."""
    return wp.vec3(s[3], s[4], s[5])


@wp.func
def cross_motion(u: wp.spatial_vector, s: wp.spatial_vector) -> wp.spatial_vector:
    """Rate of the motion vector s carried along by the velocity u (mju_crossMotion)."""
    w = angular(u)
    a = angular(s)
    return wp.spatial_vector(wp.cross(w, a), wp.cross(w, linear(s)) + wp.cross(linear(u), a))


@wp.func
def cross_force(u: wp.spatial_vector, f: wp.spatial_vector) -> wp.spatial_vector:
    """Rate of the force vector f carried along by the velocity u (mju_crossForce)."""
    w = angular(u)
    b = linear(f)
    return wp.spatial_vector(wp.cross(w, angular(f)) + wp.cross(linear(u), b), wp.cross(w, b))


@wp.func
def inertia_about(inertia: wp.vec3, mat: wp.mat33, offset: wp.vec3, mass: float) -> vec10:
    """Inertia of a body about a point, from principal moments and axes; offset = body com - point (mju_inertCom)."""
    rotated = mat * wp.diag(inertia) * wp.transpose(mat)
    c = offset
    res = vec10()
    res[0] = rotated[0, 0] + mass * (c[1] * c[1] + c[2] * c[2])
    res[1] = rotated[1, 1] + mass * (c[0] * c[0] + c[2] * c[2])
    res[2] = rotated[2, 2] + mass * (c[0] * c[0] + c[1] * c[1])
    res[3] = rotated[0, 1] - mass * c[0] * c[1]
    res[4] = rotated[0, 2] - mass * c[0] * c[2]
    res[5] = rotated[1, 2] - mass * c[1] * c[2]
    res[6] = mass * c[0]
    res[7] = mass * c[1]
    res[8] = mass * c[2]
    res[9] = mass
    return res


@wp.func
def inertia_moved(i: vec10, shift: wp.vec3) -> vec10:
    """The same inertia about another point; shift = the point it was about - that point."""
    h = wp.vec3(i[6], i[7], i[8])
    g = h + i[9] * shift
    trace = wp.dot(shift, h + g)
    res = vec10()
    res[0] = i[0] + trace - shift[0] * (h[0] + g[0])
    res[1] = i[1] + trace - shift[1] * (h[1] + g[1])
    res[2] = i[2] + trace - shift[2] * (h[2] + g[2])
    res[3] = i[3] - shift[0] * g[1] - h[0] * shift[1]
    res[4] = i[4] - shift[0] * g[2] - h[0] * shift[2]
    res[5] = i[5] - shift[1] * g[2] - h[1] * shift[2]
    res[6] = g[0]
    res[7] = g[1]
    res[8] = g[2]
    res[9] = i[9]
    return res


@wp.func
def inertia_mul(i: vec10, s: wp.spatial_vector) -> wp.spatial_vector:
    """Spatial inertia times motion vector: momentum or force (mju_mulInertVec)."""
    w = angular(s)
    v = linear(s)
    mc = wp.vec3(i[6], i[7], i[8])
    jw = wp.vec3(
        i[0] * w[0] + i[3] * w[1] + i[4] * w[2],
        i[3] * w[0] + i[1] * w[1] + i[5] * w[2],
        i[4] * w[0] + i[5] * w[1] + i[2] * w[2],
    )
    return wp.spatial_vector(jw + wp.cross(mc, v), i[9] * v - wp.cross(mc, w))


@wp.func
def motion_of_hinge(axis: wp.vec3, offset: wp.vec3) -> wp.spatial_vector:
    """Motion vector of a rotation about axis; offset = reference point - anchor (mju_dofCom)."""
    return wp.spatial_vector(axis, wp.cross(axis, offset))


@wp.func
def motion_of_slide(axis: wp.vec3) -> wp.spatial_vector:
    """Motion vector of a translation along axis."""
    return wp.spatial_vector(wp.vec3(0.0), axis)
