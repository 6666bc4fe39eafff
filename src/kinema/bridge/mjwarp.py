"""Worlds run by MuJoCo Warp, in its own arrays on the same device; numbers go between the two through the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from kinema.bridge.engine import BridgeEngine
from kinema.bridge.mjmodel import to_mjmodel
from kinema.convex.named import room
from kinema.convex.status import BAD_STATE
from kinema.engine import Capacity
from kinema.errors import BuildError, need
from kinema.math.vector import MAXVAL
from kinema.model.mujoco_fields import model_fields

PARTS = {
    "motion": ("kinematics", "com_pos", "com_vel"), "poses": ("kinematics", "com_pos", "camlight", "tendon"),
}  # fmt: skip
LEAST_CONTACTS, LEAST_ROWS = 16, 64


class MuJoCoWarpEngine(BridgeEngine):
    """Worlds run by the mujoco-warp package."""

    def _make(self, source: Any, nworld: int, device: wp.Device) -> None:
        self._mjw = need("mujoco_warp", "mujoco", "Runs by MuJoCo Warp")
        mjm = to_mjmodel(source)
        contacts, rows = room(source)
        self._room = max(contacts, LEAST_CONTACTS), max(rows, LEAST_ROWS)
        with wp.ScopedDevice(device):
            self.model = self._mjw.put_model(mjm)
            self.data = self._mjw.make_data(mjm, nworld=nworld, nconmax=self._room[0], njmax=self._room[1])

    def _has(self, name: str) -> bool:
        return isinstance(getattr(self.data, name, None), wp.array)

    def _get(self, name: str) -> np.ndarray:
        return getattr(self.data, name).numpy()

    def _put(self, name: str, worlds: np.ndarray, values: np.ndarray) -> None:
        array = getattr(self.data, name)
        rows = np.array(array.numpy())
        rows[worlds] = values.reshape(len(worlds), *rows.shape[1:])
        array.assign(rows)

    def _put_parameter(self, name: str, values: np.ndarray, per_world: bool) -> None:
        owner = self.model.opt if model_fields()[name].group == "option" else self.model
        old = getattr(owner, name, None)
        if not isinstance(old, wp.array):
            raise BuildError(f"MuJoCo Warp has no parameter {name} that can be changed while it runs")
        rows = (values if per_world else values[:1]).reshape(-1, *old.numpy().shape[1:])
        setattr(owner, name, wp.array(rows, dtype=old.dtype, device=old.device))

    def _compute(self, what: str, count: int, well: np.ndarray) -> np.ndarray:
        with wp.ScopedDevice(self.device):
            for _ in range(count):
                for stage in PARTS.get(what, (what,)):
                    getattr(self._mjw, stage)(self.model, self.data)
        state = np.concatenate([self.data.qpos.numpy(), self.data.qvel.numpy()], axis=1)
        lost = ~(np.abs(state) <= MAXVAL).all(axis=1)
        return np.where(lost, int(BAD_STATE), 0).astype(np.int32)

    def _forget(self, worlds) -> None:
        """Nothing is remembered."""

    @property
    def capacity(self) -> Capacity:
        """Room for contacts and rows; of contacts MuJoCo Warp counts those of all worlds together."""
        contacts, rows = self._room
        return Capacity(contacts, rows, 0, int(self.data.nacon.numpy()[0]), int(self.data.nefc.numpy().max()))
