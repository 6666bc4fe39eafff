"""The driver: from geom poses to ordered contacts, for all worlds.

A thread a world on the CPU (by_world.py), a thread a pair of a world on CUDA (by_pair.py, gather.py): both give the
same contacts in the same order. Contacts beyond the capacity are not stored, but counted in ``Contacts.found`` and
flagged in ``Contacts.status``.
"""

from typing import Any

import numpy as np
import warp as wp

from kinema.arrays import empty_worlds, one_of
from kinema.collide import cull, upload
from kinema.collide.broad import awake_sweep, count_pairs, place_pairs, sort_geoms, write_pairs
from kinema.collide.build import FIELD, FIELD_MESH, HFIELD, Build, family_mask
from kinema.collide.bundles import Ahead, Contacts, Cull, Sweep
from kinema.collide.by_pair import TURNS, ahead_kernel, crew_kernel, pair_kernel
from kinema.collide.by_world import world_function, world_kernel
from kinema.collide.filter import geom_pairs
from kinema.collide.gather import GATHER, gather_awake, gather_contacts, ordering_kernel
from kinema.collide.prisms import PRISM_QUEUES, finish_kernel, prism_launches, prism_queues
from kinema.collide.ray import RayScene
from kinema.collide.sdf import Fields
from kinema.collide.sweep import MANY, colliding
from kinema.collide.sweep import bundle as sweep_bundle
from kinema.collide.sweep import plan as sweep_plan
from kinema.collide.table import FAMILIES, function_mask
from kinema.collide.workspace import CREW_BLOCK, OCTET_BLOCK, Queue, Workspace, crew, octets, queue, workspace
from kinema.devices import device_named
from kinema.errors import BuildError
from kinema.math.octet import OCTET_LANES
from kinema.mujoco_enums import Enable, Geom


def require_fields(m, mask: int, fields: Fields | None) -> None:
    """Refuse models whose signed distance fields would be passed through silently."""
    if not mask & (FIELD | FIELD_MESH):
        return
    for g in np.flatnonzero(np.asarray(m.geom_type) == Geom.SDF):
        mesh = m.geom_dataid[g]
        if (fields is None or fields.kind[g] < 0) and (mesh < 0 or m.mesh_octadr[mesh] < 0 or m.geom_plugin[g] >= 0):
            raise BuildError(
                f"geom {g} is of type sdf and collides, but no distance function was given: pass Detector(fields=...)"
            )


