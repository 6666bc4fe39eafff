"""One scene, one side, many worlds that part: what `benchmarks suite` runs in a process of its own.

Equal worlds flatter an engine whose neighbouring worlds share a warp: they take every branch together. So each world
gets noise of its own on its controls, which follow a recorded sequence or the keyframe,

    c' = r c + (1 - r) centre + sigma sqrt(1 - r^2) half-range u        r = exp(-h / 0.1 s), sigma = 0.3, u in [-1, 1]

one time step after the other. The first sixth of the steps is not counted: lists grow in it, and worlds part.
"""

from __future__ import annotations

import lzma
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import mujoco
import numpy as np
import warp as wp

SIGMA, RELAXES = 0.3, 0.1  # size of the noise in half ranges, and the time in which it is forgotten [s]
CHUNKS = 6  # parts of a run; the first is not counted
STATE = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat", "qacc_warmstart")


@dataclass(frozen=True)
class Room:
    """Worlds of a scene, and the room that MuJoCo Warp's own nightly benchmark gives it (None: its default)."""

    worlds: int = 8192
    nconmax: int | None = None
    njmax: int | None = None
    nvmax: int | None = None


NIGHTLY = {
    "humanoid": Room(8192, 24, 64),
    "three_humanoids": Room(8192, 100, 192),
    "panda": Room(32768, 1, 5),
    "g1_flat": Room(8192, 48, 192),
    "g1_hfield": Room(8192, 48, 192),
    "myoarm": Room(8192, 16, 48),
    "cloth": Room(32, 2200, 8000),
    "heap_awake": Room(2048, 320, 1100),
    "heap_sleep": Room(2048, 320, 1100, 12),
}
"""Scenes whose room is known."""


@wp.kernel(enable_backward=False)
def part(
    ctrl: wp.array2d(dtype=float), centre: wp.array(dtype=float), low: wp.array(dtype=float),
    high: wp.array(dtype=float), step: int, noise: float, keep: float,
):  # fmt: skip
    """The controls of one step."""
    w, i = wp.tid()
    u = 2.0 * wp.randf(wp.rand_init(step, w * ctrl.shape[1] + i)) - 1.0
    half = 0.5 * (wp.min(high[i], 1.0) - wp.max(low[i], -1.0))
    ctrl[w, i] = wp.clamp(keep * ctrl[w, i] + (1.0 - keep) * centre[i] + noise * half * u, low[i], high[i])


class Controls:
    """Drives the controls of a scene's worlds apart."""

    def __init__(self, m: mujoco.MjModel, d: mujoco.MjData, recorded: np.ndarray | None, device: wp.Device):
        each = np.asarray(m.actuator_ctrlnum) if hasattr(m, "actuator_ctrlnum") else np.ones(m.nu, int)
        limited = np.repeat(np.asarray(m.actuator_ctrllimited, bool), each)
        span = np.asarray(m.actuator_ctrlrange).reshape(-1, 2)
        span = span if len(span) == m.nu else np.repeat(span, each, axis=0)
        self.device, self.nu = device, m.nu
        self.low, self.high = (
            wp.array(np.where(limited, span[:, k], far).astype(np.float32), device=device)
            for k, far in enumerate((-1e6, 1e6))
        )
        self.keep = float(np.exp(-m.opt.timestep / RELAXES))
        self.noise = SIGMA * float(np.sqrt(1.0 - self.keep**2))
        self.centres = wp.array(np.atleast_2d(d.ctrl if recorded is None else recorded).astype(np.float32), dtype=float,
                                ndim=2, device=device)  # fmt: skip
        self.step = 0

    def drive(self, ctrl: wp.array) -> None:
        """Write the controls of the next step."""
        if self.nu:
            centre = self.centres[min(self.step, self.centres.shape[0] - 1)]
            inputs = [ctrl, centre, self.low, self.high, self.step, self.noise, self.keep]
            wp.launch(part, dim=ctrl.shape, inputs=inputs, device=self.device)
        self.step += 1


class Side(Protocol):
    """Somebody who runs worlds."""

    ctrl: wp.array

    def __init__(
        self, m: mujoco.MjModel, d: mujoco.MjData, worlds: int, device: wp.Device, room: Room, threads: int
    ): ...

    def step(self) -> None:
        """Advance all worlds by one step."""

    def rows(self) -> np.ndarray:
        """Constraint rows of each world."""

    def positions(self) -> np.ndarray:
        """qpos of each world."""

    def overflowed(self) -> np.ndarray:
        """Worlds that found no room or say that something else went wrong."""

    def arrays(self) -> int:
        """Bytes of all arrays."""

    def room(self) -> str:
        """Contacts and rows of a world there is room for."""


