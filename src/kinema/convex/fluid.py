"""Forces of a surrounding fluid, by two models (mj_fluid).

Inertia box: the body is the box of its inertia, 2 x 2 x 2 half sizes from the moments; drag on its faces and Stokes
friction of the sphere of the same mean size.

Ellipsoid: each geom is an ellipsoid with semiaxes a, in its own frame, moving with (w, v) against the fluid:

    added mass    f = rho (m_v v) x w,   t = rho (m_v v) x v + rho (i_v w) x w
    Magnus lift   f = c_M rho V w x v
    Kutta lift    f = c_K rho A cos(alpha) (n x v) x v          n: normal of the section A seen along v
    drag          f = -(rho |v| (c_b A + c_s (A_max - A)) + 3 pi mu D) v, and the like for w
"""

import warp as wp

from kinema.convex.bundle import vec12
from kinema.convex.com import project_wrench, wrench_about
from kinema.convex.data import Data
from kinema.convex.jacobian import last_dof
from kinema.convex.model import Model
from kinema.convex.passive import has_passive_forces
from kinema.convex.velocity import local_velocity
from kinema.math.some import is_some
from kinema.math.spatial import angular, linear
from kinema.mujoco_enums import MINVAL, Geom


@wp.func
def semiaxes(kind: int, size: wp.vec3) -> wp.vec3:
    """Semiaxes of the ellipsoid that stands for a geom (mju_geomSemiAxes)."""
    if kind == Geom.SPHERE:
        return wp.vec3(size[0], size[0], size[0])
    if kind == Geom.CAPSULE:
        return wp.vec3(size[0], size[0], size[1] + size[0])
    if kind == Geom.CYLINDER:
        return wp.vec3(size[0], size[0], size[1])
    return size


@wp.func
def inertia_box(inertia: wp.vec3, mass: float) -> wp.vec3:
    """Full sizes of the box with this inertia."""
    scale = 6.0 / mass
    return wp.vec3(
        wp.sqrt(scale * wp.max(MINVAL, inertia[1] + inertia[2] - inertia[0])),
        wp.sqrt(scale * wp.max(MINVAL, inertia[0] + inertia[2] - inertia[1])),
        wp.sqrt(scale * wp.max(MINVAL, inertia[0] + inertia[1] - inertia[2])),
    )


@wp.func
def box_wrench(box: wp.vec3, vel: wp.spatial_vector, density: float, viscosity: float) -> wp.spatial_vector:
    """Torque and force on a body by the inertia-box model, in its inertial frame."""
    w = angular(vel)
    v = linear(vel)
    diameter = (box[0] + box[1] + box[2]) / 3.0
    torque = -wp.PI * diameter * diameter * diameter * viscosity * w
    force = -3.0 * wp.PI * diameter * viscosity * v
    for a in range(3):
        x, y = box[(a + 1) % 3], box[(a + 2) % 3]
        force[a] = force[a] - 0.5 * density * x * y * wp.abs(v[a]) * v[a]
        torque[a] = torque[a] - density / 64.0 * box[a] * (x * x * x * x + y * y * y * y) * wp.abs(w[a]) * w[a]
    return wp.spatial_vector(torque, force)


@wp.func
def by_length(axes: wp.vec3):
    """The axes of an ellipsoid, the longest first."""
    largest = wp.max(axes[0], wp.max(axes[1], axes[2]))
    smallest = wp.min(axes[0], wp.min(axes[1], axes[2]))
    return largest, axes[0] + axes[1] + axes[2] - largest - smallest, smallest


