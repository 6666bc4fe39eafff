"""Drives by networks: efforts as a trained network says them, from how far a dof is from its target and how it moves.

    MLP     f = s_f net(s_p e_i ..., s_v v_i ...)             e = q* - q, v; i: steps ago, those that `input_idx` lists
    LSTM    f = s_f y,      y, (h', c') = net((s_p e, s_v v), (h, c))
    GRU     f = σ y + μ,    y, h' = net(x, h)                 x: `input_columns`, each less its mean, by its deviation

A network is a file of `torch.export.save(program, path, extra_files={"metadata.json": text})`; the text, a JSON object,
has `pos_scale`, `vel_scale`, `effort_scale`, `input_order`, `input_idx`, `num_layers`, `hidden_size`, `model_type` and,
for a GRU, `input_columns`, `normalization` and `sample_dt_s`, all of them Newton's words. All dofs of an actuator are
one batch. PyTorch runs it, on the device of the model, so a CUDA graph cannot hold it, and efforts are explicit.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import warp as wp

from ..errors import BuildError, did_you_mean, need
from .drives import DriveBase, check_mask

METADATA = "metadata.json"
ENDINGS = (".pt", ".pth", ".pt2")
FEATURES = ("position", "target_position", "position_error", "velocity", "target_velocity", "velocity_error")
"""Columns that a GRU may ask for besides one of the control's own."""


def is_torch(path: str) -> bool:
    """Whether a file is PyTorch's, by its name."""
    return os.path.splitext(path)[1].lower() in ENDINGS


def read_metadata(path: str) -> dict[str, Any]:
    """What a file says of its network, which is not loaded."""
    if not is_torch(path):
        raise BuildError(f"{path!r}: networks are read from {', '.join(ENDINGS)} files of torch.export.save; export an "
                         "ONNX network's weights again with torch.export.export")  # fmt: skip
    if not os.path.isfile(path):
        raise BuildError(f"{path!r}: there is no such file")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {name.partition("/")[2]: name for name in archive.namelist()}
            if not {"archive_format", "serialized_exported_program.json"} & entries.keys():
                raise zipfile.BadZipFile
            entry = entries.get(f"extra/{METADATA}") or entries.get(METADATA)
            text = archive.read(entry).decode() if entry else "{}"
    except zipfile.BadZipFile:
        raise BuildError(f"{path!r}: no archive of torch.export.save; TorchScript and state dicts have to be exported "
                         "again with it") from None  # fmt: skip
    try:
        found = json.loads(text)
    except json.JSONDecodeError as problem:
        raise BuildError(f"{path!r}: {METADATA} is no JSON: {problem}") from None
    if not isinstance(found, dict):
        raise BuildError(f"{path!r}: {METADATA} is no JSON object but a {type(found).__name__}")
    return found


class _NeuralDrive(DriveBase):
    """What drives by networks share.

    Args:
        model_path: File of the network.
    """

    SHARED_PARAMS: ClassVar[set[str]] = {"model_path"}

    @classmethod
    def resolve_arguments(cls, args: dict[str, Any]) -> dict[str, Any]:
        """The file, which all dofs of an actuator share."""
        if not args.get("model_path"):
            raise BuildError(f"{cls.__name__} needs model_path=, the file of its network")
        return {"model_path": args["model_path"]}

    def __init__(self, model_path: str):
        self.model_path = model_path
        self.metadata = read_metadata(model_path)
        self.network = need("torch.export", "torch", "Drives by networks").load(model_path).module()
        self._torch: Any = None
        self._at: dict[int, Any] = {}

    def scale(self, *names: str) -> float:
        """A factor of the metadata, by the first of its names that is there; 1 if none is."""
        name = next((name for name in names if name in self.metadata), names[0])
        value = self.metadata.get(name, 1.0)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value == 0.0:
            raise BuildError(f"{self.model_path!r}: {name} is {value!r}, wanted a finite number other than 0")
        return float(value)

    def size(self, name: str) -> int:
        """A count of the metadata that has to be there."""
        value = self.metadata.get(name)
        if not isinstance(value, int) or value < 1:
            raise BuildError(f"{self.model_path!r}: {METADATA} has to say {name}, a number of 1 or more, not {value!r}")
        return value

    def finalize(self, device: Any, num_actuators: int) -> None:
        """Bring the network to the device."""
        import torch

        self._torch = torch.device(f"cuda:{device.ordinal}" if device.is_cuda else "cpu")
        self.network = self.network.to(self._torch)

    def is_stateful(self) -> bool:
        """What a network remembers is kept."""
        return True

    def is_graphable(self) -> bool:
        """PyTorch runs it."""
        return False

    def zeros(self, *shape: int) -> Any:
        """A tensor on the device."""
        import torch

        return torch.zeros(*shape, device=self._torch)

    def at(self, values: wp.array, indices: wp.array) -> Any:
        """Entries of an array, one a dof."""
        key = indices.ptr
        if key not in self._at:
            self._at[key] = wp.to_torch(indices).long()
        return wp.to_torch(values)[self._at[key]].detach()

    def write(self, effort: Any, forces: wp.array) -> None:
        """Efforts into the array of them."""
        wp.to_torch(forces).copy_(self._fit(effort, forces.shape[0]))

    def _fit(self, effort: Any, count: int) -> Any:
        if effort.numel() != count:
            raise BuildError(f"{self.model_path!r}: the network gives {tuple(effort.shape)}, wanted an effort for each "
                             f"of {count} dofs")  # fmt: skip
        return effort.reshape(count)