class Kinema:
    """Kinema's own engine, as it comes."""

    def __init__(self, m: mujoco.MjModel, d: mujoco.MjData, worlds: int, device: wp.Device, room: Room, threads: int):
        from kinema.convex.engine import Engine

        self.engine = Engine(m, worlds, device=device, threads=threads)
        for name in STATE:
            if np.size(getattr(d, name)):
                self.engine.write(name, np.array(getattr(d, name)))
        self.ctrl = self.engine.array("ctrl")
        self.engine.step(1)

    def step(self) -> None:
        self.engine.step(1)

    def rows(self) -> np.ndarray:
        return self.engine.read("nefc")

    def positions(self) -> np.ndarray:
        return self.engine.read("qpos")

    def overflowed(self) -> np.ndarray:
        return self.engine.read("status") != 0

    def arrays(self) -> int:
        shared, each = self.engine.memory()
        return sum(shared.values()) + self.engine.nworld * sum(each.values())

    def room(self) -> str:
        have = self.engine.capacity
        return f"{have.contacts}/{have.rows}"


class MuJoCoWarp:
    """MuJoCo Warp with the room its own benchmark gives it; a captured graph a step, where there are graphs."""

    def __init__(self, m: mujoco.MjModel, d: mujoco.MjData, worlds: int, device: wp.Device, room: Room, threads: int):
        import mujoco_warp as mjw

        more = {} if room.nvmax is None else {"nvmax": room.nvmax}
        self.device, self.mjw = device, mjw
        with wp.ScopedDevice(device):
            self.m = mjw.put_model(m)
            self.d = mjw.put_data(m, d, nworld=worlds, nconmax=room.nconmax, njmax=room.njmax, **more)
            self.m.opt.warn_overflow = 0  # they are counted below
            mjw.step(self.m, self.d)
            self.graph: Any = None
            if device.is_cuda:
                with wp.ScopedCapture() as capture:
                    mjw.step(self.m, self.d)
                self.graph = capture.graph
        self.ctrl = self.d.ctrl

    def step(self) -> None:
        if self.graph:
            wp.capture_launch(self.graph)
            return
        with wp.ScopedDevice(self.device):
            self.mjw.step(self.m, self.d)

    def rows(self) -> np.ndarray:
        return self.d.nefc.numpy()

    def positions(self) -> np.ndarray:
        return self.d.qpos.numpy()

    def overflowed(self) -> np.ndarray:
        return self.d.overflow.numpy() != 0

    def arrays(self) -> int:
        found = [a for part in (self.d, self.d.contact, self.d.efc) for a in vars(part).values()]
        return sum(a.size * wp.types.type_size_in_bytes(a.dtype) for a in found if isinstance(a, wp.array))

    def room(self) -> str:
        return f"{self.d.naconmax // self.d.nworld}/{self.d.njmax}"


SIDES: dict[str, type[Side]] = {"kinema": Kinema, "mujoco-warp": MuJoCoWarp}


def name_of(path: Path) -> str:
    """The name of a scene: its file's, up to the first dot."""
    return path.name.split(".", 1)[0]


def load(path: Path) -> mujoco.MjModel:
    """A scene, compiled (.mjb, also packed as .mjb.xz) or as a document (.xml)."""
    if path.suffix == ".xz":
        return mujoco.MjModel.from_binary_path("scene.mjb", {"scene.mjb": lzma.decompress(path.read_bytes())})
    kinds = {".mjb": mujoco.MjModel.from_binary_path, ".xml": mujoco.MjModel.from_xml_path}
    return kinds[path.suffix](str(path))


def measure(path: Path, side: str, worlds: int, steps: int, device: wp.Device, threads: int = 1) -> dict[str, Any]:
    """Run a scene on one side; gives its rate (steps of all worlds per second), memory, set-up time, and bad worlds."""
    m = load(path)
    d = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    recorded = path.with_name(f"{name_of(path)}.npy")
    controls = Controls(m, d, np.load(recorded) if recorded.exists() else None, device)
    wp.load_module(device=device)  # of the noise
    wp.synchronize_device(device)
    free = device.free_memory if device.is_cuda else 0
    begin = time.perf_counter()
    runs: Side = SIDES[side](m, d, worlds, device, NIGHTLY.get(name_of(path), Room()), threads)
    wp.synchronize_device(device)
    setup = time.perf_counter() - begin
    rates, chunk = [], max(1, steps // CHUNKS)
    for _ in range(CHUNKS):
        begin = time.perf_counter()
        for _ in range(chunk):
            controls.drive(runs.ctrl)
            runs.step()
        wp.synchronize_device(device)
        rates.append(worlds * chunk / (time.perf_counter() - begin))
    taken = free - device.free_memory if device.is_cuda else runs.arrays()
    qpos, rows = runs.positions(), runs.rows()
    lost = ~np.isfinite(qpos).all(axis=1)
    return {
        "rate": (CHUNKS - 1) / sum(1.0 / rate for rate in rates[1:]), "rates": [round(rate) for rate in rates],
        "setup": round(setup, 1), "bytes": taken / worlds, "arrays": runs.arrays() / worlds, "room": runs.room(),
        "rows": float(rows.mean()), "most_rows": int(rows.max()), "bad": int((lost | runs.overflowed()).sum()),
        "parted": float(np.std(qpos[~lost], axis=0).max(initial=0.0)), "nv": m.nv,
    }  # fmt: skip
