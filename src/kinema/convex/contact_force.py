"""Contact forces, for all worlds at once: in contact frames (mj_contactForce), and summed over each body.

    contact_forces(sim)       (nworld, nconmax, 6)  in contact frames: normal force, two tangents; spin, two rolls
    body_contact_forces(sim)  (nworld, nbody, 6)    in the world's frame: force, torque about the body's centre of mass

Contacts beyond `ncon` of a world, and those without rows, have none. The force acts on geom 2, its opposite on geom 1;
sides that are of a flex count for no body.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from kinema.convex.constraint.row import geom_body
from kinema.convex.data import Data
from kinema.convex.loads import contact_force as force_of_rows
from kinema.convex.model import Model
from kinema.errors import UnknownKey


@wp.func
def local_force(cone: int, d: Data, w: int, c: int) -> wp.spatial_vector:
    """Force and torque of one contact in its frame."""
    return force_of_rows(
        d.efc.force, w, d.crow.address[w, c], d.con.dim[w, c], cone, d.con.friction[w, c], d.con.adhesion[w, c]
    )


@wp.kernel(enable_backward=False)
def _contact_kernel(cone: int, d: Data, out: wp.array2d(dtype=wp.spatial_vector)):
    w, c = wp.tid()
    force = wp.spatial_vector()
    if c < d.con.ncon[w]:
        force = local_force(cone, d, w, c)
    out[w, c] = force


@wp.kernel(enable_backward=False)
def _body_kernel(m: Model, d: Data, out: wp.array2d(dtype=wp.spatial_vector)):
    w = wp.tid()
    for b in range(m.size.nbody):
        out[w, b] = wp.spatial_vector()
    for c in range(d.con.ncon[w]):
        if d.crow.address[w, c] >= 0:
            local = local_force(m.opt.cone, d, w, c)
            turn = wp.transpose(d.con.frame[w, c])
            force = turn * wp.vec3(local[0], local[1], local[2])
            torque = turn * wp.vec3(local[3], local[4], local[5])
            for side in range(2):
                body = geom_body(m.geom.bodyid, d.con.geom[w, c][side])
                if body >= 0:
                    sign = 2.0 * float(side) - 1.0
                    arm = d.con.pos[w, c] - d.pose.xipos[w, body]
                    load = wp.spatial_vector(sign * force, sign * (torque + wp.cross(arm, force)))
                    out[w, body] = out[w, body] + load


def contact_forces(sim) -> wp.array:
    """Forces of all contacts in their frames, an array of 6-vectors [world, contact] on the device.

    Args:
        sim: A Simulation or an Engine, after `forward` or `step`.
    """
    engine = getattr(sim, "engine", sim)
    shape = (engine.nworld, engine.capacity.contacts)
    out = wp.zeros(shape, dtype=wp.spatial_vectorf, device=engine.device)
    wp.launch(_contact_kernel, dim=shape, inputs=[engine.m.opt.cone, engine.d, out], device=engine.device)
    return out


def body_contact_forces(sim) -> wp.array:
    """Sums over the contacts of each body, an array of 6-vectors [world, body] on the device, in the world's frame."""
    engine = getattr(sim, "engine", sim)
    out = wp.zeros((engine.nworld, engine.source.nbody), dtype=wp.spatial_vectorf, device=engine.device)
    wp.launch(_body_kernel, dim=engine.nworld, inputs=[engine.m, engine.d, out], device=engine.device)
    return out


def contact_force(sim, contact: int, world: int = 0) -> np.ndarray:
    """Force and torque of one contact of one world in its frame, as mj_contactForce gives them."""
    engine = getattr(sim, "engine", sim)
    count = int(engine.read("ncon")[world])
    if not 0 <= contact < count:
        raise UnknownKey(f"contact {contact}: world {world} has {count}")
    return contact_forces(engine).numpy()[world, contact]
