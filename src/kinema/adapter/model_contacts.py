"""`Model.collide`: the contacts of a state, in Newton's buffers, found by the engine's narrow phase.

One detector runs each class of identical worlds. Its geoms are those of the world's documents, as compiled, and of the
shapes built by hand or shared by all worlds; they are put where `State.body_q` says. A contact becomes

    point0, point1     the points on the two surfaces, in the frames of the two bodies; with the normal n from shape 0
                       to shape 1, n . (point1 - point0) is the distance, negative when they penetrate
    margin0, margin1   the shapes' margins; offset0, offset1 = margin0 n, -margin1 n in the bodies' frames

Contacts are found within the sum of margins and gaps, and stand in the order of worlds. `rigid_contact_count` and
`soft_contact_count` say how many were found: more than the buffers hold when these are too small.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import warp as wp

from kinema.adapter import particle_contacts
from kinema.adapter.shape_geoms import COLUMNS, ShapeDocument, element
from kinema.collide.bundles import Contacts as Found
from kinema.collide.detect import Detector
from kinema.compile.host_model import HostModel
from kinema.compile.join import join
from kinema.compile.pipeline import compile_model
from kinema.compile.rows import host_models
from kinema.compile.world_rows import (
    WholeRows,
    all_rows,
    claimed_rows,
    documents_in,
    has_no_worlds,
    shared_shapes,
)
from kinema.errors import BuildError
from kinema.mjcf.source import Node
from kinema.model import Contacts, Model, State, WorldClass
from kinema.model.enums import BodyFlags

SHARED, STATIC = -2, -1
PARTICLE_GAP = 0.01
"""Distance [m] beyond radius and margin within which particles are in contact: Newton's default."""

_colliders: WeakKeyDictionary[Model, ModelCollider] = WeakKeyDictionary()


def collide_model(
    model: Model, state: State, contacts: Contacts, *, rules: Any = None, soft_gap: float | None = None
) -> None:
    """Find the contacts of a state.

    What a model needs for it is made on the first call and kept; changes of shapes later are not seen.

    Args:
        model: The model.
        state: Where things are.
        contacts: Buffers to fill.
        rules: Which contacts of shapes count, from `rules_of`; None: all.
        soft_gap: Distance [m] within which particles are in contact, beyond radius and margin; None: PARTICLE_GAP.
    """
    if model not in _colliders:
        _colliders[model] = ModelCollider(model)
    _colliders[model].collide(state, contacts, rules, PARTICLE_GAP if soft_gap is None else float(soft_gap))


def rules_of(model: Model, pairs: Any = None, *, moved_only: bool = False) -> Rules:
    """Rules for contacts: of these pairs of shapes alone, (n, 2), and only where something is free to move."""
    rules = Rules()
    count, device = model.shape_count, model.device
    found = np.zeros((0, 2), np.int64)
    if pairs is not None:
        found = np.asarray(pairs.numpy() if isinstance(pairs, wp.array) else pairs, np.int64).reshape(-1, 2)
        if found.size and not (0 <= found.min() and found.max() < count):
            raise BuildError(f"shape_pairs_filtered names shape {int(found.max())}: the model has {count}")
        found = np.sort(found, axis=1) if found.size else np.array([[count, count]])  # none: a pair that is not there
    rules.pairs = wp.array(np.unique(found @ [count, 1]), dtype=wp.int64, device=device)
    rules.shapes, rules.moved_only = count, int(moved_only)
    rules.body, rules.flags = model.shape_body, model.body_flags
    return rules


@wp.struct
class GeomFrames:
    """Where geoms stand, indexed [geom]: in a body, in the frame of the world (-1), or in the space of all (-2)."""

    body: wp.array(dtype=int)
    xform: wp.array(dtype=wp.transform)
    shape: wp.array(dtype=int)  # index within the world, or of all shapes where body is -2


@wp.struct
class Starts:
    """First rows of each world of a class, and where it was placed."""

    world: wp.array(dtype=int)
    body: wp.array(dtype=int)
    shape: wp.array(dtype=int)
    xform: wp.array(dtype=wp.transform)


