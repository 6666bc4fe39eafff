"""A running model behind NumPy arrays: when numbers go to the engine, when they come back, when it computes.

    written      differences are sent before the engine runs; a change it cannot take up builds it anew, state kept
    forward      computed at once; after a reset, only when something computed is read
    step         as dm_control's: positions and velocities, and what follows from them, are of the new state, while
                 accelerations and forces are those of the step just taken; the former are computed when read

Nothing is compiled for the device until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinema.errors import UnknownKey, did_you_mean
from kinema.model.mujoco_fields import DTYPES, data_fields
from kinema.mujoco_enums import Stage
from kinema.physics.fixed import DEPENDS, fixed_frames
from kinema.physics.mirror import Mirror
from kinema.physics.model_copy import ModelCopy
from kinema.simulation import STATE, Simulation

ACCELERATION = (
    "qacc", "qacc_smooth", "act_dot", "actuator_force", "qfrc_actuator", "qfrc_smooth", "qfrc_constraint", "cacc",
    "cfrc_int", "cfrc_ext",
)  # fmt: skip
"""What a step computes from forces: it stays when positions and velocities are computed again after it."""

KEYFRAME = ("time", "qpos", "qvel", "act", "ctrl")
"""What a keyframe gives, with the poses of mocap bodies."""

ALL_ACTUATORS = 0x7FFFFFFF
"""mjOption.disableactuator with every group in it."""

NOT_THE_ENGINES = ("sameframe", "simple", "rgba", "matid", "emission", "specular", "shininess", "reflectance", "user",
                   "group")  # fmt: skip
"""Last words of names of fields that no computation reads."""

DETECTED = ("geom_pos", "geom_quat")
"""Fields of geoms that the collision detector sees through the poses; it keeps the others for itself."""


class Run:
    """An engine and the host's copies of its arrays.

    Args:
        model: What to run.
        worlds: Number of worlds.
        device: Warp device; None: the current one.
        threads: CPU threads; None: one a core where there are worlds enough.
    """

    def __init__(self, model: ModelCopy, worlds: int = 1, device: Any = None, threads: int | None = None):
        for other in model.runs:
            other.send_model()
        self.model = model
        self.options = {"worlds": worlds, "device": device, "threads": threads}
        self._build()
        model.runs.add(self)
        self.worlds = worlds
        self.mirrors: dict[str, Mirror] = {}
        self.due: str | None = "all"  # what must be computed before anything computed is read: "all" or "position"
        self.actuated = False  # whether actuators take part in it
        self._fixed: dict | None = None
        self._put: dict[str, np.ndarray] = self.engine.initial_state()  # in double precision

    def _build(self) -> None:
        """Make an engine of the model as it is now, at its initial state."""
        self.simulation = Simulation(self.model, **self.options, capture_failures=False)
        for name, mirror in self.model.mirrors.items():
            mirror.mark_sent()
            if mirror.per_world:
                self.engine.expand(name)
                self.engine.set_parameter(name, mirror.values)

    @property
    def engine(self) -> Any:
        """The engine that runs the worlds."""
        return self.simulation.engine

    # ------------------------------------------------------------------------------------------ fields

    def names(self) -> list[str]:
        """mjData's fields that there are."""
        return [name for name in data_fields() if name in self.engine.names]

    def mirror(self, name: str) -> Mirror:
        """The host's copy of a field of mjData, up to date."""
        copy = self.mirrors.get(name)
        if copy is None:
            if name not in self.engine.names or name not in data_fields():
                what = "is not computed by this engine" if name in data_fields() else "is not a field of mjData"
                raise UnknownKey(f"{name!r} {what}{did_you_mean(name, self.names())}")
            shape = self._read(name).shape
            copy = self.mirrors[name] = Mirror(shape, DTYPES[data_fields()[name].dtype], per_world=True)
        if not copy.fresh:
            self._receive(name, copy)
        return copy

    def _receive(self, name: str, copy: Mirror) -> None:
        if self.due == "all" and name not in STATE or self.due == "position" and name not in (*STATE, *ACCELERATION):
            self._catch_up()
        if name in self._put:
            np.copyto(copy.values, self._put.pop(name))
        copy.receive(self._read(name))
        if name in self.fixed_frames:
            ids, numbers = self.fixed_frames[name]
            copy.values[:, ids] = numbers
            copy.mark_sent()

    def _read(self, name: str) -> np.ndarray:
        """The device's numbers; lists that vary in length in their whole length."""
        if "nefc" in data_fields()[name].shape:
            return self.engine.array(name).numpy()
        return self.engine.read(name)

    @property
    def fixed_frames(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Rows of frames that follow from the model alone, and are the same in all worlds."""
        if self._fixed is None:
            differ = any(self.model.is_expanded(name) for name in DEPENDS)
            self._fixed = {} if differ else fixed_frames(self.model)
        return self._fixed

    def _run_done(self) -> None:
        """The device has new numbers: bring what programs hold up to date."""
        held = []
        for name, mirror in self.mirrors.items():
            mirror.fresh = False
            if mirror.held:
                held.append((name, mirror))
        for name, mirror in held:
            if not mirror.fresh:
                self._receive(name, mirror)

    # ------------------------------------------------------------------------------------------ run

    def forward(self, *, actuated: bool = True) -> None:
        """Compute everything that follows from the state."""
        self.send()
        self._forward(actuated)
        self.due = None
        self._run_done()

    def forward_when_read(self, *, actuated: bool) -> None:
        """Compute everything that follows from the state, once something of it is read."""
        self.send()
        self.due, self.actuated = "all", actuated
        self._run_done()

    def step(self, nstep: int, *, up_to_date: bool = True) -> None:
        """Advance all worlds; `up_to_date`: then positions and velocities are of the new state everywhere."""
        self.send()
        self.engine.step(nstep)
        self.due, self.actuated = ("position" if up_to_date else None), True
        self._run_done()

    def reset(self, keyframe: int | None = None) -> None:
        """Put all worlds at the model's initial state or a keyframe."""
        self.send_model()
        values = self.engine.initial_state()
        if keyframe is not None:
            values |= {name: np.asarray(getattr(self.model, f"key_{name}"))[keyframe] for name in KEYFRAME}
            values["mocap_pos"] = np.asarray(self.model.key_mpos)[keyframe].reshape(-1, 3)
            values["mocap_quat"] = np.asarray(self.model.key_mquat)[keyframe].reshape(-1, 4)
        self.engine.put({**values, "act_dot": np.zeros(self.model.na)})
        self._put = values
        self.due = None  # what was due is of the past
        self._run_done()
        self.due = "all"

    def _forward(self, actuated: bool) -> None:
        if actuated or not self.model.nactuator:
            self.engine.forward()
            return
        groups, act_dot = int(self.model.opt.disableactuator), self.engine.read("act_dot").copy()
        self.engine.set_option("disableactuator", ALL_ACTUATORS)
        try:
            self.engine.forward()
        finally:
            self.engine.set_option("disableactuator", groups)
        self.engine.write("act_dot", act_dot)  # actuators of a disabled group go on filtering, here none are to

    def _catch_up(self) -> None:
        """Do the computation that is due."""
        due, self.due = self.due, None
        self.send()
        if due == "all" or self.due == "all":  # sending may have built the engine anew
            self._forward(self.actuated)
            self.due = None
            return
        arrays = [self.engine.array(name) for name in (*ACCELERATION, "qacc_warmstart")]
        kept = [array.numpy().copy() for array in arrays]
        readings = self.engine.read("sensordata").copy()
        self.engine.forward()
        for array, numbers in zip(arrays, kept, strict=True):
            _put_back(array, numbers)
        late = np.repeat(np.asarray(self.model.sensor_needstage) == Stage.ACC, np.asarray(self.model.sensor_dim))
        if late.any():
            _put_back(self.engine.array("sensordata"), np.where(late, readings, self.engine.read("sensordata")))

    # ------------------------------------------------------------------------------------------ write

    def send(self) -> None:
        """Send the device what programs have written."""
        self.send_model()
        for name, mirror in self.mirrors.items():
            if mirror.fresh and mirror.changed:
                self.engine.write(name, mirror.values)
                mirror.mark_sent()

    def send_model(self) -> None:
        """Send what was written to the model, to all that run it."""
        if not self.model.mirrors:
            return
        changes = dict(self.model.changes())
        for mirror in changes.values():
            mirror.mark_sent()
        if changes:
            for run in self.model.runs:
                run._take(changes)

    def _take(self, changes: Mapping[str, Mirror]) -> None:
        """Take up changes of the model; build the engine anew where it cannot take them up as it runs."""
        build = False
        for name, mirror in changes.items():
            if name in DEPENDS:
                self._fixed = None
            if name.rpartition("_")[2] in NOT_THE_ENGINES:
                continue
            known = self.engine.is_parameter(name) and (not name.startswith("geom_") or name in DETECTED)
            if known:
                self.engine.set_parameter(name, mirror.values)
            build |= not known
        if build:
            self.rebuild()

    def get_state(self) -> dict[str, np.ndarray]:
        """All that must be saved to go on, in double precision."""
        return {name: self.mirror(name).values.copy() for name in STATE}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Write what `get_state` gave."""
        for name, values in state.items():
            np.copyto(self.mirror(name).values, values)

    def rebuild(self) -> None:
        """Build the engine anew from the model as it is now, and go on from the same state."""
        state = self.simulation.get_state()
        self._build()
        self.simulation.set_state(**{name: value for name, value in state.items() if value.size})
        self.due = "all"
        for name, mirror in self.mirrors.items():
            mirror.fresh = mirror.fresh and name in STATE

    def expand(self, name: str) -> None:
        """Let a parameter of the model differ per world."""
        self.send_model()
        for run in self.model.runs:
            run.simulation.expand(name)
            run._fixed = None
        self.model.expand(name, self.worlds)


def _put_back(array: Any, numbers: np.ndarray) -> None:
    """Write a whole array; on the CPU its memory is the host's."""
    if array.device.is_cpu:
        np.copyto(array.numpy(), numbers)
    else:
        array.assign(numbers)
