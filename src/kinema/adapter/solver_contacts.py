"""The contacts a solver has found in its last step, and their forces, in Newton's buffers.

An engine finds its own contacts, at the state a step begins with. Here they are written as `Model.collide` writes
those it finds (model_contacts.py), in the order of worlds, with what the solver made of them:

    force = (f, tau)    on shape 0, in the world's frame, at the contact; shape 1 feels the opposite

Contacts that got no force, and sides that are of a flex or a particle (shape -1), are there too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from kinema.adapter.conventions import Places, to_xyzw
from kinema.adapter.model_contacts import Buffers
from kinema.convex.contact_force import local_force
from kinema.convex.data import Data
from kinema.errors import BuildError, warn_caller
from kinema.model import Contacts, Model


@wp.struct
class Sides:
    """What geoms of an engine are in a model."""

    shape: wp.array(dtype=int)  # of each geom, counted within the world; -2 - index: of no world; -1: none
    start: wp.array(dtype=int)  # first shape of each world
    body: wp.array(dtype=int)  # core body of each body but particles; -1: none
    margin: wp.array(dtype=float)  # of each shape of the model


@wp.kernel(enable_backward=False)
def count_contacts(d: Data, places: Places, count: wp.array(dtype=int)):
    """Contacts of each world, among all worlds."""
    w = wp.tid()
    count[places.world[w]] = d.con.ncon[w]


@wp.func
def shape_of(sides: Sides, w: int, geom: int) -> int:
    """The shape that a geom is; -1 for what is none."""
    if geom < 0:
        return -1
    shape = sides.shape[geom]
    if shape >= 0:
        return sides.start[w] + shape
    return -2 - shape if shape < -1 else -1


@wp.func
def frame_of(
    bodyid: wp.array(dtype=int), d: Data, sides: Sides, places: Places, w: int, geom: int
) -> wp.transform:  # fmt: skip
    """Takes points of the world's own frame into that of a geom's body, or of space where it stands still."""
    body = int(0)
    if geom >= 0:
        body = bodyid[geom]
    if body < sides.body.shape[0] and sides.body[body] >= 0:
        return wp.transform_inverse(wp.transform(d.pose.xpos[w, body], to_xyzw(d.pose.xquat[w, body])))
    return places.xform[w]


@wp.kernel(enable_backward=False)
def write_contacts(
    bodyid: wp.array(dtype=int),
    d: Data,
    sides: Sides,
    places: Places,
    count: wp.array(dtype=int),
    end: wp.array(dtype=int),
    out: Buffers,
):
    """Put each world's contacts into their place; `end` is the running sum of the counts of all worlds."""
    w, k = wp.tid()
    world = places.world[w]
    if k == 0 and world == end.shape[0] - 1:
        out.count[0] = end[world]
    c = end[world] - count[world] + k
    if k < d.con.ncon[w] and c < out.shape0.shape[0]:
        g0 = d.con.geom[w, k][0]
        g1 = d.con.geom[w, k][1]
        frame = d.con.frame[w, k]
        n = wp.vec3(frame[0, 0], frame[0, 1], frame[0, 2])
        half = 0.5 * d.con.dist[w, k] * n
        to0 = frame_of(bodyid, d, sides, places, w, g0)
        to1 = frame_of(bodyid, d, sides, places, w, g1)
        s0 = shape_of(sides, w, g0)
        s1 = shape_of(sides, w, g1)
        margin0 = float(0.0)
        margin1 = float(0.0)
        if s0 >= 0:
            margin0 = sides.margin[s0]
        if s1 >= 0:
            margin1 = sides.margin[s1]
        turn = wp.transform_get_rotation(places.xform[w])
        out.shape0[c] = s0
        out.shape1[c] = s1
        out.point0[c] = wp.transform_point(to0, d.con.pos[w, k] - half)
        out.point1[c] = wp.transform_point(to1, d.con.pos[w, k] + half)
        out.offset0[c] = wp.transform_vector(to0, margin0 * n)
        out.offset1[c] = wp.transform_vector(to1, -margin1 * n)
        out.margin0[c] = margin0
        out.margin1[c] = margin1
        out.normal[c] = wp.quat_rotate(turn, n)
        out.point_id[c] = k
        out.tids[c] = c


