"""From mjModel-named host arrays to the device bundles of collision detection."""

import numpy as np
import warp as wp

from kinema.arrays import empty_worlds, flat, per_world, shared
from kinema.collide.bundles import (
    Ahead,
    Contacts,
    GeomParameters,
    Geoms,
    HeightFields,
    Hulls,
    Meshes,
    Options,
    Pairs,
    Settings,
    Solids,
    Touch,
    vec5,
)
from kinema.collide.filter import GeomPairs, plain_order
from kinema.collide.ray import RayScene
from kinema.collide.sdf import Fields
from kinema.mujoco_enums import Disable, Geom

PAIR_DTYPE = {
    "geom": wp.vec2i, "function": int, "condim": int, "margin": float, "gap": float, "friction": vec5,
    "solref": wp.vec2, "solreffriction": wp.vec2, "solimp": vec5, "adhesion": float,
}  # fmt: skip


def field_parameters(fields: Fields | None, ngeom: int, nworld: int) -> wp.array:
    """Parameters of signed distance fields, (nworld, ngeom, n); the world stride is zero where worlds do not differ."""
    values = np.asarray(np.zeros((ngeom, 1)) if fields is None else fields.parameters)
    return per_world(values, float, rows=True) if values.ndim == 3 else shared(values, nworld, float)


def geoms(
    m,
    nworld: int,
    xpos: wp.array | None = None,
    xmat: wp.array | None = None,
    size: wp.array | None = None,
    fields: Fields | None = None,
    sleep: tuple[wp.array, wp.array] | None = None,
) -> Geoms:
    """Shapes of the model, their signed distance fields, and their poses and sizes (allocated when not given).

    `sleep` holds who is awake and what to do about each world, where bodies may sleep (asleep.py).
    """
    g = Geoms()
    g.field_kind = flat(np.full(m.ngeom, -1, np.int32) if fields is None else fields.kind)
    g.field_parameters = field_parameters(fields, m.ngeom, nworld)
    g.type = flat(m.geom_type)
    g.dataid = flat(m.geom_dataid)
    g.size = shared(m.geom_size, nworld, wp.vec3) if size is None else size
    g.rbound = shared(m.geom_rbound, nworld, float)
    g.aabb_center = shared(m.geom_aabb[:, :3], nworld, wp.vec3)
    g.aabb_half = shared(m.geom_aabb[:, 3:], nworld, wp.vec3)
    if fields is not None and fields.half is not None:
        known = np.isnan(fields.half)
        half = np.where(known, np.asarray(m.geom_aabb)[:, 3:], fields.half)
        radius = np.where(known[..., 0], np.asarray(m.geom_rbound), np.linalg.norm(half, axis=-1))
        g.aabb_half, g.rbound = per_world(half, wp.vec3), per_world(radius, float)
        g.aabb_center = per_world(np.where(known, np.asarray(m.geom_aabb)[:, :3], 0.0), wp.vec3)
    g.xpos = empty_worlds((nworld, m.ngeom), wp.vec3) if xpos is None else xpos
    g.xmat = empty_worlds((nworld, m.ngeom), wp.mat33) if xmat is None else xmat
    if sleep is not None:
        g.body = flat(m.geom_bodyid)
        g.awake, g.look = sleep
    return g


def solids(m, needed: bool) -> Solids:
    """Octrees and faces of the model's meshes, if they are needed."""

    def rows(values, width: int) -> np.ndarray:
        return np.asarray(values).reshape(-1, width) if needed else np.zeros((0, width))

    b = Solids()
    for name in ("octadr", "bvhadr", "faceadr"):
        setattr(b, name, flat(getattr(m, f"mesh_{name}") if needed else []))
    b.octchild = flat(rows(m.oct_child, 1)[:, 0])
    b.octbox = flat(rows(m.oct_aabb, 3), wp.vec3d)
    b.octvalue = flat(rows(m.oct_coeff, 1)[:, 0], wp.float64)
    b.bvhnode = flat(np.column_stack([rows(m.bvh_nodeid, 1), rows(m.bvh_child, 2)]), wp.vec3i)
    b.bvhbox = flat(rows(m.bvh_aabb, 3), wp.vec3d)
    b.face = flat(rows(m.mesh_face, 3), wp.vec3i)
    return b


def meshes(m, solid: bool = False) -> Meshes:
    """Convex hulls of the model's meshes; with ``solid``, what signed distance fields need of them too."""
    h = Hulls()
    for name in ("vertadr", "vertnum", "graphadr", "graph"):
        setattr(h, name, flat(getattr(m, f"mesh_{name}")))
    h.extrema = flat(np.asarray(m.mesh_extrema).reshape(-1))
    h.vert = flat(m.mesh_vert, wp.vec3)
    b = Meshes()
    b.hull = h
    b.solid = solids(m, solid)
    for name in ("polyadr", "polynum", "polyvertadr", "polyvertnum", "polyvert", "polymapadr", "polymapnum", "polymap"):
        setattr(b, name, flat(getattr(m, f"mesh_{name}")))
    b.polynormal = flat(m.mesh_polynormal, wp.vec3d)
    return b


def height_fields(m) -> HeightFields:
    """Height fields of the model."""
    b = HeightFields()
    b.size = flat(m.hfield_size, wp.vec4)
    for name in ("nrow", "ncol", "adr"):
        setattr(b, name, flat(getattr(m, f"hfield_{name}")))
    b.data = flat(m.hfield_data, float)
    return b


