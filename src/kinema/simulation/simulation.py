"""Simulation: load a model, run many worlds of it, read and write everything by MuJoCo's names.

    sim = Simulation("humanoid.xml", worlds=64)
    sim.set_state(qpos=start, ctrl=0.1)
    sim.step(100)
    sim.d.qpos            (64, nq)       what was computed, a leading axis of worlds, otherwise as mjData shapes it
    sim.m.body_mass       (nbody,)       the model; (64, nbody) once expanded
    sim.d.ctrl = action                  assignment writes
    sim.m.body_mass[1] = 2.0             so does writing an element: values.py
    sim.joint("knee").qpos               elements by name: named.py

A world whose state stops being finite is frozen and flagged, and the others go on; `reset` revives it.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from kinema import headers
from kinema.closed import Closed
from kinema.collector import paused
from kinema.compile.host_model import KINDS
from kinema.compile.price import Limits
from kinema.convex.status import BAD_PLUGIN, MEANING, PLUGIN_SHIFT
from kinema.devices import cores, device_named
from kinema.engine import Engine
from kinema.errors import BuildError, MissingExtra, PluginError, SimulationError, UnknownKey, WrongMoment, did_you_mean
from kinema.recording import Recording
from kinema.simulation import checkpoint
from kinema.simulation.failure import last_failure
from kinema.simulation.functions import MuJoCoFunctions
from kinema.simulation.memory import Memory, extrapolate
from kinema.simulation.named import Elements, accessor, ids_of
from kinema.simulation.parameters import changed_parameters, put_parameters
from kinema.simulation.recompute import recompute
from kinema.simulation.recorder import Recorder, replay, rerun
from kinema.simulation.source import document_of, load
from kinema.simulation.state import KEY_NAMES, KEYFRAME, STATE
from kinema.simulation.views import DataView, ModelView

if TYPE_CHECKING:
    from kinema.model import Control, State
    from kinema.simulation.model_worlds import ModelWorlds


class Simulation(MuJoCoFunctions, Closed):
    """Many worlds of one model.

    Args:
        source: Path of an MJCF or URDF file, or of a zip with one and its files; XML text; an `mjcf.RootElement`; a
            `mujoco.MjSpec`; or any object with mjModel's attributes (compile's HostModel, a `mujoco.MjModel`, an .mjb);
            or a `Model`, or a solver of one, whose worlds are then shown as they are (model_worlds.py).
        worlds: Number of worlds; None: one, or as many as the model has.
        device: Warp device such as "cpu" or "cuda:0"; None: the current one.
        threads: CPU threads to spread worlds over; None: one a core, where there are worlds enough.
        on_overflow: What to do when contacts find no room: "grow", "warn" or "raise"; `sim.engine.capacity` tells how
            much there is.
        capture_failures: Keep the last good state of every world for `last_failure`; costs a copy of the state a call
            of `step`.
        solver: Who runs the worlds: "convex" (Kinema), "mujoco", or "mujoco-warp" (`kinema.bridge`, for comparison).
        limits: How large a document may be (`kinema.compile.Limits`); it is priced before it is made.
    """

    @paused()
    def __init__(
        self, source, worlds: int | None = None, device=None, threads: int | None = None, *, on_overflow: str = "grow",
        capture_failures: bool = True, solver: str = "convex", limits: Limits | None = None,
    ):  # fmt: skip
        worlds = None if worlds is None else whole("worlds", worlds, least=1)
        if threads is not None:
            threads = whole("threads", threads, least=1)
        self.options: dict[str, Any] = {"on_overflow": on_overflow, "solver": solver}
        self.newton: ModelWorlds | None = None
        if any(hasattr(source, name) for name in ("world_classes", "batches", "batch")):
            self.newton = _worlds_of_model(source, worlds, device, threads, self.options)
            self.model, self.engine = self.newton.batch.source.host, self.newton.batch.engine
        else:
            if solver == "convex" and device_named(device).is_cpu:
                headers.begin()
            self.model = load(source, limits)
            threads = cores() if threads is None else threads
            self.engine = _engine(solver, self.model, worlds or 1, device, threads, on_overflow)
        self.document = document_of(source)
        self.recorder: Recorder | None = None
        self.last_good = self.engine.last_good() if capture_failures else None
        self.m = ModelView(self)
        self.d = DataView(self)
        self._elements: dict[tuple[str, int | str], Elements] = {}  # those asked for by name, found once

    @classmethod
    def of_model(cls, source: Any, threads: int | None = None) -> list[Simulation]:
        """Simulations of all worlds of a `Model`, or of a solver of one: one for each structure that worlds have.

        `sim.newton.worlds` are the worlds of the model that a simulation runs.
        """
        from kinema.simulation.model_worlds import model_worlds  # the adapter is imported on use

        return [cls(each) for each in model_worlds(source, threads)]

    @property
    def worlds(self) -> int:
        """Number of worlds."""
        return self.engine.nworld

    def __repr__(self) -> str:
        m = self.model
        return f"Simulation(worlds={self.worlds}, nq={m.nq}, nv={m.nv}, nu={m.nu}, device={str(self.engine.device)!r})"

    # ------------------------------------------------------------------------------------------ run

    def forward(self) -> None:
        """Compute everything that follows from the state; nothing is advanced."""
        self.engine.forward()

    def step(self, nstep: int = 1) -> None:
        """Advance every world by nstep time steps."""
        if nstep != 1 or type(nstep) is not int:
            nstep = whole("nstep", nstep)
            if nstep == 0:
                return
        if self.recorder is None:
            self._advance(nstep)
        else:
            self.recorder.step(nstep)

    def _advance(self, nstep: int) -> None:
        if self.last_good is not None:
            self.last_good.keep(nstep)
        self.engine.step(nstep)

    def inverse(self) -> None:
        """Inverse dynamics: qfrc_inverse, the force that makes the acceleration qacc at the present state."""
        self.engine.inverse()

    # ------------------------------------------------------------------------------------------ state

    def reset(self, mask=None, *, keyframe: int | str | None = None) -> None:
        """Put worlds back to the initial state, or to a keyframe, and revive those that were frozen.

        Args:
            mask: Which worlds: booleans, one a world, or indices, or an integer array on the device; None: all.
            keyframe: Index or name of a keyframe of the model.
        """
        worlds = self._worlds(mask)
        key = None if keyframe is None else self._keyframe(keyframe)
        self.engine.reset(worlds)
        if self.newton is not None and key is None:
            self.engine.put(self.newton.start, worlds, per_world=True)  # type: ignore[call-arg]  # the convex engine
        if key is not None:
            fields = {name: f"key_{KEY_NAMES.get(name, name)}" for name in KEYFRAME}
            if self.newton is not None and len(self.newton.batch.hosts) > 1:  # worlds have keyframes of their own
                values = self.newton.keyframe(key, fields)
                values["mocap_pos"] = np.reshape(values["mocap_pos"], (self.worlds, -1, 3))
                values["mocap_quat"] = np.reshape(values["mocap_quat"], (self.worlds, -1, 4))
                self.engine.put(values, worlds, per_world=True)  # type: ignore[call-arg]  # the convex engine
                return
            values = {name: np.asarray(getattr(self.model, field))[key] for name, field in fields.items()}
            values["mocap_pos"] = np.reshape(values["mocap_pos"], (-1, 3))
            values["mocap_quat"] = np.reshape(values["mocap_quat"], (-1, 4))
            self.engine.put(values, worlds, keep=f"keyframe {key}")

    def set_state(self, *, worlds=None, **values) -> None:
        """Write any part of the state, in MuJoCo's conventions; one value is given to all worlds.

        Args:
            worlds: Which worlds: booleans or indices; None: all.
            values: Fields of the state by name: qpos, qvel, act, ctrl, mocap_pos, time, ...
        """
        for name in values:
            if name not in STATE:
                raise UnknownKey(f"{name!r} is not part of the state{did_you_mean(name, STATE)}: {', '.join(STATE)}")
        chosen = self._worlds(worlds)
        fitting = {name: self._fit(name, value, chosen) for name, value in values.items()}
        for name, value in fitting.items():
            self.engine.write(name, value, chosen)

    def get_state(self) -> dict[str, np.ndarray]:
        """All that must be saved, by name; `set_state(**saved)` puts it back."""
        return {name: self.engine.read(name).copy() for name in STATE}

    def read_model_state(self, state: State, control: Control | None = None) -> None:
        """Put the worlds of a Model where one of its states has them; a frame, where a recording is being made.

        Args:
            state: A state of the model this simulation was made of.
            control: What acts on it; None: the model's initial values.
        """
        self._of_model().read(state, control)
        if self.recorder is not None:
            self.recorder.take()

    def write_model_state(self, state: State) -> None:
        """Write where the worlds of a Model are into one of its states."""
        self._of_model().write(state)

    def _of_model(self) -> ModelWorlds:
        if self.newton is None:
            raise BuildError("this simulation was not made of a Model: use set_state and get_state")
        return self.newton

    def array(self, name: str) -> wp.array:
        """The array of a field on the device, indexed [world, ...], for kernels and for zero-copy exchange."""
        if name not in self.engine.names:
            raise UnknownKey(f"no array named {name!r}{did_you_mean(name, self.engine.names)}")
        return self.engine.array(name)

    def torch(self, name: str):
        """The array of a field as a torch tensor of the same memory: what one writes, the other reads.

        State and computed fields stay where they are; contacts and constraint rows move when their lists grow, and a
        parameter when it is expanded. Other libraries take `array(name)` by DLPack, such as
        `jax.dlpack.from_dlpack(sim.array("qpos"))`.
        """
        try:
            import torch  # noqa: F401  (Warp finds it, and says nothing useful where it is missing)
        except ImportError:
            raise MissingExtra("torch is not installed: pip install torch") from None
        return wp.to_torch(self.array(name), requires_grad=False)

    def trouble(self) -> dict[int, list[str]]:
        """Worlds in which something went wrong since they were reset, and what."""
        status = self.engine.read("status")
        return {
            int(world): [self._meaning(bit, int(status[world])) for bit in MEANING if status[world] & bit]
            for world in np.flatnonzero(status)
        }

    def _meaning(self, bit: int, status: int) -> str:
        """What a bit of a world's status says; of trouble with a plugin, which."""
        if bit != BAD_PLUGIN:
            return MEANING[bit]
        instance = status >> PLUGIN_SHIFT
        return f"plugin {self.engine.plugins[instance]} (instance {instance}) gave a number that is not finite"

    def check(self) -> None:
        """Raise SimulationError, or PluginError where a plugin is to blame, if something went wrong in any world."""
        found = self.trouble()
        if found:
            first = "; ".join(f"world {world}: {', '.join(what)}" for world, what in list(found.items())[:5])
            more = f" and {len(found) - 5} more worlds" if len(found) > 5 else ""
            broken = np.any(self.engine.read("status") & BAD_PLUGIN)
            error = PluginError if broken else SimulationError
            raise error(f"{first}{more}. reset(mask) revives worlds; smaller time steps often help")

    @property
    def last_failure(self) -> Recording | None:
        """The run of the first world that has gone bad, up to its last good state; None where all are well.

        Save it with `last_failure.save(path)`, and run it again with `sim.rerun(recording, steps)`. It is there until
        the world is reset. Needs `capture_failures`.
        """
        return last_failure(self)

    def __reduce__(self) -> Any:
        """For pickle: model, parameters and states, not what is being recorded; on a device of the same name."""
        return checkpoint.revived, (type(self), checkpoint.contents(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Simulation:
        """Another simulation in the same state, of the same model, which nobody changes."""
        memo[id(self)] = copied = checkpoint.revived(type(self), checkpoint.contents(self))
        return copied

    def __copy__(self) -> Simulation:
        """The same: there is no half of a simulation."""
        return self.__deepcopy__({})

    def copy_of_world(self, world: int) -> Simulation:
        """A simulation of one world with the parameters that world has, at the initial state."""
        world = whole("world", world)
        if world >= self.worlds:
            raise BuildError(f"world {world}: the simulation has {self.worlds}")
        one = Simulation(self.model, 1, self.engine.device, 1, **self.options, capture_failures=False)
        expanded = set(self.engine.expanded)
        values = changed_parameters(self.engine)
        put_parameters(one.engine, {n: v[world] if n in expanded else v for n, v in values.items()}, ())
        return one

    # ------------------------------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike, *, more: Mapping[str, Any] | None = None) -> Path:
        """Write all that decides the next steps to one file; `load` or `restore` take it up, equal to the bit.

        Args:
            path: Where to.
            more: Anything JSON can hold, to be kept with it, such as the state of a random number generator.
        """
        return checkpoint.save(self, path, more)

    def save_xml(self, path: str | os.PathLike | None = None, *, world: int = 0) -> str:
        """The model as it stands, as MJCF, with the parameters that one world has now; gives the text.

        What was not changed stays as its author wrote it; the document is compiled and compared before it is written.

        Args:
            path: The file to write, if any; files of the model are named as they are found from there.
            world: Whose parameters, where worlds differ.
        """
        from kinema.simulation.save_xml import save_xml  # imported on use: it compiles

        world = whole("world", world)
        if world >= self.worlds:
            raise BuildError(f"world {world}: the simulation has {self.worlds}")
        return save_xml(self, path, world)

    def load(self, path: str | os.PathLike) -> dict[str, Any]:
        """Go on from what `save` wrote, with the same model and number of worlds; gives what was kept as `more`."""
        return checkpoint.load(self, path)

    @classmethod
    def restore(cls, path: str | os.PathLike, source=None, **options) -> Simulation:
        """A new simulation that goes on from what `save` wrote.

        Args:
            path: The file.
            source: The model; None: the document it was made of.
            options: Device, threads, ... as for a new simulation.
        """
        document, worlds = (source, checkpoint.worlds_in(path)) if source else checkpoint.document_in(path)
        sim = cls(document, worlds, **options)
        sim.load(path)
        return sim

    # ------------------------------------------------------------------------------------------ memory

    def memory(self) -> Memory:
        """Bytes of all arrays on the device, by what they hold."""
        return Memory(self.worlds, *self.engine.memory())

    @classmethod
    def estimate(cls, source, worlds: int, device=None, **options) -> Memory:
        """Bytes that a simulation would take, before it is made: measured on simulations of one and of two worlds.

        Without a GPU, what one named as the device would hold is told on paper: all but what its threads share.
        """
        on_paper = str(device).startswith("cuda") and not wp.is_cuda_available()
        make = _on_paper if on_paper else lambda *args, **more: cls(*args, **more).memory()
        one, two = (make(source, n, device, 1, **options) for n in (1, 2))
        return extrapolate(one, two, worlds)

    # ------------------------------------------------------------------------------------------ recordings

    def record(self, every: int = 1, *, worlds=None) -> None:
        """Begin to record; the present state is the first frame.

        Args:
            every: Steps between frames.
            worlds: Which worlds: booleans or indices; None: all.
        """
        if self.recorder is not None:
            raise WrongMoment("the simulation is recording already: call stop_recording() first")
        self.recorder = Recorder(self, every, self._worlds(worlds))

    def stop_recording(self) -> Recording:
        """End the recording begun by `record`, and give it."""
        if self.recorder is None:
            raise WrongMoment("nothing is being recorded: call record() first")
        recorder, self.recorder = self.recorder, None
        return recorder.finish()

    def replay(self, recording: Recording) -> Iterator[int]:
        """Show a recording: `for k in sim.replay(recording): ...` puts one frame after the other into the worlds.

        Everything that follows from a frame's state is computed; nothing is advanced. A recording of one world is shown
        by all worlds.
        """
        return replay(self, recording)

    def rerun(self, recording: Recording, steps: int | None = None) -> Recording:
        """Run again what was recorded, from its first frame and with its controls; gives the recording of that.

        On the same device it agrees with the first run bit for bit, if controls and mocap bodies were moved at frames
        only and applied forces not at all.

        Args:
            recording: Where to begin; parameters of the model become those of the recording.
            steps: How far to run; None: as far as the recording goes. Beyond it controls stay.
        """
        return rerun(self, recording, steps)

    # ------------------------------------------------------------------------------------------ parameters

    def expand(self, *names: str) -> None:
        """Let parameters of the model differ per world; then write them: `sim.m.body_mass = values`."""
        for name in names:
            if not self.engine.is_parameter(name):
                known = [known for known in self.engine.parameters if self.engine.is_parameter(known)]
                raise UnknownKey(f"{name!r} is no parameter that may differ per world{did_you_mean(name, known)}")
        for name in names:
            self.engine.expand(name)

    def plugin_parameter(self, plugin: str, name: str) -> np.ndarray:
        """A number of the configuration of all instances of a plugin, (worlds, instances[, n])."""
        from kinema.plugins.parameters import read_parameter  # the plugin layer is imported on use

        return read_parameter(self.engine, plugin, name)

    def set_plugin_parameter(self, plugin: str, name: str, value) -> None:
        """Write a number of a plugin's configuration: anything that fits (worlds, instances[, n])."""
        from kinema.plugins.parameters import write_parameter

        write_parameter(self.engine, plugin, name, value)

    def recompute(self) -> None:
        """Compute again what derives from the model's parameters (weights, lengths, masses of subtrees), per world."""
        recompute(self)

    # ------------------------------------------------------------------------------------------ show

    def render(self, camera: int | str | None = None, width: int = 320, height: int = 240, **options) -> np.ndarray:
        """Pictures of worlds: `kinema.render.render`, which says what the options are."""
        from kinema.render import render

        return render(self, camera, width, height, **options)

    def view(self, **options):
        """Show the worlds in the browser: `kinema.viewer.view`, which says what the options are."""
        from kinema.viewer import view

        return view(self, **options)

    # ------------------------------------------------------------------------------------------ inside

    def _worlds(self, mask):
        """The chosen worlds as the engine takes them, once it is known that they are there."""
        if mask is None:
            return None
        if isinstance(mask, wp.array):
            if mask.shape != (self.worlds,):
                raise BuildError(f"mask of shape {mask.shape}: expected one number a world, ({self.worlds},)")
            return mask
        chosen = np.arange(self.worlds)[mask] if isinstance(mask, slice) else np.asarray(mask)
        if chosen.size == 0 and chosen.dtype != bool:
            return chosen.astype(int)
        if chosen.dtype == bool:
            if chosen.shape != (self.worlds,):
                raise BuildError(f"mask of shape {chosen.shape}: expected one boolean a world, ({self.worlds},)")
        elif not np.issubdtype(chosen.dtype, np.integer):
            raise BuildError(f"worlds={mask!r}: expected booleans, one a world, or indices")
        elif chosen.min() < -self.worlds or chosen.max() >= self.worlds:
            raise BuildError(f"worlds={mask!r}: the simulation has worlds 0 to {self.worlds - 1}")
        return chosen

    def _fit(self, name: str, value, worlds=None) -> np.ndarray:
        """A value as the field takes it; an error if it does not fit the worlds it is for."""
        shape = self.engine.shape(name)
        value = np.asarray(value)
        if worlds is not None or value.shape not in (shape, shape[1:]):
            count = shape[:1] if worlds is None else np.empty(shape[0])[worlds].shape
            try:
                np.broadcast_to(value, (*count, *shape[1:]))
            except ValueError:
                raise BuildError(
                    f"{name}: an array of shape {value.shape} does not fit {(*count, *shape[1:])} or {shape[1:]}"
                ) from None
        if value.dtype.kind not in "biuf":
            raise BuildError(f"{name}: expected numbers, got an array of {value.dtype}")
        return value

    def _write(self, name: str, value, worlds=None) -> None:
        self.engine.write(name, self._fit(name, value, worlds), worlds)

    def _refusal(self, name: str) -> str:
        """The message for an unknown attribute: fields of mjData and mjModel are often looked for here."""
        for part in ("d", "m", "m.opt"):
            view = self.m.opt if part == "m.opt" else getattr(self, part)
            near = difflib.get_close_matches(name, view._names(), n=1, cutoff=0.75)
            if near:
                return f"a Simulation has no attribute {name!r}; did you mean sim.{part}.{near[0]}?"
        return super()._refusal(name)

    def _keyframe(self, keyframe: int | str) -> int:
        if isinstance(keyframe, str):
            return ids_of(self.model, "key", keyframe)[0][0]
        if isinstance(keyframe, bool | np.bool_) or not isinstance(keyframe, int | np.integer):
            raise BuildError(f"keyframe={keyframe!r}: expected a name or an index")
        if not 0 <= keyframe < self.model.nkey:
            raise UnknownKey(f"keyframe {keyframe}: the model has {self.model.nkey}")
        return int(keyframe)


def whole(name: str, value: Any, least: int = 0) -> int:
    """A whole number that is large enough; numbers with a fraction, truth values and text are none."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < least:
        raise BuildError(f"{name}={value!r}: expected a whole number, {least} or more")
    return int(value)


SOLVERS = {"convex": None, "mujoco": "c", "mujoco-warp": "warp"}
"""Who can run worlds, and the backend of the bridge that does."""


def _engine(solver: str, model: Any, worlds: int, device: Any, threads: int, on_overflow: str) -> Engine:
    if solver not in SOLVERS:
        raise BuildError(f"solver={solver!r}{did_you_mean(str(solver), SOLVERS)}: known are {', '.join(SOLVERS)}")
    backend = SOLVERS[solver]
    if backend is None:
        from kinema.convex.engine import Engine as ConvexEngine

        return ConvexEngine(model, worlds, device=device, threads=threads, on_overflow=on_overflow)
    from kinema.bridge.solver import bridge_engine  # an extra, imported on use

    return bridge_engine(backend, model, worlds, device=device, threads=threads)


def _worlds_of_model(source: Any, worlds: int | None, device: Any, threads: int | None, options: dict) -> ModelWorlds:
    model = getattr(source, "model", source)
    if worlds not in (None, model.world_count):
        raise BuildError(f"worlds={worlds}: the model has {model.world_count}; replicate() makes more")
    if device is not None and device_named(device) != model.device:
        raise BuildError(f"device={device!r}: the model was finalized for {model.device}")
    if options["solver"] != "convex":
        raise BuildError(f"solver={options['solver']!r}: a Model is run by the convex engine here; use SolverMuJoCo")
    from kinema.simulation.model_worlds import ModelWorlds, model_worlds, the_only  # the adapter is imported on use

    return source if isinstance(source, ModelWorlds) else the_only(model_worlds(source, threads))


def _on_paper(
    source: Any, worlds: int, _device: Any, _threads: int, *, on_overflow: str = "grow", limits: Limits | None = None,
    capture_failures: bool = True,
) -> Memory:  # fmt: skip
    """What a simulation on a CUDA device holds, made up on the CPU."""
    from kinema.convex.engine import Engine as ConvexEngine

    engine = ConvexEngine(load(source, limits), worlds, device="cpu", on_overflow=on_overflow, cuda=True)
    if capture_failures:
        engine.last_good()
    return Memory(worlds, *engine.memory())


for _kind in KINDS:  # sim.body("torso"), sim.joint("knee"), ...
    setattr(Simulation, _kind, accessor(_kind))