@wp.kernel(enable_backward=False)
def write_forces(
    cone: int,
    d: Data,
    places: Places,
    count: wp.array(dtype=int),
    end: wp.array(dtype=int),
    force: wp.array(dtype=wp.spatial_vector),
):
    """Put the forces of each world's contacts into their place."""
    w, k = wp.tid()
    world = places.world[w]
    c = end[world] - count[world] + k
    if k < d.con.ncon[w] and c < force.shape[0]:
        turn = wp.transform_get_rotation(places.xform[w])
        local = local_force(cone, d, w, k)
        back = wp.transpose(d.con.frame[w, k])
        f = back @ wp.vec3(local[0], local[1], local[2])
        tau = back @ wp.vec3(local[3], local[4], local[5])
        force[c] = -wp.spatial_vector(wp.quat_rotate(turn, f), wp.quat_rotate(turn, tau))


class SolverContacts:
    """Writes the contacts of a solver's engines into Newton's buffers.

    Args:
        model: The model.
        batches: Its engines (`solver.Batch`).
    """

    def __init__(self, model: Model, batches: list[Any]):
        self.model, self.batches = model, batches
        self.count, self.end = (wp.zeros(model.world_count, dtype=int, device=model.device) for _ in range(2))
        self._made: dict[int, Sides] = {}

    @property
    def most(self) -> int:
        """Contacts that all worlds together have room for."""
        return sum(batch.engine.nworld * batch.engine.capacity.contacts for batch in self.batches)

    def write(self, contacts: Contacts, force: wp.array | None) -> None:
        """Fill the buffers, and the forces where there is room for them."""
        contacts.clear()
        self.count.zero_()
        device = self.model.device
        for batch in self.batches:
            if "contact_dist" not in batch.engine.names:
                raise BuildError("contacts are not brought over from the program that runs these worlds")
            inputs = [batch.engine.d, batch.boundary.items.places, self.count]
            wp.launch(count_contacts, batch.engine.nworld, inputs, device=device)
        wp.utils.array_scan(self.count, self.end, inclusive=True)
        out = Buffers()
        for name in Buffers.vars:
            setattr(out, name, getattr(contacts, f"rigid_contact_{name}"))
        for batch in self.batches:
            engine, places = batch.engine, batch.boundary.items.places
            inputs = [engine.m.geom.bodyid, engine.d, self._sides(batch), places, self.count, self.end, out]
            dim = (engine.nworld, engine.layout.capacity["nconmax"])
            if all(dim):
                wp.launch(write_contacts, dim, inputs, device=device)
            if all(dim) and force is not None and force.size:
                inputs = [engine.m.opt.cone, engine.d, places, self.count, self.end, force]
                wp.launch(write_forces, dim, inputs, device=device)
        if force is not None and force.size:  # what is left of earlier contacts counts for nothing
            wp.launch(clear_beyond, force.shape[0], [contacts.rigid_contact_count, force], device=device)
        if not device.is_cuda:  # there one would have to wait
            found, room = int(contacts.rigid_contact_count.numpy()[0]), contacts.rigid_contact_max
            if found > room:
                warn_caller(
                    f"the solver has {found} contacts, the buffers room for {room}: the last {found - room} are left "
                    f"out; use Contacts(rigid_contact_max=solver.get_max_contact_count(), ...), {self.most} now",
                    UserWarning,
                )

    def _sides(self, batch: Any) -> Sides:
        """Made when they are first wanted, and kept as long as the tables of the boundary."""
        number = batch.boundary.number
        if number not in self._made:
            sides, device = Sides(), self.model.device
            sides.shape = wp.array(np.asarray(batch.source.geoms, np.int32), dtype=int, device=device)
            sides.start = wp.array(np.asarray(batch.starts("shape"), np.int32), dtype=int, device=device)
            sides.body, sides.margin = batch.boundary.items.bodies, self.model.shape_margin
            known = {each.boundary.number for each in self.batches}
            self._made = {n: made for n, made in self._made.items() if n in known} | {number: sides}
        return self._made[number]


@wp.kernel(enable_backward=False)
def clear_beyond(count: wp.array(dtype=int), force: wp.array(dtype=wp.spatial_vector)):
    """Forget forces of contacts that are not there."""
    c = wp.tid()
    if c >= count[0]:
        force[c] = wp.spatial_vector()