@wp.func
def global_shape(frames: GeomFrames, starts: Starts, w: int, g: int) -> int:
    return wp.where(frames.body[g] == wp.static(SHARED), frames.shape[g], starts.shape[w] + frames.shape[g])


@wp.func
def body_pose(frames: GeomFrames, starts: Starts, body_q: wp.array(dtype=wp.transform), w: int, g: int) -> wp.transform:
    """Frame of the body a geom is on, that of space for static ones."""
    pose = wp.transform_identity()
    if frames.body[g] >= 0:
        pose = body_q[starts.body[w] + frames.body[g]]
    return pose


@wp.kernel(enable_backward=False)
def place_geoms(
    frames: GeomFrames,
    starts: Starts,
    body_q: wp.array(dtype=wp.transform),
    xpos: wp.array2d(dtype=wp.vec3),
    xmat: wp.array2d(dtype=wp.mat33),
):
    """Poses of all geoms at a state."""
    w, g = wp.tid()
    pose = body_pose(frames, starts, body_q, w, g)
    if frames.body[g] == wp.static(STATIC):
        pose = starts.xform[w]
    pose = pose * frames.xform[g]
    xpos[w, g] = wp.transform_get_translation(pose)
    xmat[w, g] = wp.quat_to_matrix(wp.transform_get_rotation(pose))


@wp.kernel(enable_backward=False)
def count_worlds(found: Found, starts: Starts, count: wp.array(dtype=int)):
    """Contacts of each world, among all worlds."""
    w = wp.tid()
    count[starts.world[w]] = found.ncon[w]


@wp.struct
class Buffers:
    """Newton's arrays of rigid contacts."""

    shape0: wp.array(dtype=int)
    shape1: wp.array(dtype=int)
    point_id: wp.array(dtype=int)
    tids: wp.array(dtype=int)
    point0: wp.array(dtype=wp.vec3)
    point1: wp.array(dtype=wp.vec3)
    offset0: wp.array(dtype=wp.vec3)
    offset1: wp.array(dtype=wp.vec3)
    normal: wp.array(dtype=wp.vec3)
    margin0: wp.array(dtype=float)
    margin1: wp.array(dtype=float)
    count: wp.array(dtype=int)


@wp.func
def write_contact(
    found: Found, frames: GeomFrames, starts: Starts, body_q: wp.array(dtype=wp.transform),
    margin: wp.array(dtype=float), w: int, k: int, c: int, out: Buffers,
):  # fmt: skip
    """Move contact k of a world to place c."""
    g0 = found.geom[w, k][0]
    g1 = found.geom[w, k][1]
    n = wp.vec3(found.frame[w, k][0, 0], found.frame[w, k][0, 1], found.frame[w, k][0, 2])
    half = 0.5 * found.dist[w, k] * n
    s0 = global_shape(frames, starts, w, g0)
    s1 = global_shape(frames, starts, w, g1)
    back0 = wp.transform_inverse(body_pose(frames, starts, body_q, w, g0))
    back1 = wp.transform_inverse(body_pose(frames, starts, body_q, w, g1))
    out.shape0[c] = s0
    out.shape1[c] = s1
    out.point0[c] = wp.transform_point(back0, found.pos[w, k] - half)
    out.point1[c] = wp.transform_point(back1, found.pos[w, k] + half)
    out.offset0[c] = wp.transform_vector(back0, margin[s0] * n)
    out.offset1[c] = wp.transform_vector(back1, -margin[s1] * n)
    out.margin0[c] = margin[s0]
    out.margin1[c] = margin[s1]
    out.normal[c] = n
    out.point_id[c] = k
    out.tids[c] = c


@wp.kernel(enable_backward=False)
def write_contacts(
    found: Found,
    frames: GeomFrames,
    starts: Starts,
    body_q: wp.array(dtype=wp.transform),
    margin: wp.array(dtype=float),
    count: wp.array(dtype=int),
    end: wp.array(dtype=int),
    out: Buffers,
):
    """Move each world's contacts to their place; `end` is the running sum of the counts of all worlds."""
    w, k = wp.tid()
    world = starts.world[w]
    if k == 0 and world == end.shape[0] - 1:
        out.count[0] = end[world]
    c = end[world] - count[world] + k
    if k < found.ncon[w] and c < out.shape0.shape[0]:
        write_contact(found, frames, starts, body_q, margin, w, k, c, out)


