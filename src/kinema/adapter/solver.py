"""SolverConvex: MuJoCo's physics behind Newton's solver interface.

    solver = SolverConvex(model)
    solver.step(state, state, control, None, dt)

One engine runs each class of identical worlds, and those classes that differ from it in numbers only (kin.py). What
comes in (State, Control) decides everything, bit for bit: coordinates and velocities, and with
`register_custom_attributes` (documents bring it along) also activations, time and warm start, are read from the state
and written to the next one, in place where the two are the same object. Without it the constraint solver begins every
step anew. Contacts are found by the engine itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp

from kinema.adapter import conventions
from kinema.adapter.boundary import Boundary
from kinema.adapter.convoy import Convoy, CudaRecorder
from kinema.adapter.deformables import ACTING, refuse_activation
from kinema.adapter.kin import Kin, find_kin
from kinema.adapter.newton_options import mujoco_options
from kinema.adapter.observables import LOADS, ObservableKind, allocate
from kinema.adapter.observables import Observables as Told
from kinema.adapter.refresh import LISTS, NOT_COMPARED, joint_frames, new_structure, rod_joints
from kinema.adapter.solver_contacts import SolverContacts
from kinema.adapter.view import Source, view
from kinema.closed import Closed
from kinema.compile.rows import RUNNING, frequency, register_mujoco_attributes
from kinema.compile.world_rows import has_no_worlds
from kinema.convex.engine import Engine
from kinema.convex.extension import extension_of
from kinema.convex.layout import list_of
from kinema.convex.sleep.rings import AWAKE
from kinema.convex.sleep.sleepers import sleeps
from kinema.convex.status import MEANING
from kinema.devices import cores
from kinema.errors import ArgumentNotNeeded, BuildError, KernelsRebuilt, did_you_mean, warn_caller
from kinema.model import Contacts, Control, Model, ModelBuilder, ModelFlags, State, WorldClass
from kinema.model.transform import IDENTITY, quat_rotate, transform_inverse, transform_mul
from kinema.mujoco_enums import Cone, Geom, Integrator, Joint, Solver, words

INTEGRATORS = words(Integrator, "euler", "rk4", "implicit", "implicitfast")
SOLVERS = words(Solver)
CONES = words(Cone)

NUMBERS = ModelFlags.ALL & ~ModelFlags.MODEL_PROPERTIES
"""What is read again from the arrays of worlds; soft bodies are properties of the model."""

COORDINATES = {int(Joint.FREE): 7, int(Joint.BALL): 4, int(Joint.SLIDE): 1, int(Joint.HINGE): 1}
DOFS = {int(Joint.FREE): 6, int(Joint.BALL): 3, int(Joint.SLIDE): 1, int(Joint.HINGE): 1}


FLAGS = "flags"
"""Key of switches among the options of a batch: (field of mjOption, bit, whether it is set)."""
MOST_SUBSTEPS = 1000
"""Time steps that one step may be made of."""


class SolverConvex(Closed):
    """Runs a model with MuJoCo's physics.

    Args:
        model: The model. Worlds of documents run as compiled; what was built by hand is lowered (`lower.py`).
        integrator: "euler", "rk4", "implicit" or "implicitfast"; None: what the document says.
        solver: "newton", "cg" or "pgs"; None: what the document says.
        cone: "pyramidal" or "elliptic"; None: what the document says.
        iterations: Most iterations of the constraint solver; None: what the document says.
        tolerance: Accuracy the constraint solver stops at; None: what the document says.
        impratio: Ratio of frictional to normal impedance; None: what the document says.
        threads: CPU threads to spread worlds over; None: one a core, where there are worlds enough.
        particle_enable_self_contact: Whether cloth and soft bodies touch each other and themselves.
        more: Arguments of Newton's SolverMuJoCo besides, as `newton_options.py` has them: ls_iterations, wind,
            enable_sleeping, njmax and so on.

    Particles, cloth and soft bodies are simulated with the rest (`deformables.py`), in as many time steps a step as
    their stiffness needs.
    """

    COMPUTED: tuple[str, ...] = ("body_qdd", "body_parent_f", "mujoco:qfrc_actuator")
    """What can be requested of states and is filled in."""
    LEFT_OUT: tuple[tuple[str, str], ...] = (("muscle", "muscles"),)
    """Kinds of a model that are not simulated, and what to call them."""

    def __init__(
        self, model: Model, *, integrator: str | None = None, solver: str | None = None, cone: str | None = None,
        iterations: int | None = None, tolerance: float | None = None, impratio: float | None = None,
        threads: int | None = None, particle_enable_self_contact: bool = False, **more: Any,
    ):  # fmt: skip
        self.model = model
        self.device = model.device
        self._among = bool(particle_enable_self_contact)
        _check_simulated(model, self.LEFT_OUT)
        _check_arrays(model)
        _check_heard(model)
        unknown = sorted(set(model.get_requested_state_attributes()) - set(self.COMPUTED))
        if unknown:
            raise BuildError(f"this solver does not compute {', '.join(unknown)}; it does {', '.join(self.COMPUTED)}")
        choices = (("integrator", integrator, INTEGRATORS), ("solver", solver, SOLVERS), ("cone", cone, CONES))
        self._options: dict[str, Any] = {}
        self._options |= {name: _choice(name, value, known) for name, value, known in choices if value is not None}
        numbers = (("iterations", iterations), ("tolerance", tolerance), ("impratio", impratio))
        self._options |= {name: value for name, value in numbers if value is not None}
        others, self._flags = mujoco_options(more)
        self._options |= others
        threads = cores() if threads is None else threads
        self.batches = [self._batch(kin, threads) for kin in self._kin()]
        self._unmoved = self._find_unmoved()
        self._convoy = self._together()
        self._contacts: SolverContacts | None = None
        self._looked_at: set[int] = set()

    def _find_unmoved(self) -> list[str]:
        """Arrays of a state with rows that no engine writes: they go from one state to the next as they are."""
        model = self.model
        moved = {"joint_q": 0, "joint_qd": 0, "body_q": 0}
        for batch in self.batches:
            host, n = batch.source.host, len(batch.worlds)
            known = batch.source.joints[:, 1] >= 0
            kinds = np.asarray(host.jnt_type)[: len(known)][known]
            moved["joint_q"] += n * sum(COORDINATES[kind] for kind in kinds.tolist())
            moved["joint_qd"] += n * sum(DOFS[kind] for kind in kinds.tolist())
            moved["body_q"] += n * int(np.sum(batch.source.bodies >= 0))
        counts = {"joint_q": model.joint_coord_count, "joint_qd": model.joint_dof_count, "body_q": model.body_count}
        found = [name for name, count in counts.items() if moved[name] != count]
        found += ["body_qd"] if "body_q" in found else []
        fixed = any(np.any(np.asarray(b.source.host.body_mocapid)[b.source.particles] >= 0) for b in self.batches)
        return [*found, "particle_q", "particle_qd"] if fixed else found

    def _together(self) -> Convoy | None:
        """What steps all engines at once on CUDA, a single one too: state and step are one graph."""
        if not self.device.is_cuda:
            return None
        return Convoy(self.batches, CudaRecorder(self.device, len(self.batches)))

    def _kin(self) -> list[Kin]:
        """Classes of worlds, together where one engine can run them."""
        model, classes = self.model, self.model.world_classes
        sources = [view(model, worlds, among=self._among) for worlds in classes]
        groups = [[0]] if len(classes) == 1 else self._groups(classes, sources)
        found = [Kin(model, [classes[k] for k in some], [sources[k] for k in some]) for some in groups]
        return [part for kin in found for part in kin.apart(self._present_groups)]

    def _groups(self, classes: list[WorldClass], sources: list[Source]) -> list[list[int]]:
        """Which classes one engine can run."""
        return find_kin(classes, sources, lambda host: Engine(host, 1, device=self.device))

    def _present_groups(self, classes: list[WorldClass], sources: list[Source]) -> list[list[int]]:
        """The same of worlds that came to differ since they were built."""
        return self._groups(classes, sources)

    def _batch(self, worlds: Kin, threads: int) -> Batch:
        return Batch(self.model, worlds, {**self._options, FLAGS: self._flags}, threads)

    @staticmethod
    def register_custom_attributes(builder: ModelBuilder) -> None:
        """Let states hold all that the solver carries from step to step, also where no document is added."""
        register_mujoco_attributes(builder)

    def step(
        self, state_in: State, state_out: State, control: Control | None = None, contacts: Any = None,
        dt: float | None = None, *, observables: Told | None = None,
    ) -> None:  # fmt: skip
        """Advance by one step of dt seconds (by the document's time step if None).

        Args:
            state_in: Where the step begins.
            state_out: Where it ends; may be the same object.
            control: Joint forces, targets, and `mujoco.ctrl`; None: the model's initial values.
            contacts: Not used: the engine finds its own (`update_contacts` tells which).
            dt: Duration [s]. Changing it between calls writes the new value to the device.
            observables: What else to write down of the step, from `observables`.
        """
        if control is None:
            control = self._control()
        self._refuse_activations(control)
        if state_out is not state_in:
            for name in self._unmoved:
                source, target = getattr(state_in, name), getattr(state_out, name)
                if source is not None and source.size:
                    if target is None or target.shape != source.shape:
                        raise BuildError(f"step(): {name} of the two states differ: make both with model.state()")
                    wp.copy(target, source)
        for batch in self.batches:
            batch.set_timestep(dt)
        if self._convoy is not None and all(batch.substeps == 1 for batch in self.batches):
            self._convoy.step(state_in, state_out, control)
        else:
            for batch in self.batches:
                batch.step(state_in, state_out, control)
        if observables is not None:
            self._observe(observables)

    def forward(self, state: State, control: Control | None = None) -> None:
        """Compute everything that follows from a state, for reading from the engines; body poses go to the state."""
        for batch in self.batches:
            batch.boundary.read(state, self._control() if control is None else control)
            batch.engine.forward()
            batch.boundary.write(state)

    # ---- what a step tells besides the state

    ObservableKind = ObservableKind
    Observables = Told

    @property
    def supported_observables(self) -> frozenset[str]:
        """Kinds that `observables` makes arrays for."""
        return frozenset((*(name for name in LOADS if name in self.COMPUTED), ObservableKind.CONTACT_F))

    def observables(
        self, kinds: Iterable[str], *, contacts: Contacts | None = None, requires_grad: bool | None = None
    ) -> Told:
        """Arrays for what a step tells besides the state; hand them to `step` to have them filled.

        Args:
            kinds: Which: "body_qdd", "body_parent_f", "contact_f".
            contacts: Buffers that contact forces are of: `step` fills them with the solver's contacts.
            requires_grad: Not used: this solver does not differentiate.
        """
        made = allocate(self.model, kinds, self.supported_observables, contacts)
        if made.body_qdd is not None or made.body_parent_f is not None:
            for batch in self.batches:
                batch.compute_loads()
        return made

    def _observe(self, observables: Told) -> None:
        if observables.model is not self.model:
            raise BuildError("step(observables=...): they are of another model")
        for batch in self.batches:
            batch.boundary.write_loads(observables.body_qdd, observables.body_parent_f)
        if observables.contacts is not None:
            self._found().write(observables.contacts, observables.contact_f)

    def _refuse_activations(self, control: Control) -> None:
        """Elements do not act by themselves. On a GPU, which one would have to wait for, an array is looked at once."""
        for name in ACTING:
            array = getattr(control, name, None)  # springs have theirs in the model
            if array is None or not array.size or self.device.is_capturing or array.ptr in self._looked_at:
                continue
            refuse_activation(name, array.numpy())
            if self.device.is_cuda:
                self._looked_at.add(array.ptr)

    def update_contacts(self, contacts: Contacts, state: State | None = None) -> None:
        """Fill buffers with the contacts of the last step, and `contacts.force` where it was requested."""
        self._found().write(contacts, contacts.force)

    def get_max_contact_count(self) -> int:
        """Contacts that all worlds together have room for now."""
        return self._found().most

    def _found(self) -> SolverContacts:
        if self._contacts is None:
            self._contacts = SolverContacts(self.model, self.batches)
        return self._contacts

    def _control(self) -> Control:
        if not hasattr(self, "_default_control"):
            self._default_control = self.model.control(clone_variables=False)
        return self._default_control

    @property
    def stable_step(self) -> float:
        """The longest time step [s] in which everything elastic is stable; longer steps are made of several."""
        return min((batch.stable_step for batch in self.batches), default=np.inf)

    def notify_model_changed(self, flags: int) -> None:
        """Take over changes of the model's arrays.

        Args:
            flags: What changed (`ModelFlags`); gravity, particles, springs and materials of soft bodies are
                MODEL_PROPERTIES. Numbers may change, and differ per world; structure may not.
        """
        general = bool(flags & ModelFlags.MODEL_PROPERTIES)
        _check_arrays(self.model)
        for batch in self.batches:
            if general:
                _check_heard(self.model)
                batch.set_gravity()
            if flags & NUMBERS or (general and len(batch.source.particles)):
                batch.refresh()
            batch.wake()

    def trouble(self) -> dict[int, list[str]]:
        """Worlds in which something went wrong in the latest step, and what."""
        found = {}
        for batch in self.batches:
            status = batch.engine.read("status")
            for k in np.flatnonzero(status):
                found[int(batch.worlds.worlds[k])] = [text for bit, text in MEANING.items() if status[k] & bit]
        return dict(sorted(found.items()))


SOFT = (
    ("particle", "particles"), ("spring", "springs"), ("tri", "triangles of cloth"), ("edge", "bending edges"),
    ("tet", "tetrahedra of soft bodies"),
)  # fmt: skip
"""Kinds of a model that are soft bodies, and what to call them."""


def _check_simulated(model: Model, left_out: tuple[tuple[str, str], ...]) -> None:
    """Raise where a model has what the solver would leave hanging in the air."""
    found = [f"{count} {name}" for kind, name in left_out if (count := getattr(model, f"{kind}_count", 0))]
    starts = model.kind_starts("particle")
    if not has_no_worlds(model) and int(starts[model.world_count] - starts[0]) != model.particle_count:
        raise BuildError("particles of no world stand beside worlds: put them into a world")
    if found:
        raise BuildError(f"the model has {', '.join(found)}, which this solver does not simulate: remove them")
    if model.requires_grad:
        raise BuildError("requires_grad=True: this solver does not differentiate; finalize the model without it")


def _check_arrays(model: Model) -> None:
    """Raise where somebody has put something else in the place of an array."""
    for field in model.fields.values():
        value = vars(model).get(field.name) if field.namespace is None else None
        rows = model.kinds.get(field.frequency)
        if value is None or rows is None or field.is_object or field.name.endswith("_start"):
            continue
        rows *= field.row_size if field.flat else 1
        if not isinstance(value, wp.array):
            kind = type(value).__name__
            raise BuildError(f"model.{field.name} is a {kind}, not a Warp array: write numbers with .assign()")
        if value.shape[0] != rows:
            raise BuildError(f"model.{field.name} has {value.shape[0]} rows where the model has {rows}: write numbers "
                             "with .assign()")  # fmt: skip


UNHEARD = {
    "particle_ke": (1.0e3, "soft_contact_ke"), "particle_kd": (1.0e2, "soft_contact_kd"),
    "particle_kf": (1.0e2, "soft_contact_mu"), "particle_mu": (0.5, "soft_contact_mu"),
    "particle_max_velocity": (1.0e5, ""), "soft_contact_kf": (1.0e3, "soft_contact_mu"),
    "soft_contact_restitution": (0.0, "soft_contact_kd"),
}  # fmt: skip
"""What Newton's solvers hear of particles and this one does not: its default, and what does the like here."""
HELD_TOGETHER = ("particle_cohesion", "particle_adhesion")


def _check_heard(model: Model) -> None:
    """Warn of numbers for particles that do nothing here; raise where what they ask for is not simulated."""
    if not model.particle_count:
        return
    for name in HELD_TOGETHER:
        if getattr(model, name):
            raise BuildError(f"model.{name} is {getattr(model, name):g}: particles do not stick here; leave it at 0")
    for name, (default, instead) in UNHEARD.items():
        value = getattr(model, name)
        if value != default:
            hint = f": {instead} of the model counts for particles" if instead else ""
            warn_caller(f"model.{name}={value:g} is without effect{hint}", ArgumentNotNeeded)


def _choice(name: str, value: Any, known: dict[str, int]) -> int:
    if isinstance(value, int) and value in known.values():
        return int(value)
    if str(value).lower() not in known:
        raise BuildError(f"{name}={value!r}{did_you_mean(str(value), known)}; known are {', '.join(known)}")
    return known[str(value).lower()]


class Batch:
    """Worlds that one engine runs, and the tables that tell where their numbers stand in the model's arrays."""

    def __init__(self, model: Model, worlds: Kin, options: dict[str, Any], threads: int):
        self.model, self.worlds, self.device = model, worlds, model.device
        self.options, self.threads = options, threads
        self.source: Source = worlds.sources[0]
        self.whole = has_no_worlds(model)
        self._loads = not LOADS.isdisjoint(model.get_requested_state_attributes())
        self.placed = np.tile(IDENTITY, (len(worlds), 1)) if worlds.xforms is None else np.asarray(worlds.xforms)
        self._longest: float | None = None
        self._choose(worlds.hosts)
        self._build()
        with warnings.catch_warnings():  # nothing was compiled yet that would have to be compiled anew
            warnings.simplefilter("ignore", KernelsRebuilt)
            self._give(worlds.hosts, worlds.of)
            if worlds.is_changed():  # since the model was finalized
                self.refresh()

    def _choose(self, hosts: list[Any]) -> None:
        """Let the solver's options overrule those of models."""
        for host in hosts:
            for name, value in self.options.items():
                if name != FLAGS:
                    setattr(host.opt, name, np.asarray(value, float) if isinstance(value, (tuple, list)) else value)
            for field, bit, on in self.options.get(FLAGS, ()):
                bits = int(getattr(host.opt, field))
                setattr(host.opt, field, bits | bit if on else bits & ~bit)

    def _build(self) -> None:
        """An engine for the first class; all worlds have its numbers."""
        host = self.source.host
        self.period = float(host.opt.timestep)
        host.opt.timestep = min(self.period, self.stable_step)  # whoever steps the engine as it is
        self.engine = self._engine(host)
        self.timestep = float(host.opt.timestep)
        self.substeps = 1
        self.hosts, self.of = [host], np.zeros(len(self.worlds), int)
        self._tables()
        self._place_shapes(self.hosts, self.of)
        self.set_gravity()

    def _engine(self, host: Any) -> Engine:
        extension = extension_of(host, self.device, len(self.worlds))
        if self._loads:  # as they are while a step is made, not after it has moved the state
            extension = replace(extension, loads=True)
        return Engine(host, len(self.worlds), device=self.device, threads=self.threads, extension=extension)

    def _give(self, hosts: list[Any], of: np.ndarray) -> None:
        """Let each world have the numbers of its model."""
        if len(hosts) == 1 and hosts[0] is self.hosts[0]:
            return
        for name in sorted(self.engine.layout.parameters - {"geom_pos", "geom_quat", "gravity", "timestep"}):
            if not self.engine.is_parameter(name) or not np.size(_number(hosts[0], name)):
                continue
            before, now = ([np.asarray(_number(h, name), dtype=float) for h in some] for some in (self.hosts, hosts))
            same = all(np.array_equal(a, now[0]) for a in (*before, *now))
            if not same and not np.array_equal(np.stack(before)[self.of], np.stack(now)[of]):
                self._set(name, np.stack(now)[of])
        self.hosts, self.of = hosts, of
        self._place_shapes(hosts, of)

    def compute_loads(self) -> None:
        """Compute accelerations of bodies and forces of joints in every step from now on."""
        if not self._loads:
            self._loads = True
            hosts, of = self.hosts, self.of
            self._build()
            self._give(hosts, of)

    def step(self, state_in: State, state_out: State, control: Control) -> None:
        """One step: from a state, to a state."""
        self.boundary.read(state_in, control)
        self.engine.step(self.substeps)
        self.boundary.write(state_out)

    # ---- tables

    def _tables(self) -> None:
        host, model, source = self.source.host, self.model, self.source
        n = len(self.worlds)
        places = conventions.Places()
        places.world = self._ints(self.worlds.worlds)
        for name, kind in (("coord", "joint_coord"), ("dof", "joint_dof"), ("body", "body"), ("particle", "particle")):
            setattr(places, name, self._ints(self.starts(kind)))
        places.target = places.coord if model.use_coord_layout_targets else places.dof
        own = "mujoco:ctrl" in model.fields
        places.control = self._ints(self.starts(frequency("nu")) if own else np.zeros(n))
        places.xform = wp.array(self.placed.astype(np.float32), dtype=wp.transform, device=self.device)
        places.moved = int(not np.array_equal(self.placed, np.tile(IDENTITY, (len(self.placed), 1))))
        joints = conventions.Joints()
        core, coord, dof = source.joints.T if len(source.joints) else np.zeros((3, 0), int)
        columns = {"type": host.jnt_type, "body": host.jnt_bodyid, "qpos": host.jnt_qposadr, "qvel": host.jnt_dofadr}
        columns = {name: values[: len(core)] for name, values in columns.items()} | {"coord": coord, "dof": dof}
        for name, values in columns.items():
            setattr(joints, name, self._ints(values))
        for name, frames in zip(("frame_p", "frame_c"), self._joint_frames(0), strict=True):
            setattr(joints, name, wp.array(frames, dtype=wp.transform, device=self.device))
        rods = rod_joints(self.worlds.rows(0), source).astype(np.int32)
        joints.rod = wp.array(rods, dtype=wp.vec3i, device=self.device)
        running = {}
        for name, (symbol, _, _) in RUNNING.items():
            count = int(source.documents.get(symbol, 0))
            if count and name != "ctrl":
                running[name] = self._ints(self.starts(frequency(symbol))), count
        self.boundary = Boundary(
            self.engine, joints, places, source.bodies, source.controls, running, source.particles, model
        )

    def _ints(self, values: Sequence[int] | np.ndarray) -> wp.array:
        return wp.array(np.asarray(values, dtype=np.int32), dtype=int, device=self.device)

    def starts(self, kind: str) -> np.ndarray:
        """First row of each world in a frequency."""
        return np.zeros(len(self.worlds), int) if self.whole else self.model.kind_starts(kind)[self.worlds.worlds]

    def _joint_frames(self, world: int) -> list[np.ndarray]:
        """X_p and X_c of every joint, as a world has them now."""
        return joint_frames(self.worlds.rows(world), self.source)

    def _place_shapes(self, hosts: Sequence[Any], of: np.ndarray) -> None:
        """Poses of geoms in each world; those of shapes of no world in the world's own frame."""
        names = ("geom_pos", "geom_quat")
        poses = {n: np.stack([np.asarray(getattr(h, n), dtype=float) for h in hosts])[of] for n in names}
        shared = np.flatnonzero(self.source.geoms < -1)
        if len(shared) and not np.array_equal(self.placed, np.tile(IDENTITY, (len(self.placed), 1))):
            quat = poses["geom_quat"][:, shared][..., [1, 2, 3, 0]]
            there = np.concatenate([poses["geom_pos"][:, shared], quat], axis=-1)
            here = transform_mul(transform_inverse(self.placed)[:, None], there)
            plane = np.asarray(hosts[0].geom_type)[shared] == Geom.PLANE  # infinite: only its distance counts
            normal = quat_rotate(here[..., 3:], np.broadcast_to([0.0, 0.0, 1.0], here[..., :3].shape))
            along = normal * np.sum(normal * here[..., :3], axis=-1, keepdims=True)
            here[..., :3] = np.where(plane[:, None], along, here[..., :3])
            poses["geom_pos"][:, shared], poses["geom_quat"][:, shared] = here[..., :3], here[..., [6, 3, 4, 5]]
        for name, values in poses.items():
            if values.size and not np.array_equal(values.astype(np.float32), self.engine.read(name)):
                self._set(name, values)

    def _set(self, name: str, values: np.ndarray) -> None:
        """Give a parameter its value in each world, shared where it is the same in all."""
        if name not in self.engine.expanded:
            if np.ptp(values, axis=0).max(initial=0.0) == 0.0:
                self.engine.set_parameter(name, values[0])
                return
            try:
                self.engine.expand(name)
            except BuildError as error:
                raise BuildError(f"{error}; a new solver gives each kind of world an engine of its own") from None
        self.engine.set_parameter(name, values)

    # ---- numbers that may change

    def set_timestep(self, dt: float | None) -> None:
        """Let a step last dt seconds; one that is too long for what is elastic becomes several (`stable_step.py`)."""
        dt = self.period if dt is None else float(dt)
        if not 0.0 <= dt < np.inf:
            raise BuildError(f"step(dt={dt!r}): a step lasts a finite time that is not negative [s]")
        self.substeps = self._parts_of(dt)
        if dt / self.substeps != self.timestep:
            self.timestep = dt / self.substeps
            self.engine.set_parameter("timestep", self.timestep)

    @property
    def stable_step(self) -> float:
        """The longest time step in which everything elastic is stable."""
        if self._longest is None:
            self._longest = min(source.step for source in self.worlds.sources)
        return self._longest

    def _parts_of(self, dt: float) -> int:
        """How many time steps a step of dt seconds is made of."""
        longest = self.stable_step
        if dt <= longest:
            return 1
        parts = int(np.ceil(dt / longest))
        if parts > MOST_SUBSTEPS:
            raise BuildError(
                f"cloth and soft bodies are so stiff for their mass that a step of {dt:g} s takes {parts} time steps "
                f"of {longest:.2g} s: give dt, make particles heavier, or lower stiffness and damping"
            )
        return parts

    def set_gravity(self) -> None:
        """Gravity of each world, in its own frame."""
        rows = self.model.gravity.numpy()
        gravity = np.tile(rows[-1], (len(self.worlds), 1)) if self.whole else rows[self.worlds.worlds]
        turned = self.placed[:, 3:] * np.array([-1.0, -1.0, -1.0, 1.0])
        self._set("gravity", quat_rotate(turned, gravity.astype(float)))

    def wake(self) -> None:
        """Let what sleeps look at a model that has changed."""
        if sleeps(self.source.host) and "tree_asleep" in self.engine.names:
            self.engine.write("tree_asleep", AWAKE)

    def refresh(self) -> None:
        """Read all fields again from the model's arrays, world by world where worlds differ."""
        kinds, of, sources = self.worlds.present()
        hosts = [source.host for source in sources]
        self._choose(hosts)
        frames = [self._joint_frames(world) for world in kinds]
        kinds_of = np.asarray(self.source.host.jnt_type)[: len(self.source.joints)]
        by_frame = np.isin(kinds_of, (Joint.FREE, Joint.BALL))
        if any(not np.array_equal(np.stack(f)[:, by_frame], np.stack(frames[0])[:, by_frame]) for f in frames):
            raise BuildError(
                "joint_X_p or joint_X_c of a free or ball joint differ from world to world: change them in all worlds"
            )
        read = {n for n in self.engine.depends() if n in hosts[0].arrays} - NOT_COMPARED - self.engine.layout.parameters
        anew = new_structure(self.hosts[0], hosts, read, self.engine.layout.parameters)
        self.source.host = hosts[0]
        if len(self.source.particles):
            self._longest = min(source.step for source in sources)
        if anew:
            self._build()
        self._give(hosts, of)
        self._tables()
        if len(self.source.particles):  # for whoever steps the engine as it is
            self.timestep = min(self.period, self.stable_step)
            self.engine.set_parameter("timestep", self.timestep)


def _number(host: Any, name: str) -> Any:
    """A parameter of a model, wherever it stands; nothing where it is an engine's own."""
    for owner in (host.arrays, vars(host.opt), vars(host.stat)):
        if name in owner:
            return owner[name]
    return list_of(name, host) if name in LISTS else ()