def settings(m) -> Settings:
    """Options of the iterative algorithms."""
    s = Options()
    s.ccd_iterations = int(m.opt.ccd_iterations)
    s.ccd_tolerance = float(m.opt.ccd_tolerance)
    s.multiccd = 0 if int(m.opt.disableflags) & Disable.MULTICCD else 1
    s.sdf_iterations = int(m.opt.sdf_iterations)
    s.sdf_initpoints = int(m.opt.sdf_initpoints)
    settings = Settings()
    settings.options = s
    return settings


def partners(m, host: GeomPairs) -> tuple[np.ndarray, np.ndarray]:
    """Which geoms each geom may collide with, and in which pair: (ngeom + 1,) first entries, (n, 2) entries.

    Height fields and signed distance fields are left out: they hide nothing.
    """
    pair = np.arange(len(host.function))
    geom = np.concatenate([host.geom[:, 0], host.geom[:, 1]])
    entries = np.concatenate([np.stack([host.geom[:, 1], pair], 1), np.stack([host.geom[:, 0], pair], 1)])
    keep = ~np.isin(np.asarray(m.geom_type)[entries[:, 0]], (Geom.HFIELD, Geom.SDF))
    order = np.argsort(geom[keep], kind="stable")
    starts = np.searchsorted(geom[keep][order], np.arange(m.ngeom + 1))
    return starts, entries[keep][order].astype(np.int32).reshape(-1, 2)


def ahead(m, host: GeomPairs, motion: dict[str, wp.array], scene: RayScene | None) -> Ahead:
    """What speculative contacts need: the motion of geoms, as given, and what may stand in their way."""
    b = Ahead()
    for name, array in motion.items():
        setattr(b, name, array)
    body = np.asarray(m.geom_bodyid)
    b.body, b.weld = flat(body), flat(np.asarray(m.body_weldid)[body])
    b.plain = flat(plain_order(m, host))
    starts, entries = partners(m, host)
    b.partneradr, b.partner = flat(starts.astype(np.int32)), flat(entries, wp.vec2i)
    b.mesh = scene.targets.mesh if scene else flat(np.zeros(1, np.uint64), wp.uint64)
    return b


def pairs(host: GeomPairs, nworld: int) -> Pairs:
    """Pairs and their parameters, one row for all worlds."""
    p = host.parameters
    b = Pairs()
    b.count = wp.full(nworld, len(host.function), dtype=int)
    rows = {"geom": host.geom.reshape(-1, 2), "function": host.function, **p._asdict()}
    for name, dtype in PAIR_DTYPE.items():
        setattr(b, name, shared(rows[name], nworld, dtype))
    return b


def swept_pairs(capacity: int, nworld: int) -> Pairs:
    """Room for ``capacity`` pairs a world that the broad phase fills in."""
    b = Pairs()
    b.count = wp.zeros(nworld, dtype=int)
    for name, dtype in PAIR_DTYPE.items():
        setattr(b, name, empty_worlds((nworld, capacity), dtype))
    return b


def geom_parameters(m, nworld: int) -> GeomParameters:
    """Contact parameters of the geoms, one row for all worlds."""
    b = GeomParameters()
    b.condim = flat(m.geom_condim)
    b.priority = flat(m.geom_priority)
    rows = {"solmix": float, "friction": wp.vec3, "solref": wp.vec2, "solimp": vec5, "margin": float, "gap": float}
    for name, dtype in rows.items():
        setattr(b, name, shared(getattr(m, f"geom_{name}"), nworld, dtype))
    b.adhesion = shared(getattr(m, "geom_adhesion", np.zeros(m.ngeom)), nworld, float)
    return b


def touch(nworld: int, n: int) -> Touch:
    """Room for the geometry of n contacts a world."""
    b = Touch()
    b.dist = empty_worlds((nworld, n), float)
    b.pos = empty_worlds((nworld, n), wp.vec3)
    b.frame = empty_worlds((nworld, n), wp.mat33)
    return b


def link(b: Touch, nworld: int, npair: int, n: int, ordered: bool, queues: int) -> None:
    """Let the slots of worlds be taken as contacts are found, and linked pair by pair (emit.py)."""
    b.used = wp.zeros(nworld, dtype=int)
    b.last = empty_worlds((nworld, npair), int)
    b.before = empty_worlds((nworld, n), int)
    b.order = empty_worlds((nworld, n) if ordered else (0, 0), int)
    b.queued = wp.zeros(queues, dtype=int)


def contacts(nworld: int, capacity: int, status: wp.array | None = None) -> Contacts:
    """Room for ``capacity`` contacts a world."""
    b = Contacts()
    b.ncon = wp.zeros(nworld, dtype=int)
    b.found = wp.zeros(nworld, dtype=int)
    b.status = wp.zeros(nworld, dtype=int) if status is None else status
    kinds = {
        "dist": float, "pos": wp.vec3, "frame": wp.mat33, "includemargin": float, "friction": vec5, "solref": wp.vec2,
        "solreffriction": wp.vec2, "solimp": vec5, "adhesion": float, "dim": int, "geom": wp.vec2i, "pair": int,
        "exclude": int,
    }  # fmt: skip
    for name, dtype in kinds.items():
        setattr(b, name, empty_worlds((nworld, capacity), dtype))
    return b


def estimate_capacity(host: GeomPairs) -> int:
    """A first guess of the contacts of a world: all slots of small models, about eight a moving geom of large ones."""
    return int(max(1, min(host.slots.sum(), max(128, 8 * len(np.unique(host.geom))))))