class _Memory(DriveBase.State):
    """Tensors with dofs along one axis."""

    AXIS: ClassVar[int] = 1

    def tensors(self) -> list[Any]:
        """All of them."""
        return [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]

    def reset(self, mask: wp.array | None = None) -> None:
        """Forget, where `mask` says so, or everything."""
        for tensor in self.tensors():
            if mask is None:
                tensor.zero_()
                continue
            check_mask(mask, tensor.shape[self.AXIS], "reset()")
            tensor[:, wp.to_torch(mask).bool()] = 0.0


class DriveNeuralMLP(_NeuralDrive):
    """A network without memory of its own: it is shown the last steps."""

    @dataclass
    class State(_Memory):
        """Errors and velocities of steps before, the last one first."""

        pos_error_history: Any = None
        """Position errors, [steps, dofs]."""
        vel_history: Any = None
        """Velocities, [steps, dofs]."""

    def __init__(self, model_path: str):
        super().__init__(model_path)
        said = self.metadata
        self.input_order = said.get("input_order", "pos_vel")
        if self.input_order not in ("pos_vel", "vel_pos"):
            hint = did_you_mean(str(self.input_order), ("pos_vel", "vel_pos"))
            raise BuildError(f"{model_path!r}: input_order is {self.input_order!r}, wanted pos_vel or vel_pos{hint}")
        self.input_idx = said.get("input_idx", [0])
        if not self.input_idx or any(not isinstance(i, int) or i < 0 for i in self.input_idx):
            raise BuildError(f"{model_path!r}: input_idx is {self.input_idx!r}, wanted numbers of steps, 0 the present")
        self.history_length = max(self.input_idx) + 1
        self.pos_scale, self.vel_scale = self.scale("pos_scale"), self.scale("vel_scale")
        self.effort_scale = self.scale("effort_scale", "torque_scale")
        self._now: tuple[Any, Any] = (None, None)

    def state(self, num_actuators: int, device: Any) -> DriveNeuralMLP.State:
        """A past without errors or motion."""
        return DriveNeuralMLP.State(*(self.zeros(self.history_length, num_actuators) for _ in range(2)))

    def compute(
        self, positions, velocities, target_pos, target_vel, feedforward, pos_indices, vel_indices,
        target_pos_indices, target_vel_indices, forces, state, dt, device=None, *, custom_inputs=None,
    ) -> None:  # fmt: skip
        """Write the effort of each dof."""
        import torch

        error = self.at(target_pos, target_pos_indices) - self.at(positions, pos_indices)
        speed = self.at(velocities, vel_indices)
        self._now = error, speed
        blocks = []
        for now, past, scale in (
            (error, state.pos_error_history, self.pos_scale), (speed, state.vel_history, self.vel_scale),
        ):  # fmt: skip
            blocks.append(scale * torch.stack([now if i == 0 else past[i - 1] for i in self.input_idx], dim=1))
        if self.input_order == "vel_pos":
            blocks.reverse()
        with torch.no_grad():
            self.write(self.effort_scale * self.network(torch.cat(blocks, dim=1)), forces)

    def update_state(self, current_state: DriveNeuralMLP.State, next_state: DriveNeuralMLP.State) -> None:
        """The present becomes the past."""
        if next_state is None:
            return
        for old, new, now in zip(current_state.tensors(), next_state.tensors(), self._now, strict=True):
            new.copy_(old.roll(1, 0))
            new[0] = now


class _Recurrent(_NeuralDrive):
    """Networks that remember by themselves."""

    def __init__(self, model_path: str):
        super().__init__(model_path)
        self._shape = self.size("num_layers"), self.size("hidden_size")
        self._next: tuple[Any, ...] = ()

    def update_state(self, current_state: Any, next_state: Any) -> None:
        """What the network remembers now."""
        if next_state is not None:
            for tensor, new in zip(next_state.tensors(), self._next, strict=True):
                tensor.copy_(new)


