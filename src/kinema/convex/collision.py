"""Collision as stages of the engine, and how much room contacts and rows need.

The narrow phase is `kinema.collide`'s; here its bundles join the engine's model and data. On the CPU detection is one
stage over a world; on CUDA the detector brings its own launches, a thread a pair.
"""

from functools import cache

import numpy as np
import warp as wp

from kinema.arrays import one_of
from kinema.collide.build import Build
from kinema.collide.by_world import world_function
from kinema.collide.detect import Detector
from kinema.collide.filter import GeomPairs, geom_pairs
from kinema.collide.ray import RayScene, RayTargets
from kinema.collide.sdf import Fields
from kinema.collide.upload import estimate_capacity
from kinema.convex import contact_parameters, geom_sizes
from kinema.convex.ahead import looks_ahead
from kinema.convex.data import AheadMotion, Contacts, Data, Poses, Sleep, State
from kinema.convex.flex.pairs import meets_fields, most_contacts
from kinema.convex.flex.tables import equality_rows, has_flexes
from kinema.convex.model import Collision, Model, Probes
from kinema.convex.present import Present
from kinema.convex.sensors import distance, sensor_types
from kinema.convex.sleep.sleepers import sleeps
from kinema.convex.solve.dual import is_dual
from kinema.convex.stage import Stage
from kinema.mujoco_enums import Disable, Sensor

CHEAP = 32_000  # bytes of a world that lists of full length may cost
FIRST = 400_000  # bytes of a world that its first lists may cost
AMPLE = 8_000_000  # on the CPU bytes of all worlds together, of which most are never touched
ROW_WORDS, CONTACT_WORDS = 16, 64  # numbers of a row beside its Jacobian, and of a contact; about


def detects(source) -> bool:
    """Does the model ask for collision detection at all?"""
    return not int(source.opt.disableflags) & (Disable.CONSTRAINT | Disable.CONTACT)


def constraint_rows(m) -> int:
    """The most rows that equalities, friction losses and limits could ask for."""
    rows = int(equality_rows(m).sum())
    rows += int((np.asarray(m.dof_frictionloss) > 0).sum() + (np.asarray(m.tendon_frictionloss) > 0).sum())
    return rows + 2 * len(_limited(m))


def _limited(m) -> np.ndarray:
    """Joints and tendons that have limits."""
    return np.flatnonzero(np.concatenate([np.asarray(m.jnt_limited) > 0, np.asarray(m.tendon_limited) > 0]))


def rows_per_contact(m) -> int:
    """The most rows that one contact could ask for."""
    condim = max([3, *np.asarray(m.geom_condim).tolist(), *np.asarray(m.pair_dim).tolist(), *_flex_condims(m)])
    return condim if m.opt.cone else 2 * (condim - 1)


def _flex_condims(m) -> list[int]:
    return np.asarray(m.flex_condim).tolist() if has_flexes(m) else []