@wp.struct
class Rules:
    """Which contacts a pipeline wants."""

    pairs: wp.array(dtype=wp.int64)  # rising: lower shape * shapes + higher shape; empty: all
    shapes: wp.int64
    body: wp.array(dtype=int)  # of each shape
    flags: wp.array(dtype=int)  # of each body
    moved_only: int  # something must be free to move


@wp.func
def is_free(rules: Rules, shape: int) -> bool:
    body = rules.body[shape]
    if body < 0:
        return False
    return (rules.flags[body] & wp.static(int(BodyFlags.KINEMATIC))) == 0


@wp.func
def is_wanted(rules: Rules, s0: int, s1: int) -> bool:
    """Whether a pair of shapes is among those that count."""
    if rules.moved_only != 0 and not is_free(rules, s0) and not is_free(rules, s1):
        return False
    if rules.pairs.shape[0] == 0:
        return True
    key = wp.int64(wp.min(s0, s1)) * rules.shapes + wp.int64(wp.max(s0, s1))
    at = wp.lower_bound(rules.pairs, key)
    if at >= rules.pairs.shape[0]:
        return False
    return rules.pairs[at] == key


@wp.kernel(enable_backward=False)
def count_wanted(found: Found, frames: GeomFrames, starts: Starts, rules: Rules, count: wp.array(dtype=int)):
    """Contacts of each world that count."""
    w = wp.tid()
    n = int(0)
    for k in range(found.ncon[w]):
        g = found.geom[w, k]
        if is_wanted(rules, global_shape(frames, starts, w, g[0]), global_shape(frames, starts, w, g[1])):
            n += 1
    count[starts.world[w]] = n


@wp.kernel(enable_backward=False)
def write_wanted(
    found: Found,
    frames: GeomFrames,
    starts: Starts,
    body_q: wp.array(dtype=wp.transform),
    margin: wp.array(dtype=float),
    count: wp.array(dtype=int),
    end: wp.array(dtype=int),
    rules: Rules,
    out: Buffers,
):
    """Move those of each world that count to their places, in their order."""
    w = wp.tid()
    world = starts.world[w]
    if world == end.shape[0] - 1:
        out.count[0] = end[world]
    c = end[world] - count[world]
    for k in range(found.ncon[w]):
        g = found.geom[w, k]
        if is_wanted(rules, global_shape(frames, starts, w, g[0]), global_shape(frames, starts, w, g[1])):
            if c < out.shape0.shape[0]:
                write_contact(found, frames, starts, body_q, margin, w, k, c, out)
            c += 1


