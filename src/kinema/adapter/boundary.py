"""The boundary of a class of worlds: State and Control into an engine, and what the engine made of them back.

One kernel a direction: an item of it is a joint, a body, a control, a particle, or the world itself, and
`conventions.py` says how each is converted. Bodies are moved on to the new state on the way (`kinematics.py`): an
engine leaves them where the step began, as MuJoCo does. What few models have (activations, plugin states) and what few
programs ask for (accelerations) has a kernel of its own, launched where it is there. The same arrays come again and
again, so launches are recorded.
"""


from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import warp as wp

from kinema.adapter import conventions
from kinema.adapter.conventions import Joints, Particles, Places
from kinema.adapter.kinematics import Chains, Moving, Tree, chains, move_body
from kinema.arrays import empty_worlds
from kinema.compile.rows import RUNNING
from kinema.convex.status import BAD_STATE
from kinema.errors import BuildError
from kinema.model import Control, Model, State

MOST_COMMANDS = 256


@wp.struct
class Items:
    """What is converted, and where it stands."""

    joints: Joints
    places: Places
    bodies: wp.array(dtype=int)  # core body of each body, counted within the world; -1: none
    mocapid: wp.array(dtype=int)
    rootid: wp.array(dtype=int)
    controls: wp.array(dtype=wp.vec2i)
    particles: Particles
    chains: Chains
    nchain: int
    njnt: int  # without those of particles, which follow
    nbody: int
    nu: int
    nparticle: int


@wp.struct
class Flat:
    """Arrays of State and Control, over all worlds; an empty one is not there."""

    joint_q: wp.array(dtype=float)
    joint_qd: wp.array(dtype=float)
    joint_f: wp.array(dtype=float)
    body_q: wp.array(dtype=wp.transform)
    body_qd: wp.array(dtype=wp.spatial_vector)
    body_f: wp.array(dtype=wp.spatial_vector)
    particle_q: wp.array(dtype=wp.vec3)
    particle_qd: wp.array(dtype=wp.vec3)
    particle_f: wp.array(dtype=wp.vec3)
    ctrl: wp.array(dtype=float)
    target_q: wp.array(dtype=float)
    target_qd: wp.array(dtype=float)
    warmstart: wp.array(dtype=float)
    actuation: wp.array(dtype=float)
    time: wp.array(dtype=wp.float64)


@wp.struct
class Given:
    """Arrays of the engine that a state and its controls decide."""

    qpos: wp.array2d(dtype=float)
    qvel: wp.array2d(dtype=float)
    qacc_warmstart: wp.array2d(dtype=float)
    qfrc_applied: wp.array2d(dtype=float)
    xfrc_applied: wp.array2d(dtype=wp.spatial_vector)
    mocap_pos: wp.array2d(dtype=wp.vec3)
    mocap_quat: wp.array2d(dtype=wp.vec4)
    ctrl: wp.array2d(dtype=float)
    time: wp.array(dtype=wp.float64)
    status: wp.array(dtype=int)
    qpos0: wp.array2d(dtype=float)
    body_pos: wp.array2d(dtype=wp.vec3)
    body_ipos: wp.array2d(dtype=wp.vec3)


@wp.struct
class Found:
    """Arrays of the engine that are written back."""

    qpos: wp.array2d(dtype=float)
    qvel: wp.array2d(dtype=float)
    qacc_warmstart: wp.array2d(dtype=float)
    qfrc_actuator: wp.array2d(dtype=float)
    time: wp.array(dtype=wp.float64)
    qpos0: wp.array2d(dtype=float)
    body_pos: wp.array2d(dtype=wp.vec3)
    body_ipos: wp.array2d(dtype=wp.vec3)


@wp.struct
class Loads:
    """Arrays of the engine that accelerations and forces of bodies follow from."""

    cacc: wp.array2d(dtype=wp.spatial_vector)
    cvel: wp.array2d(dtype=wp.spatial_vector)
    cfrc_int: wp.array2d(dtype=wp.spatial_vector)
    xipos: wp.array2d(dtype=wp.vec3)
    subtree_com: wp.array2d(dtype=wp.vec3)
    gravity: wp.array(dtype=wp.vec3)


