"""Worlds run by MuJoCo itself: an MjData each, spread over threads; the interpreter is free while MuJoCo runs."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from kinema.bridge.engine import BridgeEngine
from kinema.bridge.mjmodel import need_mujoco, to_mjmodel
from kinema.convex.status import BAD_CONTROL, BAD_STATE, CONTACT_OVERFLOW, ROW_OVERFLOW
from kinema.engine import Capacity
from kinema.model.mujoco_fields import model_fields

PARTS = 4  # ranges of worlds a thread, so that a thread that is held up does not hold up the others
ON_REQUEST = {
    **dict.fromkeys(("cacc", "cfrc_int", "cfrc_ext"), ("flg_rnepost", ("mj_rnePostConstraint",))),
    **dict.fromkeys(("subtree_linvel", "subtree_angmom"), ("flg_subtreevel", ("mj_subtreeVel",))),
    "energy": ("flg_energyvel", ("mj_energyPos", "mj_energyVel")),
}  # fmt: skip
"""What MuJoCo computes only for sensors, or when asked: the flag that tells whether it has, and who does."""

OWNER = {"option": "opt", "statistic": "stat"}


class MuJoCoEngine(BridgeEngine):
    """Worlds run by the mujoco package. A world that goes bad is left as it is, as the convex engine does."""

    def _make(self, source: Any, nworld: int, device: Any) -> None:
        mujoco = self._mujoco = need_mujoco()
        model = copy.copy(to_mjmodel(source))
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        self.models = [model]  # one, or one a world where parameters differ
        self.data = [mujoco.MjData(model) for _ in range(nworld)]
        self._pool: ThreadPoolExecutor | None = None
        bad, warning = int(BAD_STATE), mujoco.mjtWarning
        self._marks = {
            warning.mjWARN_BADQPOS: bad, warning.mjWARN_BADQVEL: bad, warning.mjWARN_BADQACC: bad,
            warning.mjWARN_BADCTRL: int(BAD_CONTROL), warning.mjWARN_CONTACTFULL: int(CONTACT_OVERFLOW),
            warning.mjWARN_CNSTRFULL: int(ROW_OVERFLOW),
        }  # fmt: skip

    def _has(self, name: str) -> bool:
        return hasattr(self.data[0], name)

    def _get(self, name: str) -> np.ndarray:
        flag, functions = ON_REQUEST.get(name, ("", ()))
        for world, d in enumerate(self.data):
            for function in functions if functions and not getattr(d, flag) else ():
                getattr(self._mujoco, function)(self._model(world), d)
        return np.array([getattr(d, name) for d in self.data])

    def _model(self, world: int) -> Any:
        return self.models[world if len(self.models) > 1 else 0]

    def _put(self, name: str, worlds: np.ndarray, values: np.ndarray) -> None:
        for world, row in zip(worlds.tolist(), values, strict=True):
            _set(self.data[world], name, row)

    def _put_parameter(self, name: str, values: np.ndarray, per_world: bool) -> None:
        if name not in model_fields():
            return
        if per_world and len(self.models) == 1:
            self.models = [copy.copy(self.models[0]) for _ in range(self.nworld)]
        owner = OWNER.get(model_fields()[name].group)
        for world, model in enumerate(self.models):
            _set(getattr(model, owner) if owner else model, name, values[world])

    def _compute(self, what: str, count: int, well: np.ndarray) -> np.ndarray:
        run = getattr(self, f"_{what}_world")
        worlds = np.flatnonzero(well).tolist()

        def work(part: np.ndarray) -> None:
            for world in part.tolist():
                run(self._model(world), self.data[world], count)

        if self.threads == 1 or len(worlds) < 2:
            work(np.array(worlds, dtype=int))
        else:
            self._pool = self._pool or ThreadPoolExecutor(self.threads)
            list(self._pool.map(work, np.array_split(np.array(worlds), min(len(worlds), PARTS * self.threads))))
        found = np.zeros(self.nworld, dtype=np.int32)
        for world in worlds:
            found[world] = self._status(self.data[world])
        return found

    def _status(self, d: Any) -> int:
        bits = 0
        for warning, bit in self._marks.items():
            if d.warning[warning].number:
                bits |= bit
                d.warning[warning].number = 0
        return bits

    def _forget(self, worlds: Any) -> None:
        for world in worlds:
            self._status(self.data[world])

    def _step_world(self, m: Any, d: Any, count: int) -> None:
        self._mujoco.mj_step(m, d, nstep=count)

    def _forward_world(self, m: Any, d: Any, count: int) -> None:
        self._mujoco.mj_forward(m, d)

    def _inverse_world(self, m: Any, d: Any, count: int) -> None:
        self._mujoco.mj_inverse(m, d)

    def _motion_world(self, m: Any, d: Any, count: int) -> None:
        for stage in (self._mujoco.mj_kinematics, self._mujoco.mj_comPos, self._mujoco.mj_comVel):
            stage(m, d)

    def _poses_world(self, m: Any, d: Any, count: int) -> None:
        mujoco = self._mujoco
        for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_camlight, mujoco.mj_tendon):
            stage(m, d)

    @property
    def capacity(self) -> Capacity:
        """MuJoCo makes room as it goes along; the most that any world has wanted."""
        contacts, rows = max(d.maxuse_con for d in self.data), max(d.maxuse_efc for d in self.data)
        return Capacity(contacts=contacts, rows=rows, pairs=0, most_contacts=contacts, most_rows=rows)


def _set(struct: Any, name: str, value: np.ndarray) -> None:
    target = getattr(struct, name)
    if isinstance(target, np.ndarray):
        target[:] = np.reshape(value, target.shape)
    else:
        setattr(struct, name, type(target)(np.reshape(value, ())))