def capacity(
    m, shapes, nconmax: int | None = None, nefcmax: int | None = None, *, sparing: bool = False, worlds: int = 0
) -> dict[str, int]:
    """Room for contacts and constraint rows of one world, by what the model could ask for.

    Args:
        m: The model.
        shapes: The same as collision detection reads it: its pairs of geoms.
        nconmax, nefcmax: Room that was asked for.
        sparing: Begin near what a world will want rather than with what it could: for rooms that can grow.
        worlds: On the CPU, how many there are. Where lists of full length cost them little, nobody need look after a
            call whether they sufficed, nor keep the state before it: a fifth of what a single step of a robot takes.
    """
    contacts, rows = nconmax or 0, nefcmax
    if not detects(m):
        contacts = 0
    elif nconmax is None:
        pairs = geom_pairs(shapes)
        contacts = estimate_capacity(pairs) + (most_contacts(m) if has_flexes(m) else 0)
        every = int(pairs.slots.sum())
        if worlds and nefcmax is None and not has_flexes(m) and _is_cheap(m, every, AMPLE // worlds):
            contacts = max(1, every)
        if sparing and nefcmax is None and not _is_cheap(m, contacts):
            contacts = min(contacts, first_contacts(m, pairs))
            rows = min(_most_rows(m, contacts), first_rows(m, contacts))
    rows = _most_rows(m, contacts) if rows is None else rows
    return {"nconmax": contacts, "nefcmax": rows, "ntreeword": -(-int(m.ntree) // 32)}


def first_contacts(m, pairs: GeomPairs) -> int:
    """Contacts of a world that begins sparingly: one for every geom that may touch another.

    Of a robot of very many geoms few touch at once: as many as cost FIRST bytes, and eight for each of its trees.
    """
    columns = int(m.nv) * (2 if is_dual(m) else 1)  # solvers that work on forces keep M^-1 J' as well
    each = 4 * rows_per_contact(m) * (columns + ROW_WORDS) + 4 * CONTACT_WORDS
    return in_sixteens(min(len(np.unique(pairs.geom)), max(32, 8 * int(m.ntree), FIRST // each)))


def first_rows(m, contacts: int) -> int:
    """Rows of such a world: of all its contacts at once, as when it lies down, half of its limits, all that is always
    there. Growing takes as long as dozens of steps, and it is when worlds fall that they grow."""
    always = constraint_rows(m) - 2 * len(_limited(m))
    return in_sixteens(always + len(_limited(m)) // 2 + rows_per_contact(m) * contacts)


def in_sixteens(n: float) -> int:
    """The next multiple of sixteen."""
    return max(1, -(-int(n) // 16)) * 16


def _most_rows(m, contacts: int) -> int:
    return constraint_rows(m) + rows_per_contact(m) * contacts


def _is_cheap(m, contacts: int, most: int = CHEAP) -> bool:
    """Does all the model could ask for cost so little that watching over less is not worth it?"""
    return 4 * (int(m.nv) + ROW_WORDS) * _most_rows(m, contacts) + 4 * CONTACT_WORDS * contacts <= most


class Collider:
    """The detector of one class of worlds, sharing the engine's poses, contacts and status.

    Args:
        cuda: Detect in the way of CUDA devices.
        sparing: There, take no more slots for contacts than there is room for contacts; more make the room grow.
    """

    def __init__(
        self, layout, present: Present, fields: Fields | None = None, *, cuda: bool = False, sparing: bool = False
    ):
        layout.fill(Poses), layout.fill(State)
        m = present.to("collision")
        rest = layout.fill(Sleep) if sleeps(m) else None
        contact_parameters.declare(layout)
        geom_sizes.declare(layout)
        self.contacts = layout.fill(Contacts)
        self.sparing = sparing
        motion = None
        if looks_ahead(m):
            moving = layout.fill(AheadMotion)
            motion = {name: getattr(moving, name) for name in AheadMotion.vars}
        self.detector = Detector(
            m, layout.nworld, capacity=max(1, layout.capacity["nconmax"]),
            pairs=layout.capacity.get("npairmax", 0), device=layout.device,
            geom_xpos=layout.arrays["geom_xpos"], geom_xmat=layout.arrays["geom_xmat"],
            geom_size=layout.arrays["geom_size"], contacts=self.contacts, fields=fields, motion=motion,
            sleep=(rest.body_awake, rest.look) if rest else None, thread_per_pair=cuda,
            slots=max(1, layout.capacity["nconmax"]) if sparing else None, solid=meets_fields(m),
        )  # fmt: skip
        self.active = detects(m) and self.detector.mask != 0
        self.source, self.nworld, self.device = m, layout.nworld, layout.device
        if contact_parameters.is_changed(layout):
            contact_parameters.mix(self.detector, layout)
        if geom_sizes.is_changed(layout):
            geom_sizes.resize(self.detector, layout)
        sees = Sensor.RANGEFINDER in sensor_types(m)
        self.rays = RayScene(m, device=self.device) if sees else None

    def regrow(self, layout) -> None:
        """Take the lists of contacts as long as they are now."""
        room = max(1, layout.capacity["nconmax"])
        if room != self.detector.capacity:
            self.contacts = layout.fill(Contacts)
            self.detector.regrow(self.contacts, room if self.sparing else None)

    def follow(self, name: str, layout) -> str:
        """Let detection follow a number that was written.

        Returns "": nothing else need be done; "moved": arrays of the bundle have; "anew": make a new collider.
        """
        if has_flexes(self.source):
            return "anew"  # pairs with flexes are mixed on the host
        if self.detector.build.sweep and name in (geom_sizes.SIZE, *contact_parameters.BOUNDS):
            return "anew"  # the width of its cells, and which geoms are large, follow from it
        if name == geom_sizes.SIZE:
            geom_sizes.resize(self.detector, layout)
            return "moved"
        if name not in contact_parameters.MIXED:
            return "anew"
        return "moved" if contact_parameters.mix(self.detector, layout) else ""

    @property
    def bundle(self) -> Collision:
        """The detector's inputs, as part of the engine's model."""
        collision = Collision()
        for name in ("geoms", "meshes", "hfields", "pairs", "settings"):
            setattr(collision, name, getattr(self.detector, name))
        if self.rays:
            collision.rays = one_of(self.rays.targets, RayTargets, self.device)
        if sensor_types(self.source) & distance.TYPES:
            collision.probes = one_of(distance.probes(self.source, self.nworld, self.device), Probes, self.device)
        return collision

    @property
    def stages(self) -> list[Stage]:
        """Detection, as a stage over one world."""
        return [Stage(detect(self.detector.build), alone=True, aside=True)] if self.active else []

    def launches(self) -> list[tuple]:
        """Detection on CUDA: (kernel, dim, inputs, block) of each launch."""
        return self.detector.launch_list()


@cache
def detect(mask: Build) -> wp.Function:
    """Contacts of one world, by the pair functions in the mask."""
    detect_world = world_function(mask)

    @wp.func
    def detect_stage(m: Model, d: Data, w: int):
        detect_world(
            w, m.collision.geoms, m.collision.meshes, m.collision.hfields, m.collision.pairs, m.collision.settings,
            d.con,
        )  # fmt: skip

    return detect_stage