class Detector:
    """Contacts of ``nworld`` worlds of one model.

    ``model`` is any object with mjModel's attributes. ``geom_xpos`` and ``geom_xmat`` are the arrays of poses that the
    engine writes, ``geom_size`` its array of sizes, (nworld, ngeom); allocated when not given. ``contacts`` holds the
    result. ``thread_per_pair`` chooses the shape of execution (by default: on CUDA), ``sweep`` the broad phase: a
    fixed list of all pairs, or a search for near ones (by default: for many geoms), with room for at least ``pairs``
    of them. With a thread a pair, ``slots`` is the room for contacts of a world as they are found (by default: for all
    that its pairs could make). ``fields`` brings the signed distance fields of geoms of type sdf, and ``solid`` says
    that somebody else asks for those of meshes; ``motion`` how geoms move within the step (arrays of ``Ahead``, by
    name), which asks for speculative contacts: all pairs are then listed. ``detect()`` only launches kernels and
    allocates nothing.
    """

    def __init__(
        self,
        model,
        nworld: int,
        *,
        capacity: int | None = None,
        pairs: int = 0,
        geom_xpos: wp.array | None = None,
        geom_xmat: wp.array | None = None,
        geom_size: wp.array | None = None,
        status: wp.array | None = None,
        contacts: "Contacts | None" = None,
        thread_per_pair: bool | None = None,
        sweep: bool | None = None,
        slots: int | None = None,
        fields: Fields | None = None,
        solid: bool = False,
        sleep: tuple[wp.array, wp.array] | None = None,
        motion: dict[str, wp.array] | None = None,
        device: Any = None,
    ):
        self.device = device_named(device)
        self.nworld = nworld
        self.bounds: Any = None
        sweep = len(colliding(model)) > MANY if sweep is None else sweep
        sweep = sweep and not int(model.opt.enableflags) & Enable.OVERRIDE  # overridden parameters come in lists only
        sweep = sweep and motion is None  # cells are no larger than geoms that stand still
        plan = sweep_plan(model) if sweep else None
        if plan and pairs > plan.capacity:
            plan = plan._replace(capacity=pairs)
        self.host = plan.special if plan else geom_pairs(model)
        self.mask = plan.mask if plan else function_mask(self.host.function)
        require_fields(model, self.mask | (FIELD if solid else 0), fields)
        build = Build.of(model, self.mask, sweep, fields, ahead=motion is not None)
        self.build = build._replace(sleeps=sleep is not None)
        with wp.ScopedDevice(self.device):
            self.geoms = upload.geoms(model, nworld, geom_xpos, geom_xmat, geom_size, fields, sleep)
            self.meshes = upload.meshes(model, solid=solid or bool(self.mask & (FIELD | FIELD_MESH)))
            self.hfields = upload.height_fields(model)
            self.settings = upload.settings(model)
            self.motion, self.scene = motion, None  # kept alive: structs do not own memory
            if motion is not None:
                self.scene = RayScene(model) if model.nmesh else None
                self.set_ahead(upload.ahead(model, self.host, motion, self.scene))
            if plan:
                sweep_arrays, self.pairs = sweep_bundle(model, plan, nworld)
                self.set_sweep(sweep_arrays)
                self.slots = np.full(plan.capacity, plan.slots)
                self.capacity = capacity or 8 * len(plan.active)
            else:
                self.pairs = upload.pairs(self.host, nworld)
                self.slots = self.host.slots
                self.capacity = capacity or upload.estimate_capacity(self.host)
            self.contacts = contacts if contacts is not None else upload.contacts(nworld, self.capacity, status)
            self.thread_per_pair = self.device.is_cuda if thread_per_pair is None else thread_per_pair
            self.lanes = OCTET_LANES if self.device.is_cuda else 1
            if self.thread_per_pair:
                self._allocate_slots(int(self.slots.sum()) if slots is None else slots)
                self._share_out()
            if build.listed and self.mask and not self.device.is_cuda:
                self.cells = cull.bundle(model, self.host, nworld)
                self.culled = one_of(self.cells, Cull)  # kept: structs do not own memory
                self.settings.cull = self.culled

    def regrow(self, contacts: Contacts, slots: int | None = None) -> None:
        """Write to other lists of contacts; with a thread a pair, with room for so many as they are found."""
        self.contacts, self.capacity = contacts, contacts.dist.shape[1]
        if self.thread_per_pair:
            with wp.ScopedDevice(self.device):
                self._allocate_slots(int(self.slots.sum()) if slots is None else slots)

    def set_sweep(self, sweep: Sweep) -> None:
        """Let the broad phase use these arrays."""
        self.sweep = sweep
        self.swept = one_of(sweep, Sweep, self.device)
        self.settings.sweep = self.swept

    def set_ahead(self, ahead: Ahead) -> None:
        """Let speculative contacts use these arrays."""
        self.ahead = ahead
        self.looked = one_of(ahead, Ahead, self.device)
        self.settings.ahead = self.looked

    def _allocate_slots(self, slots: int) -> None:
        """Slots and links for the thread-per-pair shape, worlds interleaved."""
        self.touch = upload.touch(self.nworld, slots)
        by_prisms = self.build.only(HFIELD).scratch is not None
        upload.link(self.touch, self.nworld, len(self.slots), slots, by_prisms, 1 + PRISM_QUEUES)

    def _share_out(self) -> None:
        """Which pairs each kernel takes, and scratch for crews."""
        npair = len(self.slots)
        self.launches: list[tuple[Build, wp.array, list[Queue]]] = []
        self.threads = self.octets = 0  # of crews
        if self.build.ahead:
            self.ahead.found = empty_worlds((self.nworld, npair), int)
            self.set_ahead(self.ahead)
            self.threads = crew(npair * self.nworld, self.device)
        for family in FAMILIES:
            build = self.build.only(family_mask(family))
            if build.mask:
                chosen = np.arange(npair)
                if not self.build.sweep:
                    chosen = np.flatnonzero((1 << self.host.function.astype(np.int64)) & build.mask)
                items = len(chosen) * self.nworld
                queues = [Queue()]
                if build.scratch:
                    queues = prism_queues(items, first=1) if build.mask & HFIELD else [queue(0, items)]
                    self.octets = max(self.octets, octets(items, self.device))
                self.launches.append((build, wp.array(chosen.astype(np.int32)), queues))
        sizes = self.build.scratch
        self.work = workspace(sizes, self.octets, self.threads, self.device) if sizes else Workspace()

    @property
    def detect_world(self):
        """The ``wp.func`` that detects the contacts of one world, for kernels that fuse several stages."""
        return world_function(self.build)

    def launch_list(self) -> list[tuple]:
        """What detection launches: (kernel, dim, inputs, block size)."""
        inputs = [self.geoms, self.meshes, self.hfields, self.pairs, self.settings]
        if not self.thread_per_pair:
            return [(world_kernel(self.build), self.nworld, [*inputs, self.contacts], 256)]
        n = self.nworld
        launches = []
        if self.build.sweep:
            sweep = self.sweep
            nbody = sweep.weld.shape[0]
            sort, count, write = awake_sweep if self.build.sleeps else (sort_geoms, count_pairs, write_pairs)
            launches += [
                (sort, n, [self.geoms, sweep], 32),
                (count, (nbody, n), [self.geoms, sweep, self.pairs], 128),
                (place_pairs, n, [sweep, self.pairs, self.contacts.status], 32),
                (write, (nbody, n), [self.geoms, sweep, self.pairs], 128),
            ]
        if self.build.ahead:
            launches.append(
                (ahead_kernel(), self.threads, [*inputs, self.touch, self.work, self.threads], CREW_BLOCK)
            )
        for build, chosen, queues in self.launches:
            given = [chosen, *inputs, self.touch, *queues]
            finishing = (self.lanes * self.octets, [*given, self.work, self.octets], OCTET_BLOCK)
            if build.scratch and build.mask & HFIELD:
                finish = (finish_kernel(build.lending().epa), *finishing)
                threads = crew(len(chosen) * n, self.device)
                launches += prism_launches(chosen, n, given, threads, finish, sleeps=build.sleeps)
                continue
            rows = -(-len(chosen) // TURNS) if build.sleeps else len(chosen)
            more = [rows] if build.sleeps else []
            launches.append((pair_kernel(build.asking()), (rows, n), [*given, *more], 128))
            if build.scratch:
                launches.append((crew_kernel(build.lending()), *finishing))
        if self.build.ahead:
            ordered = [self.touch, self.pairs, self.settings, self.contacts]
            return [*launches, (ordering_kernel(), n, ordered, 32)]
        gather, looks = (gather_awake, [self.geoms.look]) if self.build.sleeps else (gather_contacts, [])
        moved = [n, *looks, self.touch, self.pairs, self.contacts]
        launches.append((gather, (-(-n // 32), GATHER, 32), moved, 32 * GATHER))
        return launches

    def detect(self) -> None:
        """Find the contacts of all worlds at the current geom poses."""
        for kernel, dim, inputs, block in self.launch_list():
            wp.launch(kernel, dim, inputs, device=self.device, block_dim=block)