class ModelCollider:
    """What collision detection keeps of a model."""

    def __init__(self, model: Model):
        # the model itself is not kept: it is the key this object hangs on
        self.device = model.device
        self.world_count, self.particle_count = model.world_count, model.particle_count
        self.batches = [ClassCollider(model, worlds) for worlds in model.world_classes] if model.shape_count else []
        self.batches = [batch for batch in self.batches if batch.detector is not None]
        self.margin = model.shape_margin
        self.count, self.end = (wp.zeros(model.world_count, dtype=int, device=self.device) for _ in range(2))
        self.no_bodies = wp.zeros(1, dtype=wp.transform, device=self.device)
        if self.particle_count and model.shape_count:
            self._prepare_particles(model)

    def _prepare_particles(self, model: Model) -> None:
        shapes = particle_contacts.Shapes()
        columns = {"body": "shape_body", "type": "shape_type", "flags": "shape_flags", "world": "shape_world",
                   "xform": "shape_transform", "scale": "shape_scale", "margin": "shape_margin",
                   "mesh": "shape_source_ptr", "world_start": "shape_world_start"}  # fmt: skip
        for name, key in columns.items():
            setattr(shapes, name, getattr(model, key))
        self.shapes = shapes
        self.particles = (model.particle_flags, model.particle_world, model.particle_radius)
        n = self.particle_count
        self.soft_count, self.soft_end = (wp.zeros(n, dtype=int, device=self.device) for _ in range(2))

    def collide(self, state: State, contacts: Contacts, rules: Any, soft_gap: float) -> None:
        """Fill the buffers."""
        contacts.clear()
        body_q = self.no_bodies if state.body_q is None or not state.body_q.size else state.body_q
        if self.batches:
            self._rigid(body_q, contacts, rules)
        if self.particle_count and hasattr(self, "shapes"):
            self._soft(state, body_q, contacts, soft_gap)

    def _rigid(self, body_q: wp.array, contacts: Contacts, rules: Any) -> None:
        self.count.zero_()
        for batch in self.batches:
            batch.detect(body_q)
            found = batch.detector.contacts
            if rules is None:
                batch.launch(count_worlds, batch.nworld, [found, batch.starts, self.count])
            else:
                batch.launch(count_wanted, batch.nworld, [found, batch.frames, batch.starts, rules, self.count])
        wp.utils.array_scan(self.count, self.end, inclusive=True)
        out = Buffers()
        for name in Buffers.vars:
            setattr(out, name, getattr(contacts, f"rigid_contact_{name}"))
        for batch in self.batches:
            detector = batch.detector
            inputs = [detector.contacts, batch.frames, batch.starts, body_q, self.margin, self.count, self.end]
            if rules is None:
                batch.launch(write_contacts, (detector.nworld, detector.capacity), [*inputs, out])
            else:
                batch.launch(write_wanted, detector.nworld, [*inputs, rules, out])

    def _soft(self, state: State, body_q: wp.array, contacts: Contacts, gap: float) -> None:
        flags, world, radius = self.particles
        inputs = [self.shapes, gap, flags, world, state.particle_q, radius, body_q, self.soft_count]
        wp.launch(particle_contacts.count_contacts, self.particle_count, inputs, device=self.device)
        wp.utils.array_scan(self.soft_count, self.soft_end, inclusive=True)
        inputs = [self.shapes, gap, world, state.particle_q, radius, body_q, self.soft_count, self.soft_end]
        names = ("particle", "shape", "body_pos", "body_vel", "normal", "tids", "count")
        outputs = [getattr(contacts, f"soft_contact_{name}") for name in names]
        wp.launch(particle_contacts.write_contacts, self.particle_count, inputs + outputs, device=self.device)


class ClassCollider:
    """The detector of one class of worlds."""

    def __init__(self, model: Model, worlds: WorldClass):
        self.device = model.device
        self.whole = has_no_worlds(model)
        rows = WholeRows(model) if self.whole else worlds.template
        host, bodies, shapes = _source(model, rows, self.whole)
        self.host: Any = host
        self.nworld = len(worlds)
        self.detector: Any = None
        if host is None:
            return
        self._detector(None)
        self.frames = self._frames(bodies, shapes)
        self.starts = self._starts(model, worlds)

    def _detector(self, capacity: int | None) -> None:
        self.detector = Detector(self.host, self.nworld, capacity=capacity, device=self.device)
        self.enough = self.detector.capacity >= self.detector.slots.sum()

    def detect(self, body_q: wp.array) -> None:
        """Find the contacts; where they find no room, make more and look again."""
        while True:
            geoms = self.detector.geoms
            inputs = [self.frames, self.starts, body_q, geoms.xpos, geoms.xmat]
            self.launch(place_geoms, (self.nworld, self.host.ngeom), inputs)
            self.detector.detect()
            if self.enough or self.device.is_capturing:
                return
            most = int(self.detector.contacts.found.numpy().max())
            if most <= self.detector.capacity:
                return
            self._detector(2 * most)

    def launch(self, kernel: wp.Kernel, dim: Any, inputs: list) -> None:
        """Launch a kernel on the model's device."""
        wp.launch(kernel, dim=dim, inputs=inputs, device=self.device)

    def _frames(self, bodies: np.ndarray, shapes: np.ndarray) -> GeomFrames:
        """Poses of geoms as compiled, and what they are relative to."""
        host = self.host
        quat = np.asarray(host.geom_quat)[:, [1, 2, 3, 0]]
        xform = np.concatenate([np.asarray(host.geom_pos), quat], axis=1)
        body = np.asarray(bodies)[np.asarray(host.geom_bodyid)]
        shared = shapes <= SHARED
        frames = GeomFrames()
        kind = np.where(shared, SHARED, np.where(body >= 0, body, STATIC))
        frames.body = wp.array(kind.astype(np.int32), dtype=int, device=self.device)
        frames.xform = wp.array(xform.astype(np.float32), dtype=wp.transform, device=self.device)
        number = np.where(shared, SHARED - shapes, shapes)
        frames.shape = wp.array(number.astype(np.int32), dtype=int, device=self.device)
        return frames

    def _starts(self, model: Model, worlds: WorldClass) -> Starts:
        starts = Starts()
        zeros = np.zeros(len(worlds), int)
        columns = {"world": worlds.worlds, **{
            kind: zeros if self.whole else model.kind_starts(kind)[worlds.worlds] for kind in ("body", "shape")
        }}  # fmt: skip
        for name, values in columns.items():
            setattr(starts, name, wp.array(np.asarray(values, np.int32), dtype=int, device=self.device))
        placed = np.tile([0.0, 0, 0, 0, 0, 0, 1], (len(worlds), 1)) if worlds.xforms is None else worlds.xforms
        starts.xform = wp.array(np.asarray(placed, np.float32), dtype=wp.transform, device=self.device)
        return starts