@wp.func
def ellipsoid_wrench(
    axes: wp.vec3, coef: vec12, vel: wp.spatial_vector, density: float, viscosity: float
) -> wp.spatial_vector:
    """Torque and force on a geom by the ellipsoid model, in its frame; coef is its row of geom_fluid."""
    w = angular(vel)
    v = linear(vel)
    blunt, slender, spin = coef[1], coef[2], coef[3]
    largest, middle, smallest = by_length(axes)
    volume = 4.0 / 3.0 * wp.PI * axes[0] * axes[1] * axes[2]
    speed = wp.length(v)

    # fluid that moves along
    momentum = density * wp.cw_mul(wp.vec3(coef[6], coef[7], coef[8]), v)
    spin_momentum = density * wp.cw_mul(wp.vec3(coef[9], coef[10], coef[11]), w)
    torque = wp.cross(momentum, v) + wp.cross(spin_momentum, w)
    force = wp.cross(momentum, w) + coef[5] * density * volume * wp.cross(w, v)

    # section seen along v; lengths in units of the largest axis and v as direction keep the powers in range
    area = float(0.0)
    if speed > MINVAL:
        u = v / speed
        s = axes / largest
        c = wp.vec3(s[1] * s[2], s[2] * s[0], s[0] * s[1])
        n = wp.cw_mul(wp.cw_mul(c, c), u)
        along = wp.dot(n, u)
        normal2 = wp.dot(n, n)
        area = wp.PI * largest * largest * wp.sqrt(normal2 / wp.max(MINVAL, along))
        lift = coef[4] * density * area * along / wp.max(MINVAL, normal2)
        force += lift * wp.cross(wp.cross(n, v), v)

    # Stokes friction of the mean sphere, and quadratic drag
    diameter = 2.0 / 3.0 * (axes[0] + axes[1] + axes[2])
    area_max = wp.PI * largest * middle
    drag = 3.0 * wp.PI * diameter * viscosity + density * speed * (area * blunt + slender * (area_max - area))
    moment_max = 8.0 / 15.0 * wp.PI * middle * largest * largest * largest * largest
    moments = wp.vec3(0.0)
    for a in range(3):
        wide = wp.max(axes[(a + 1) % 3], axes[(a + 2) % 3])
        moment = 8.0 / 15.0 * wp.PI * axes[a] * wide * wide * wide * wide
        moments[a] = w[a] * (spin * moment + slender * (moment_max - moment))
    turn = wp.PI * diameter * diameter * diameter * viscosity + density * wp.length(moments)
    return coef[0] * wp.spatial_vector(torque - turn * w, force - drag * v)


@wp.func
def fluid(m: Model, d: Data, w: int):
    """qfrc_fluid."""
    density = m.opt.density[w]
    viscosity = m.opt.viscosity[w]
    for i in range(m.size.nv):
        d.frc.qfrc_fluid[w, i] = 0.0
    if (is_some(density) or is_some(viscosity)) and has_passive_forces(m):
        for b in range(1, m.size.nbody):
            com = d.inertia.subtree_com[w, m.body.rootid[b]]
            cvel = d.vel.cvel[w, b]
            wrench = wp.spatial_vector()
            first = m.body.geomadr[b]
            ellipsoids = int(0)
            mass = m.body.mass[w, b]
            if mass >= MINVAL:
                for g in range(first, first + m.body.geomnum[b]):
                    if m.geom.fluid[w, g][0] > 0.0:
                        ellipsoids += 1
                        pos = d.pose.geom_xpos[w, g]
                        mat = d.pose.geom_xmat[w, g]
                        vel = local_velocity(cvel, com, pos, mat)
                        vel -= wp.spatial_vector(wp.vec3(0.0), wp.transpose(mat) * m.opt.wind[w])
                        axes = semiaxes(m.geom.type[g], m.geom.size[w, g])
                        f = ellipsoid_wrench(axes, m.geom.fluid[w, g], vel, density, viscosity)
                        wrench += wrench_about(mat * angular(f), mat * linear(f), pos, com)
                if ellipsoids == 0:
                    pos = d.pose.xipos[w, b]
                    mat = d.pose.ximat[w, b]
                    vel = local_velocity(cvel, com, pos, mat)
                    vel -= wp.spatial_vector(wp.vec3(0.0), wp.transpose(mat) * m.opt.wind[w])
                    f = box_wrench(inertia_box(m.body.inertia[w, b], mass), vel, density, viscosity)
                    wrench = wrench_about(mat * angular(f), mat * linear(f), pos, com)
                project_wrench(
                    d.frc.qfrc_fluid, d.inertia.cdof, m.dof.parentid, w,
                    last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, b), wrench,
                )  # fmt: skip