@wp.func
def read_item(w: int, k: int, items: Items, flat: Flat, given: Given, frozen: int):
    """State and control of one item to the engine."""
    b = k - items.njnt
    u = b - items.nbody
    p = u - items.nu
    if k < items.njnt:
        if items.joints.rod[k][1] >= 0:
            conventions.rod_in(w, k, items.joints, items.places, flat.body_q, flat.body_qd, given.qpos, given.qvel)
        else:
            conventions.state_in(
                w, k, items.joints, items.places, flat.joint_q, flat.joint_qd, given.qpos0, given.body_ipos, given.qpos,
                given.qvel,
            )  # fmt: skip
        conventions.warmstart_in(w, k, items.joints, items.places, flat.warmstart, given.qacc_warmstart)
        if flat.joint_f.shape[0] > 0:
            conventions.forces_in(
                w, k, items.joints, items.places, flat.joint_q, flat.joint_f, given.body_ipos, given.qpos,
                given.qfrc_applied,
            )  # fmt: skip
    elif b < items.nbody:
        if items.bodies[b] >= 0:
            if flat.body_f.shape[0] > 0:
                conventions.wrenches_in(w, b, items.bodies, items.places, flat.body_f, given.xfrc_applied)
            conventions.mocap_in(
                w, b, items.bodies, items.mocapid, items.places, flat.body_q, given.mocap_pos, given.mocap_quat
            )
    elif u < items.nu:
        conventions.controls_in(
            w, u, items.controls, items.places, flat.ctrl, flat.target_q, flat.target_qd, given.ctrl
        )
    elif p < items.nparticle:
        conventions.particle_in(
            w, p, items.particles, items.places, flat.particle_q, flat.particle_qd, flat.particle_f, given.body_pos,
            given.qpos, given.qvel, given.qfrc_applied, given.qacc_warmstart, given.mocap_pos,
        )  # fmt: skip
    else:
        given.status[w] = given.status[w] & ~frozen  # the state that comes in decides again
        if flat.time.shape[0] > 0:
            given.time[w] = flat.time[items.places.world[w]]


@wp.func
def write_item(w: int, k: int, items: Items, found: Found, flat: Flat):
    """What the engine made of a joint, of a particle, or of the time, to the state."""
    p = k - items.njnt
    if k < items.njnt:
        conventions.state_out(
            w, k, items.joints, items.places, found.qpos, found.qvel, found.qpos0, found.body_ipos, flat.joint_q,
            flat.joint_qd,
        )  # fmt: skip
        if flat.warmstart.shape[0] > 0:
            conventions.warmstart_out(w, k, items.joints, items.places, found.qacc_warmstart, flat.warmstart)
        if flat.actuation.shape[0] > 0:
            conventions.actuation_out(
                w, k, items.joints, items.places, found.qpos, found.body_ipos, found.qfrc_actuator, flat.actuation
            )
    elif p < items.nparticle:
        conventions.particle_out(
            w, p, items.particles, items.places, found.qpos, found.qvel, found.body_pos, flat.particle_q,
            flat.particle_qd,
        )  # fmt: skip
    elif flat.time.shape[0] > 0:
        flat.time[items.places.world[w]] = found.time[w]


@wp.func
def write_chain(w: int, c: int, items: Items, found: Found, tree: Tree, moving: Moving, flat: Flat, alone: bool):
    """The bodies of a chain where the state puts them.

    Along it the parent is the body before, and is still at hand. A thread that is alone with its chain comes all the
    way from the world; one that takes all of them finds the parent of the first where it has put it.
    """
    if flat.body_q.shape[0] > 0:
        own = items.chains.own[c]
        x = wp.transform_identity()
        v = wp.spatial_vector()
        first = items.chains.start[c]
        if not alone:
            first = own
            parent = tree.body_parentid[items.chains.body[own]]
            x = moving.x[w, parent]
            v = moving.v[w, parent]
        for k in range(first, items.chains.start[c + 1]):
            b = items.chains.body[k]
            x, v = move_body(tree, found.qpos, found.qvel, w, b, x, v)
            if not alone:
                moving.x[w, b] = x
                moving.v[w, b] = v
            if k >= own and items.bodies[b] >= 0:
                conventions.body_out(
                    w, b, items.bodies, items.places, x, v, found.body_ipos[w, b], flat.body_q, flat.body_qd
                )


@wp.kernel(enable_backward=False)
def read_items(items: Items, flat: Flat, given: Given, frozen: int, lanes: int):
    """State and control to the engine: on CUDA a thread an item, neighbours in neighbouring worlds, on the CPU
    a thread a world."""
    lane, w = wp.tid()
    for k in range(lane, items.njnt + items.nbody + items.nu + items.nparticle + 1, lanes):
        read_item(w, k, items, flat, given, frozen)