def _source(
    model: Model, rows: Mapping[str, np.ndarray], whole: bool
) -> tuple[HostModel | None, np.ndarray, np.ndarray]:
    """The geoms of a world under mjModel's names; the core body of each body, and the shape of each geom."""
    documents = host_models(rows) if documents_in(model) else []
    claimed = claimed_rows(rows, "geom_shape", "site_shape") if documents else set()
    bodies = np.asarray(rows["mujoco:body_index"]).astype(int) if documents else np.zeros(0, int)
    shapes = np.asarray(rows["mujoco:geom_shape"]).astype(int) if documents else np.zeros(0, int)
    host = None
    for document in documents:
        host = document if host is None else join(host, document)
    local = [s for s in range(len(rows["shape_type"])) if s not in claimed]
    shared = [] if whole else shared_shapes(model)
    if local or shared:
        more, more_bodies, more_shapes = _built_by_hand(model, rows, local, shared)
        host = more if host is None else join(host, more)
        bodies, shapes = np.concatenate([bodies, more_bodies]), np.concatenate([shapes, more_shapes])
    return host, bodies, shapes


def _built_by_hand(
    model: Model, rows: Mapping[str, np.ndarray], local: list[int], shared: list[int]
) -> tuple[HostModel, np.ndarray, np.ndarray]:
    """Shapes as geoms of bodies that are free to move: joints do not matter to who touches whom."""
    columns = {key: np.concatenate([rows[key][local], all_rows(model, key)[shared]]) for key in COLUMNS}
    columns["shape_body"][len(local) :] = -1
    root = Node("mujoco", {"model": "shapes"})
    element(root, "compiler", angle="radian")
    element(element(root, "option"), "flag", filterparent="disable")
    world = element(root, "worldbody")
    nodes, names = {-1: world}, {-1: "world"}
    for body in sorted(set(columns["shape_body"].tolist()) - {-1}):
        nodes[body] = element(world, "body", name=f"body{body}")
        names[body] = f"body{body}"
        element(nodes[body], "freejoint")
        element(nodes[body], "inertial", pos="0 0 0", mass="1", diaginertia="1 1 1")
    document = ShapeDocument(root, columns, nodes, names, gaps=True)
    made = {name: k for k in range(len(columns["shape_type"])) if (name := document.add(k))}
    place = {s: k for k, s in enumerate(local)} | {SHARED - s: len(local) + k for k, s in enumerate(shared)}
    filters = [[place[a], place[b]] for a, b in rows["shape_filter_pairs"].tolist() if a in place and b in place]
    document.filter(np.array(filters, dtype=int).reshape(-1, 2))
    host = compile_model(root)
    host.stated = {}
    order = np.array([*local, *(SHARED - s for s in shared)], dtype=int)
    bodies = np.array([-1 if name == "world" else int(name[4:]) for name in host.names("body")])
    return host, bodies, order[[made[name] for name in host.names("geom")]] if made else np.zeros(0, int)
