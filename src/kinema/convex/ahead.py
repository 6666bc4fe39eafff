"""How geoms move within the step, for contacts ahead of impact (collide/speculative.py).

    travel = h v      velocity of the geom frame, from qvel alone: forces are not known yet when geoms are looked at
    turn   = h omega  0 for spheres, whose turning moves no surface
    reach  = |travel| + |turn| r_bound
"""

from __future__ import annotations

import warp as wp

from kinema.collide.swept import thickness
from kinema.convex import velocity
from kinema.convex.constraint.row import row_time
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.math.spatial import angular, linear
from kinema.mujoco_enums import Disable, Enable, Geom


def looks_ahead(m) -> bool:
    """Does the model ask for speculative contacts, and have them?"""
    off = int(m.opt.disableflags) & (Disable.CONSTRAINT | Disable.CONTACT | Disable.NATIVECCD)
    return bool(int(m.opt.enableflags) & Enable.SPECULATIVE) and not off


@wp.func
def geom_motion(m: Model, d: Data, w: int, g: int):
    """What one geom does within the step."""
    b = m.geom.bodyid[g]
    com = d.inertia.subtree_com[w, m.body.rootid[b]]
    v = velocity.velocity_at(d.vel.cvel[w, b], com, d.pose.geom_xpos[w, g])
    h = m.opt.timestep[w]
    travel = h * linear(v)
    turn = h * angular(v)
    if m.collision.geoms.type[g] == Geom.SPHERE:
        turn = wp.vec3()
    d.ahead[0].travel[w, g] = travel
    d.ahead[0].turn[w, g] = turn
    d.ahead[0].reach[w, g] = wp.length(travel) + wp.length(turn) * m.collision.geoms.rbound[w, g]


@wp.func
def body_motion(m: Model, d: Data, w: int, b: int):
    """The farthest that anything of a body moves, and how thin its thinnest geom is."""
    reach = float(0.0)
    thin = float(1.0e10)
    for g in range(m.body.geomadr[b], m.body.geomadr[b] + m.body.geomnum[b]):
        reach = wp.max(reach, d.ahead[0].reach[w, g])
        thin = wp.min(thin, thickness(m.collision.geoms, w, g))
    d.ahead[0].body_reach[w, b] = reach
    d.ahead[0].body_thin[w, b] = thin


@wp.func
def step_time(m: Model, d: Data, w: int):
    """The step, and what rows know of the integrator."""
    time = row_time(m.opt, w)
    d.ahead[0].clock[w, 0] = wp.vec4(m.opt.timestep[w], time[0], time[1], time[2])


def stages() -> list[Stage]:
    """Motion of geoms, after velocities about the centres of mass."""
    return [Stage(geom_motion, over="ngeom"), Stage(body_motion, over="nbody"), Stage(step_time)]


def sizes(m) -> dict[str, int]:
    """Room that only looking ahead needs."""
    on = int(looks_ahead(m))
    return {"ngeom_ahead": on * int(m.ngeom), "nbody_ahead": on * int(m.nbody), "one_ahead": on}