@wp.kernel(enable_backward=False)
def write_items(items: Items, found: Found, tree: Tree, moving: Moving, flat: Flat, lanes: int):
    """The engine's state to the state, and bodies where it puts them, chain by chain."""
    lane, w = wp.tid()
    for k in range(lane, items.nchain + items.njnt + items.nparticle + 1, lanes):
        if k < items.nchain:
            write_chain(w, k, items, found, tree, moving, flat, lanes > 1)
        else:
            write_item(w, k - items.nchain, items, found, flat)


@wp.kernel(enable_backward=False)
def write_loads(
    items: Items, loads: Loads, body_qdd: wp.array(dtype=wp.spatial_vector),
    body_parent_f: wp.array(dtype=wp.spatial_vector),
):  # fmt: skip
    """Accelerations of bodies, and the forces of the joints that hold them, at their centres of mass."""
    w, b = wp.tid()
    if items.bodies[b] >= 0:
        out = items.places.body[w] + items.bodies[b]
        turn = wp.transform_get_rotation(items.places.xform[w])
        arm = loads.xipos[w, b] - loads.subtree_com[w, items.rootid[b]]
        if body_qdd.shape[0] > 0:
            a = conventions.acceleration(loads.cacc[w, b], loads.cvel[w, b], arm, loads.gravity[w])
            body_qdd[out] = conventions.turned(turn, a)
        if body_parent_f.shape[0] > 0:
            body_parent_f[out] = conventions.turned(turn, conventions.wrench(loads.cfrc_int[w, b], arm))


@wp.kernel(enable_backward=False)
def read_rows(start: wp.array(dtype=int), flat: wp.array(dtype=Any), rows: wp.array2d(dtype=Any)):
    """Rows of each world out of a flat array."""
    w, i = wp.tid()
    rows[w, i] = flat[start[w] + i]


@wp.kernel(enable_backward=False)
def write_rows(start: wp.array(dtype=int), rows: wp.array2d(dtype=Any), flat: wp.array(dtype=Any)):
    """Rows of each world back into a flat array."""
    w, i = wp.tid()
    flat[start[w] + i] = rows[w, i]


for _dtype in (wp.float32, wp.float64):  # known before the first launch, so that no module is loaded in a step
    wp.overload(read_rows, {"flat": wp.array(dtype=_dtype), "rows": wp.array2d(dtype=_dtype)})
    wp.overload(write_rows, {"rows": wp.array2d(dtype=_dtype), "flat": wp.array(dtype=_dtype)})


_numbers = itertools.count()