class DriveNeuralLSTM(_Recurrent):
    """A network with long short-term memory."""

    @dataclass
    class State(_Memory):
        """What the network remembers."""

        hidden: Any = None
        """Hidden state, [layers, dofs, size]."""
        cell: Any = None
        """Cell state, [layers, dofs, size]."""

    def __init__(self, model_path: str):
        super().__init__(model_path)
        self.pos_scale, self.vel_scale = self.scale("pos_scale"), self.scale("vel_scale")
        self.effort_scale = self.scale("effort_scale", "torque_scale")

    def state(self, num_actuators: int, device: Any) -> DriveNeuralLSTM.State:
        """Nothing is remembered."""
        layers, width = self._shape
        return DriveNeuralLSTM.State(*(self.zeros(layers, num_actuators, width) for _ in range(2)))

    def compute(
        self, positions, velocities, target_pos, target_vel, feedforward, pos_indices, vel_indices,
        target_pos_indices, target_vel_indices, forces, state, dt, device=None, *, custom_inputs=None,
    ) -> None:  # fmt: skip
        """Write the effort of each dof."""
        import torch

        error = self.at(target_pos, target_pos_indices) - self.at(positions, pos_indices)
        speed = self.at(velocities, vel_indices)
        shown = torch.stack([self.pos_scale * error, self.vel_scale * speed], dim=1).unsqueeze(1)
        with torch.no_grad():
            effort, self._next = self.network(shown, (state.hidden, state.cell))
            self.write(self.effort_scale * effort, forces)


class DriveNeuralGRU(_Recurrent):
    """A network of gated recurrent units, with inputs by name, of which one may be an array of the control."""

    @dataclass
    class State(_Memory):
        """What the network remembers."""

        hidden: Any = None
        """Hidden state, [layers, dofs, size]."""

    def __init__(self, model_path: str):
        super().__init__(model_path)
        said = self.metadata
        self.input_columns = tuple(said.get("input_columns") or ())
        self.custom_inputs = tuple(said.get("custom_inputs") or ())
        if not self.input_columns or len(set(self.input_columns)) < len(self.input_columns):
            raise BuildError(f"{model_path!r}: input_columns has to list the network's inputs, each once")
        for name in self.input_columns:
            if name not in (*FEATURES, *self.custom_inputs):
                known = [*FEATURES, *self.custom_inputs]
                raise BuildError(f"{model_path!r}: there is no input {name!r}{did_you_mean(name, known)}")
        numbers = said.get("normalization") or {}
        self._mean, self._deviation = (
            [self._number(numbers, "inputs", kind, name) for name in self.input_columns] for kind in ("mean", "std")
        )
        self._torque = tuple(self._number(numbers, "targets", kind, "torque") for kind in ("mean", "std"))
        self.sample_dt = self.scale("sample_dt_s")

    def _number(self, numbers: Mapping[str, Any], *keys: str) -> float:
        found: Any = numbers
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        wrong = not isinstance(found, (int, float)) or not math.isfinite(found) or (keys[1] == "std" and found <= 0.0)
        if wrong:
            raise BuildError(f"{self.model_path!r}: normalization has no number at {'.'.join(keys)}")
        return float(found)

    def state(self, num_actuators: int, device: Any) -> DriveNeuralGRU.State:
        """Nothing is remembered."""
        layers, width = self._shape
        return DriveNeuralGRU.State(self.zeros(layers, num_actuators, width))

    def compute(
        self, positions, velocities, target_pos, target_vel, feedforward, pos_indices, vel_indices,
        target_pos_indices, target_vel_indices, forces, state, dt, device=None, *, custom_inputs=None,
    ) -> None:  # fmt: skip
        """Write the effort of each dof."""
        import torch

        if dt is None or not math.isclose(dt, self.sample_dt, rel_tol=1e-4):
            raise BuildError(f"{self.model_path!r}: the network was trained at steps of {self.sample_dt} s, not {dt} s")
        q, v = self.at(positions, pos_indices), self.at(velocities, vel_indices)
        to_q, to_v = self.at(target_pos, target_pos_indices), self.at(target_vel, target_vel_indices)
        known = dict(zip(FEATURES, (q, to_q, to_q - q, v, to_v, to_v - v), strict=True))
        known |= {name: self.at(array, vel_indices) for name, array in (custom_inputs or {}).items()}
        units = zip(self.input_columns, self._mean, self._deviation, strict=True)
        columns = [(known[name] - mean) / deviation for name, mean, deviation in units]
        mean, deviation = self._torque
        with torch.no_grad():
            effort, hidden = self.network(torch.stack(columns, dim=1).unsqueeze(0), state.hidden)
            self._next = (hidden,)
            self.write(deviation * effort + mean, forces)


NETWORKS = {"mlp": DriveNeuralMLP, "lstm": DriveNeuralLSTM, "gru": DriveNeuralGRU}
"""Drives by the metadata's `model_type`."""


def drive_of(arguments: dict[str, Any]) -> type[DriveBase]:
    """The drive that a file asks for."""
    path = arguments.get("model_path")
    if not path:
        raise BuildError("NewtonNeuralControlAPI needs newton:modelPath, the file of its network")
    kind = read_metadata(path).get("model_type")
    if kind not in NETWORKS:
        hint = did_you_mean(str(kind), NETWORKS)
        raise BuildError(f"{path!r}: model_type is {kind!r}, wanted one of {', '.join(NETWORKS)}{hint}")
    return NETWORKS[kind]
