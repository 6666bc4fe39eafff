"""A session: a simulation that runs in real time on a thread of its own, is shown, and takes orders.

Only the session's thread touches the simulation. Whatever a page asks for is put in a queue (`ask`) and done at the
beginning of the next turn. A turn is: do what was asked, look whether files changed, move by the time that passed,
show. Without the thread (`start` not called) `turn` may be called by hand, from a loop of one's own.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinema.errors import KinemaError
from kinema.mujoco_enums import Joint
from kinema.recording import Recording
from kinema.simulation import Simulation
from kinema.viewer import framing
from kinema.viewer.options import Options
from kinema.viewer.pull import Grip, grabbed_point, grip_at, pull_force
from kinema.viewer.stage import Bystander, Stage
from kinema.viewer.timeline import Timeline
from kinema.viewer.watch import Watch

RATE = 30.0
"""Pictures a second."""

BEHIND = 0.25
"""Time that is made up at most in a turn when the simulation is slower than asked [s]; what is beyond is let go."""

BUSY = 0.025
"""Time a turn may spend stepping [s], so that a page stays alive whatever the model costs."""

WATCH_EVERY = 0.5


class Session:
    """Runs and shows a simulation.

    Args:
        server: A viser server.
        sim: The simulation.
        source: File to load again when it changes; None: never.
        recording: Frames to be shown instead of running.
        own_steps: Whether this session steps the simulation; else someone else does and calls `turn`.
        others: Simulations that are run and shown beside it: worlds of other structures of a Model.
    """

    def __init__(
        self, server, sim: Simulation, *, source: Path | None = None, recording: Recording | None = None,
        own_steps: bool = True, others: Sequence[Simulation] = (),
    ):  # fmt: skip
        self.server, self.sim, self.others = server, sim, list(others)
        self.options = Options(grid=sim.worlds > 1)
        self.own_steps = own_steps
        self.paused = recording is not None
        self.speed = 1.0
        self.every_world = True  # sliders act on all worlds, not only on the picked one
        self.error = ""
        self.failure: Exception | None = None  # what ended the thread
        self.factor = 0.0  # simulated seconds a second
        self.follow: int | None = None  # body
        self.selected: int | None = None  # body
        self.grip: Grip | None = None
        self.timeline = Timeline(sim, recording) if recording is not None else None
        self.watch = Watch(source) if source is not None else None
        self.listeners: list[Callable[[], None]] = []  # called at the end of every turn
        self.rebuilt: list[Callable[[], None]] = []  # called when the model was loaded again

        self._orders: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._debt = 0.0  # simulated time still to be run [s]
        self._cost = 0.0  # seconds a step takes, as last measured
        self._looked = 0.0
        self._seen: np.ndarray | None = None  # where the followed body was
        self._kept: dict[str, np.ndarray] | None = None  # the state before a recording was looked at
        if self.timeline is None:
            self._compute(sim)
        else:
            self.timeline.put(0)
        self.stage = Stage(server.scene, sim, self.options, self._make_touchable)
        self.bystanders = self._seat()
        self.aim()

    def _compute(self, sim: Simulation) -> None:
        """What is shown of a state; of a Model's worlds that somebody else steps, poses alone."""
        if self.own_steps or sim.newton is None:
            sim.forward()
        else:
            sim.engine.poses()

    def _seat(self) -> list[Bystander]:
        """Stages of the others, one behind the other."""
        found: list[Bystander] = []
        edge = self.stage.offsets[:, 1].max() + self.stage.spacing
        for k, other in enumerate(self.others):
            self._compute(other)
            stage = Bystander(self.server.scene, other, Options(grid=True), prefix=f"/kind{k + 1}")
            stage.origin[1] = edge - stage.offsets[:, 1].min() + 0.5 * stage.spacing
            stage.build()
            edge = stage.offsets[:, 1].max() + 0.5 * stage.spacing
            found.append(stage)
        return found

    # ------------------------------------------------------------------------------------------ the thread

    def start(self) -> None:
        """Begin to run."""
        self._thread = threading.Thread(target=self._run, name="kinema viewer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def join(self, seconds: float) -> None:
        """Wait for the thread's end, some time at most."""
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def running(self) -> bool:
        """Whether the thread is alive."""
        return self._thread is not None and self._thread.is_alive()

    def ask(self, order: Callable[[], object]) -> None:
        """Have something done at the beginning of the next turn."""
        self._orders.put(order)

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._stop.is_set():
            now = time.perf_counter()
            try:
                self.turn(now - last)
            except Exception as failure:  # the thread ends here; `Viewer.wait` and `close` raise it where it is seen
                self.failure = failure
                return
            last = now
            self._stop.wait(max(0.0, 1 / RATE - (time.perf_counter() - now)))

    # ------------------------------------------------------------------------------------------ a turn

    def turn(self, elapsed: float = 0.0) -> None:
        """One turn, `elapsed` seconds after the one before."""
        while not self._orders.empty():
            self._obey(self._orders.get())
        now = time.perf_counter()
        if self.watch is not None and now - self._looked > WATCH_EVERY:
            self._looked = now
            if self.watch.changed():
                self.reload()
        if not self.paused and self.own_steps:
            self._obey(lambda: self._move(elapsed))
        with self.server.atomic():
            for stage in (self.stage, *self.bystanders):
                stage.show()
            self._show_grip()
        self._follow_body()
        for listener in self.listeners:
            listener()

    def _obey(self, order: Callable[[], object]) -> None:
        try:
            order()
        except KinemaError as error:  # what went wrong is said in the page
            self.error = str(error)
            self.play(False)

    def _move(self, elapsed: float) -> None:
        if self.timeline is not None:
            self.timeline.play(elapsed * self.speed)
            return
        step = self.timestep
        self._debt = min(self._debt + elapsed * self.speed, max(BEHIND * self.speed, step))
        count = int(self._debt / step)
        if self._cost > 0:
            count = min(count, max(1, int(BUSY / self._cost)))
        if count:
            self._debt -= count * step
            began = time.perf_counter()
            self.advance(count)
            spent = time.perf_counter() - began
            self._cost = spent / count
        if elapsed > 0:
            self.factor += 0.1 * (count * step / elapsed - self.factor)

    def advance(self, count: int = 1) -> None:
        """Step the simulation, with the pull of the mouse renewed on the way."""
        for other in self.others:
            other.step(count)
        if self.grip is None:
            self.sim.step(count)
            return
        done = 0
        while done < count:
            chunk = min(4, count - done)
            self._apply(self.grip)
            self.sim.step(chunk)
            done += chunk

    @property
    def timestep(self) -> float:
        """Duration of a step [s]."""
        return float(np.asarray(self.sim.m.opt.timestep).reshape(-1)[0])

    # ------------------------------------------------------------------------------------------ orders

    def play(self, on: bool) -> None:
        """Run or pause."""
        self.paused = not on
        self._debt = 0.0

    def step_once(self, count: int = 1) -> None:
        """One step, or one frame of a recording, and pause."""
        self.play(False)
        if self.timeline is not None:
            self.timeline.put(min(self.timeline.at + count, len(self.timeline) - 1))
        else:
            self.advance(count)

    def reset(self, keyframe: int | None = None) -> None:
        """Back to the start, or to a keyframe, in all worlds."""
        self.error = ""
        if self.timeline is not None:
            self.timeline.put(0)
            return
        for other in self.others if keyframe is None else ():
            other.reset()
            self._compute(other)
        self.sim.reset(keyframe=keyframe)
        self.sim.forward()

    def set_control(self, actuator: int, value: float) -> None:
        """Set the control of an actuator in the worlds that sliders act on."""
        values = np.array(self.sim.d.ctrl)
        values[self._targets(), actuator] = value
        self.sim.d.ctrl = values

    def set_joint(self, address: int, value: float) -> None:
        """Set a coordinate of qpos in the worlds that sliders act on; its velocity becomes zero if it has one alone."""
        worlds = self._targets()
        qpos, qvel = np.array(self.sim.d.qpos), np.array(self.sim.d.qvel)
        qpos[worlds, address] = value
        joint = int(np.flatnonzero(np.asarray(self.sim.model.jnt_qposadr) <= address)[-1])
        if self.sim.model.jnt_type[joint] in (Joint.SLIDE, Joint.HINGE):  # slide or hinge
            qvel[worlds, int(self.sim.model.jnt_dofadr[joint])] = 0.0
        self.sim.set_state(qpos=qpos, qvel=qvel)
        self.sim.forward()

    def _targets(self):
        return slice(None) if self.every_world else [self.options.world]

    def pick_world(self, world: int) -> None:
        """Look at another world."""
        changed = self.options.world != world
        self.options.world = int(np.clip(world, 0, self.sim.worlds - 1))
        self._seen = None
        if changed and not self.options.grid:
            self.stage.pick(self.options.world)

    def show_grid(self, on: bool, spacing: float | None = None) -> None:
        """Show all worlds beside each other, or only the picked one."""
        self.options.grid, self.options.spacing = on, spacing
        self._seen = None
        self.stage.build()
        self.aim()

    def record(self) -> None:
        """Begin to record, a frame a picture."""
        self.live()
        if self.sim.recorder is None:
            self.sim.record(every=max(1, round(1 / (RATE * self.timestep))))

    def stop_recording(self) -> None:
        """Show what was recorded on a timeline."""
        if self.sim.recorder is not None:
            recording = self.sim.stop_recording()
            self._kept = self.sim.get_state()
            self.timeline = Timeline(self.sim, recording)
            self.play(False)

    @property
    def can_go_live(self) -> bool:
        """Whether there is a simulation behind the timeline."""
        return self._kept is not None

    def live(self) -> None:
        """Leave the timeline and go on where the simulation was."""
        if self._kept is not None:
            self.sim.set_state(**{name: values for name, values in self._kept.items() if values.size})
            self.sim.forward()
            self._kept, self.timeline = None, None

    def reload(self) -> None:
        """Load the model again; on an error the old one stays, and the page says what is wrong."""
        if self.watch is None:
            return
        try:
            options: dict[str, Any] = {"worlds": self.sim.worlds, "device": self.sim.engine.device, **self.sim.options}
            sim = Simulation(self.watch.source, **options)
            sim.forward()
        except KinemaError as error:
            self.error = str(error)
            return
        self.error = ""
        self.stage.clear()
        self.sim, self.grip, self.timeline, self._kept = sim, None, None, None
        self.follow = self.selected = self._seen = None
        self.stage = Stage(self.server.scene, sim, self.options, self._make_touchable)
        for rebuilt in self.rebuilt:
            rebuilt()

    # ------------------------------------------------------------------------------------------ mouse

    def _make_touchable(self, node, batch) -> None:
        """A click selects a body; a drag with Ctrl held pulls it."""
        stage_of = self  # the stage is made anew, the session is not

        async def click(event) -> None:
            touched = stage_of.stage.touched(batch, event.instance_index)
            stage_of.ask(lambda: stage_of.select(touched.world, touched.body))

        async def drag(event) -> None:
            touched = stage_of.stage.touched(batch, event.instance_index)
            grabbed, target, over = np.array(event.start_position), np.array(event.end_position), event.phase == "end"
            stage_of.ask(lambda: stage_of.pull(touched.world, touched.body, grabbed, None if over else target))

        if batch.moving:
            node.on_click(click)
            node.on_drag("left", modifier="cmd/ctrl")(drag)

    def select(self, world: int, body: int) -> None:
        """Take a body as the one that is looked at."""
        self.selected = body
        self.pick_world(world)

    def pull(self, world: int, body: int, grabbed: np.ndarray, target: np.ndarray | None) -> None:
        """Pull a body from a point of the stage towards another; target None: let go."""
        if target is None or self.timeline is not None:
            self.release()
            return
        place = self.stage.place_of(world)
        if self.grip is None or (self.grip.world, self.grip.body) != (world, body):
            self.release()
            self.selected = body
            pose = self._pose(world, body)
            self.grip = grip_at(world, body, grabbed - place, pose["xpos"], pose["xmat"])
        self.grip.target = np.asarray(target) - place

    def release(self) -> None:
        """Let go of the pulled body."""
        if self.grip is not None:
            self._write_force(self.grip, np.zeros(6))
            self.grip = None

    def _pose(self, world: int, body: int) -> dict[str, np.ndarray]:
        read = self.sim.engine.read
        pose = {name: np.asarray(read(name))[world, body] for name in ("xpos", "xmat", "xipos", "cvel")}
        root = int(self.sim.model.body_rootid[body])
        return pose | {"subtree_com": np.asarray(read("subtree_com"))[world, root]}

    def _apply(self, grip: Grip) -> None:
        pose = self._pose(grip.world, grip.body)
        self._write_force(grip, pull_force(self.sim.model, grip, pose))

    def _write_force(self, grip: Grip, force: np.ndarray) -> None:
        applied = np.array(self.sim.d.xfrc_applied)
        applied[grip.world, grip.body] = force
        self.sim.d.xfrc_applied = applied

    def _show_grip(self) -> None:
        if self.grip is None:
            self.stage.point(None)
            return
        pose, place = self._pose(self.grip.world, self.grip.body), self.stage.place_of(self.grip.world)
        self.stage.point(grabbed_point(self.grip, pose["xpos"], pose["xmat"]) + place, self.grip.target + place)

    # ------------------------------------------------------------------------------------------ camera

    def aim(self) -> None:
        """Where pages look from when they open."""
        position, look_at = self.viewpoint()
        camera = self.server.initial_camera
        camera.position, camera.look_at = position, look_at
        camera.fov = np.deg2rad(float(self.sim.model.vis.global_.fovy))

    def viewpoint(self) -> tuple[np.ndarray, np.ndarray]:
        """Position and target of a camera that sees the whole stage."""
        m = self.sim.model
        view = m.vis.global_
        turn, rise = np.deg2rad(float(view.azimuth)), np.deg2rad(float(view.elevation))
        rise = np.clip(rise, -0.45, 0.45)  # from a little above rather than MuJoCo's 45 degrees
        ahead = np.array([np.cos(rise) * np.cos(turn), np.cos(rise) * np.sin(turn), np.sin(rise)])
        places = np.asarray(self.sim.engine.read("geom_xpos"))[self.stage.worlds]
        found = [framing.balls(m, xpos, self.options.groups["geom"]) for xpos in places]
        centres = np.concatenate([at + place for (at, _), place in zip(found, self.stage.offsets, strict=True)])
        if not len(centres) or not np.isfinite(centres).all():
            look_at = np.asarray(m.stat.center, dtype=float)
            return look_at - 1.8 * float(m.stat.extent) * ahead, look_at
        radii = np.concatenate([radius for _, radius in found])
        return framing.frame(centres, radii, ahead, np.deg2rad(float(view.fovy)))

    def look_through(self, camera: int, client) -> None:
        """Move a page's camera to a camera of the model."""
        m, world = self.sim.model, self.options.world
        position = np.asarray(self.sim.d.cam_xpos)[world, camera] + self.stage.place_of(world)
        axes = np.asarray(self.sim.d.cam_xmat)[world, camera].reshape(3, 3)
        with client.atomic():
            client.camera.position = position
            client.camera.look_at = position - axes[:, 2] * max(float(m.stat.extent), 1e-3)
            client.camera.up_direction = axes[:, 1]
            client.camera.fov = np.deg2rad(float(m.cam_fovy[camera]))

    def look_at_all(self, client) -> None:
        """Move a page's camera back to where it began."""
        position, look_at = self.viewpoint()
        with client.atomic():
            client.camera.up_direction = (0.0, 0.0, 1.0)
            client.camera.position, client.camera.look_at = position, look_at
            client.camera.fov = np.deg2rad(float(self.sim.model.vis.global_.fovy))

    def _follow_body(self) -> None:
        if self.follow is None:
            self._seen = None
            return
        world = self.options.world
        now = np.asarray(self.sim.engine.read("xpos"))[world, self.follow] + self.stage.place_of(world)
        moved = np.zeros(3) if self._seen is None else now - self._seen
        if self._seen is None or np.abs(moved).max() > 1e-5:
            self._seen = np.array(now, dtype=float)
            for client in self.server.get_clients().values():
                client.camera.position = client.camera.position + moved