class Boundary:
    """Converts between states and one engine.

    Args:
        engine: The engine.
        joints: Its joints and their coordinates.
        places: Where its worlds stand.
        bodies: Core body of each of its bodies, counted within the world; -1: none.
        controls: What each of its controls is (`view.Source`).
        running: First row in each world, and number, of what else a state holds, by name (`rows.RUNNING`).
        particles: Body of each particle.
        model: The model whose states and controls these are.
    """

    def __init__(
        self, engine: Any, joints: Any, places: Any, bodies: np.ndarray, controls: np.ndarray,
        running: dict[str, tuple[wp.array, int]], particles: np.ndarray, model: Model,
    ):  # fmt: skip
        self.model = model
        self.engine, self.device, self.nworld = engine, engine.device, engine.nworld
        self.running, self.number = running, next(_numbers)
        host = engine.source
        self.items = items = Items()
        items.joints, items.places = joints, places
        for name, values in (("bodies", bodies), ("mocapid", host.body_mocapid), ("rootid", host.body_rootid)):
            setattr(items, name, wp.array(np.asarray(values, np.int32), dtype=int, device=self.device))
        items.controls = wp.array(np.asarray(controls, np.int32), dtype=wp.vec2i, device=self.device)
        items.njnt, items.nbody, items.nu = len(joints.type), len(bodies), int(host.nu)
        items.particles, items.nparticle = self._particles(host, particles), len(particles)
        self.tree = {
            name: wp.array(np.asarray(getattr(host, name), np.int32), dtype=int, device=self.device)
            for name, field in Tree.vars.items() if field.type.ndim == 1
        }  # fmt: skip
        items.chains = chains(np.asarray(host.body_parentid)[: items.nbody], self.device)  # without particles
        items.nchain = items.chains.own.shape[0]
        self.moving = Moving()
        if not self.device.is_cuda:
            shape = (self.nworld, items.nbody)
            self.moving.x = empty_worlds(shape, wp.transform, self.device)
            self.moving.v = empty_worlds(shape, wp.spatial_vector, self.device)
            self.moving.x.fill_(wp.transform_identity())
        self._commands: dict[tuple, list[wp.Launch]] = {}
        self._version = -1

    def read(self, state: State, control: Control) -> None:
        """State and control to the engine."""
        key = ("read", *_pointers(state, READ_STATE), *_pointers(control, READ_CONTROL))
        for command in self._recorded(key, lambda: self._reads(state, control)):
            command.launch()

    def write(self, state: State) -> None:
        """The engine's state to the state, and the bodies where it puts them."""
        key = ("write", *_pointers(state, WRITTEN))
        for command in self._recorded(key, lambda: self._writes(state)):
            command.launch()

    def write_loads(self, body_qdd: wp.array | None, body_parent_f: wp.array | None) -> None:
        """Accelerations of bodies and forces of their joints, as the last step has computed them."""
        key = ("loads", *(None if array is None else array.ptr for array in (body_qdd, body_parent_f)))
        for command in self._recorded(key, lambda: self._loads(body_qdd, body_parent_f)):
            command.launch()

    def key(self, state_in: State, state_out: State, control: Control) -> tuple:
        """What tells one set of arrays from another: those that a step reads and writes, and the engine's own."""
        read = *_pointers(state_in, READ_STATE), *_pointers(control, READ_CONTROL)
        return self.number, self.engine.version, *read, *_pointers(state_out, WRITTEN)

    # ---- what is recorded

    def _recorded(self, key: tuple, make: Any) -> Any:
        if self._version != self.engine.version:  # arrays of the engine have moved
            self._commands.clear()
        found = self._commands.get(key)
        if found is None:
            if len(self._commands) >= MOST_COMMANDS:
                self._commands.clear()
            found = self._commands[key] = make()
            self._version = self.engine.version
        return found

    def _reads(self, state: State, control: Control) -> list[wp.Launch]:
        flat = self._flat(state, control)
        lanes = self._lanes(self.items.njnt + self.items.nbody + self.items.nu + self.items.nparticle + 1)
        inputs = [self.items, flat, self._of_engine(Given), int(BAD_STATE), lanes]
        commands = [self._record(read_items, (lanes, self.nworld), inputs)]
        for name, (start, count) in self.running.items():
            inputs = [start, getattr(state.mujoco, name), self.engine.array(name)]
            commands.append(self._record(read_rows, (self.nworld, count), inputs))
        return commands

    def _writes(self, state: State) -> list[wp.Launch]:
        flat = self._flat(state, None)
        lanes = self._lanes(self.items.nchain + self.items.njnt + self.items.nparticle + 1)
        inputs = [self.items, self._of_engine(Found), self._of_engine(Tree, given=self.tree), self.moving, flat, lanes]
        commands = [self._record(write_items, (lanes, self.nworld), inputs)]
        commands += self._loads(state.body_qdd, state.body_parent_f)
        for name, (start, count) in self.running.items():
            inputs = [start, self.engine.array(name), getattr(state.mujoco, name)]
            commands.append(self._record(write_rows, (self.nworld, count), inputs))
        return commands

    def _loads(self, *wanted: wp.array | None) -> list[wp.Launch]:
        if not any(x is not None and x.size for x in wanted):
            return []
        if not self.engine.extension.loads:
            raise BuildError("the state asks for body_qdd or body_parent_f: request them before the solver is made")
        empty = wp.empty(0, dtype=wp.spatial_vector, device=self.device)
        inputs = [self.items, self._of_engine(Loads), *(empty if x is None else x for x in wanted)]
        return [self._record(write_loads, (self.nworld, self.items.nbody), inputs)]

    def _particles(self, host: Any, bodies: np.ndarray) -> Particles:
        """Where the numbers of particles are."""
        found = Particles()
        fixed = np.asarray(host.body_mocapid)[bodies]
        dof = np.where(fixed >= 0, -1, np.asarray(host.body_dofadr)[bodies])
        joint = np.where(fixed >= 0, 0, np.asarray(host.body_jntadr)[bodies])
        qpos = np.where(fixed >= 0, -1, np.asarray(host.jnt_qposadr)[joint]) if host.njnt else fixed * 0 - 1
        for name, values in (("body", bodies), ("qpos", qpos), ("qvel", dof), ("mocap", fixed)):
            setattr(found, name, wp.array(np.asarray(values, np.int32), dtype=int, device=self.device))
        return found

    def _lanes(self, items: int) -> int:
        return items if self.device.is_cuda else 1

    def _record(self, kernel: wp.Kernel, dim: tuple[int, ...], inputs: list) -> wp.Launch:
        return wp.launch(kernel, dim=dim, inputs=inputs, device=self.device, record_cmd=True)

    def _of_engine(self, struct: Any, given: dict[str, wp.array] | None = None) -> Any:
        """A bundle of arrays of the engine, but for those that are given."""
        bundle = struct()
        for name in struct.vars:
            setattr(bundle, name, given[name] if given and name in given else self.engine.array(name))
        return bundle

    def _flat(self, state: State, control: Control | None) -> Flat:
        flat = Flat()
        sources = [(state, STATE_ARRAYS)] if control is None else [(state, STATE_ARRAYS), (control, CONTROL_ARRAYS)]
        for owner, names in sources:
            for name, path in names.items():
                value = _find(owner, path)
                rows = self._check(owner, path, value)
                if value is None and rows and path in FORCES:  # else those of the last step would go on acting
                    value = wp.zeros(rows, dtype=self.model.fields[path].dtype, device=self.device)
                if value is not None and value.size:
                    setattr(flat, name, value)
        return flat

    def _check(self, owner: Any, path: str, value: Any) -> int:
        """Raise where an array is not one of this model's, for a kernel would go beyond its end; else its rows."""
        field = self.model.fields.get(path.replace(".", ":"))
        if field is None:
            return 0
        what = f"{type(owner).__name__}.{path}"
        own = "make states with model.state() and controls with model.control()"
        rows = {"world": self.model.world_count, "once": 1, **self.model.kinds}[field.frequency]
        rows *= field.row_size if field.flat else 1
        if value is None:
            if rows and path in NEEDED:
                raise BuildError(f"{what} is None, but the model has {rows} rows of it: {own}")
            return rows
        if not isinstance(value, wp.array):
            raise BuildError(f"{what} is a {type(value).__name__}, not a Warp array: write numbers with .assign()")
        if value.dtype != field.dtype or value.shape[0] != rows:
            has, wants = (f"{count} of {dtype.__name__}" for count, dtype in
                          ((value.shape[0], value.dtype), (rows, field.dtype)))  # fmt: skip
            raise BuildError(f"{what} holds {has}, the solver's model {wants}: it is of another model; {own}")
        if value.device != self.device:
            raise BuildError(f"{what} is on {value.device}, the solver's model on {self.device}: {own}")
        return rows


STATE_ARRAYS = {
    "joint_q": "joint_q", "joint_qd": "joint_qd", "body_q": "body_q", "body_qd": "body_qd", "body_f": "body_f",
    "particle_q": "particle_q", "particle_qd": "particle_qd", "particle_f": "particle_f",
    "warmstart": "mujoco.qacc_warmstart", "actuation": "mujoco.qfrc_actuator", "time": "mujoco.time",
}  # fmt: skip
CONTROL_ARRAYS = {
    "joint_f": "joint_f", "ctrl": "mujoco.ctrl", "target_q": "joint_target_q", "target_qd": "joint_target_qd",
}  # fmt: skip
"""Where the arrays of `Flat` are found."""
NEEDED = frozenset({"joint_q", "joint_qd", "body_q", "body_qd", "particle_q", "particle_qd"})
"""Those that a state cannot be without."""
FORCES = frozenset({"body_f", "particle_f", "joint_f"})
"""Those that are 0 where they are None."""
_RUNNING = tuple(f"mujoco.{name}" for name in RUNNING if name != "ctrl")
READ_STATE = (
    "joint_q", "joint_qd", "body_q", "body_f", "particle_q", "particle_qd", "particle_f", "mujoco.qacc_warmstart",
    "mujoco.time", *_RUNNING,
)  # fmt: skip
READ_CONTROL = tuple(CONTROL_ARRAYS.values())
WRITTEN = (*STATE_ARRAYS.values(), "body_qdd", "body_parent_f", *_RUNNING)


def _find(owner: Any, path: str) -> wp.array | None:
    """An array by its name; None where the object has none."""
    values = vars(owner)
    space, _, name = path.rpartition(".")
    if space:
        values = vars(values[space]) if space in values else {}
    return values.get(name)


def _pointers(owner: Any, paths: tuple[str, ...]) -> list[tuple[int, int] | None]:
    """Where arrays lie, and how long they are: what tells one set of them from another."""
    found = (_find(owner, path) for path in paths)
    return [None if a is None else (a.ptr, a.size) if isinstance(a, wp.array) else (id(a), -1) for a in found]
