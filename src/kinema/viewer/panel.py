"""The panel of a page: everything a user can turn and press, wired to a session.

Callbacks only put orders in the session's queue. What the session changes by itself (time, joints that move, a world
that was clicked) is written back by `refresh`, a few times a second, and only where it differs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from kinema.viewer.html import page_of
from kinema.viewer.names import control_names, names_of
from kinema.viewer.plots import COLORS, Trace, channels
from kinema.viewer.scene import GROUPS
from kinema.viewer.session import Session

REFRESH = 0.2
"""Time between updates of the panel [s]."""

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")
FREE, BALL, SLIDE, HINGE = range(4)
NOBODY = "nothing"
FREE_CAMERA = "free"


class Panel:
    """Controls of a session.

    Args:
        gui: `server.gui` of a viser server.
        session: The session.
    """

    def __init__(self, gui, session: Session):
        self.gui, self.session = gui, session
        self._writer: int | None = None  # thread that is writing values back
        self._refreshed = 0.0
        session.listeners.append(self.refresh)
        session.rebuilt.append(self.rebuild)
        self.build()

    def rebuild(self) -> None:
        """Make all controls anew, for another model."""
        self.gui.reset()
        self.build()

    def build(self) -> None:
        """Make all controls."""
        session = self.session
        self.m = session.sim.model
        self.status = self.gui.add_markdown("")
        self.problem = self.gui.add_markdown("", visible=False)
        tabs = self.gui.add_tab_group()
        with tabs.add_tab("Run"):
            self._build_run()
        with tabs.add_tab("Move"):
            self._build_move()
        with tabs.add_tab("Show"):
            self._build_show()
        with tabs.add_tab("Plot") as self.plots:
            self._build_plot()
        self.refresh(force=True)

    # ------------------------------------------------------------------------------------------ wiring

    def _on(self, handle, order: Callable[[], None]) -> None:
        """Have an order done whenever a user changes an input, but not when the panel itself does."""

        def changed(event) -> None:
            if threading.get_ident() != self._writer:
                self.session.ask(order)

        handle.on_update(changed)

    def _button(self, label: str, order: Callable[[], None], **options):
        button = self.gui.add_button(label, **options)
        button.on_click(lambda event: self.session.ask(order))
        return button

    def _command(self, label: str, key: str, order: Callable[[], None]) -> None:
        """A command of the page's palette, with a key."""
        self.gui.add_command(label, hotkey=key).on_trigger(lambda event: self.session.ask(order))

    def _write(self, handle, value) -> None:
        self._writer = threading.get_ident()
        try:
            handle.value = value
        finally:
            self._writer = None

    # ------------------------------------------------------------------------------------------ run

    def _build_run(self) -> None:
        session = self.session
        self.run = self.gui.add_checkbox("Run", not session.paused, hint="key P")
        self._on(self.run, lambda: session.play(self.run.value))
        self._command("Run or pause", "P", lambda: session.play(session.paused))
        self._button("Step", session.step_once, hint="key S")
        self._command("Step", "S", session.step_once)
        self._button("Reset", session.reset, hint="key R")
        self._command("Reset", "R", session.reset)
        self.speed = self.gui.add_dropdown("Speed", SPEEDS, initial_value="1", hint="simulated seconds a second")
        self._on(self.speed, lambda: setattr(session, "speed", float(self.speed.value)))
        keys = names_of(self.m, "key")
        self.keyframe = None
        if keys:
            self.keyframe = self.gui.add_dropdown("Keyframe", _unique(keys))
            choices = _unique(keys)
            self._button("Load keyframe", lambda: session.reset(choices.index(self.keyframe.value)))
        self._build_worlds()
        self._build_timeline()

    def _build_worlds(self) -> None:
        session, worlds = self.session, self.session.sim.worlds
        self.world = self.grid = self.every = self.spacing = None
        if worlds == 1:
            return
        with self.gui.add_folder("Worlds"):
            self.world = self.gui.add_slider("World", 0, worlds - 1, 1, session.options.world)
            self._on(self.world, lambda: session.pick_world(int(self.world.value)))
            self.grid = self.gui.add_checkbox("All in a grid", session.options.grid)
            self.spacing = self.gui.add_number("Spacing", float(session.stage.spacing), min=0.0, step=0.1, hint="[m]")
            for handle in (self.grid, self.spacing):
                self._on(handle, lambda: session.show_grid(self.grid.value, float(self.spacing.value) or None))
            self.every = self.gui.add_checkbox("Sliders act on all", session.every_world)
            self._on(self.every, lambda: setattr(session, "every_world", self.every.value))

    def _build_timeline(self) -> None:
        session = self.session
        with self.gui.add_folder("Recording"):
            self.record = self._button("Record", session.record)
            self.stop = self._button("Stop and look at it", session.stop_recording, visible=False)
            last = max(1, len(session.timeline) - 1) if session.timeline is not None else 1
            shown = session.timeline is not None
            self.frame = self.gui.add_slider("Frame", 0, last, 1, 0, visible=shown)
            self._on(self.frame, lambda: self._scrub())
            self.live = self._button("Back to the simulation", session.live, visible=False)
            self.save = self.gui.add_button("Save as a page (.html)", visible=shown)
            self.save.on_click(lambda event: session.ask(lambda: self._send_page(event.client)))

    def _scrub(self) -> None:
        if self.session.timeline is not None:
            self.session.play(False)
            self.session.timeline.put(int(self.frame.value))

    def _send_page(self, client) -> None:
        timeline = self.session.timeline
        if timeline is not None and client is not None:
            page = page_of(timeline.recording, sim=self.session.sim)
            timeline.put(timeline.at)
            client.send_file_download("recording.html", page.encode(), save_immediately=True)

    # ------------------------------------------------------------------------------------------ move

    def _build_move(self) -> None:
        m, session = self.m, self.session
        self.controls: dict[int, object] = {}
        self.joints: dict[int, object] = {}  # by address in qpos
        controls = np.asarray(session.sim.d.ctrl)[0]
        with self.gui.add_folder("Actuators", visible=bool(len(controls))):
            for i, name in enumerate(_unique(control_names(m))):
                low, high = _range(m.actuator_ctrlrange[i], bool(m.actuator_ctrllimited[i]), 1.0)
                slider = self._slider(name, low, high, float(controls[i]))
                self.controls[i] = slider
                self._on(slider, lambda i=i, slider=slider: session.set_control(i, float(slider.value)))
            self._button("All to zero", lambda: [session.set_control(i, 0.0) for i in self.controls])
        qpos = np.asarray(session.sim.d.qpos)[0]
        with self.gui.add_folder("Joints", visible=bool(m.njnt)):
            for i, name in enumerate(_unique(names_of(m, "joint"))):
                kind, address = int(m.jnt_type[i]), int(m.jnt_qposadr[i])
                if kind in (SLIDE, HINGE):
                    otherwise = np.pi if kind == HINGE else max(float(m.stat.extent), 1e-3)
                    low, high = _range(m.jnt_range[i], bool(m.jnt_limited[i]), otherwise)
                    self._joint(name, address, low, high, float(qpos[address]))
                elif kind == FREE:
                    reach = 2 * max(float(m.stat.extent), 1e-3)
                    for k, axis in enumerate("xyz"):
                        start = float(qpos[address + k])
                        self._joint(f"{name} {axis}", address + k, start - reach, start + reach, start)

    def _joint(self, label: str, address: int, low: float, high: float, value: float) -> None:
        slider = self._slider(label, low, high, value)
        self.joints[address] = slider
        self._on(slider, lambda: self.session.set_joint(address, float(slider.value)))

    def _slider(self, label: str, low: float, high: float, value: float):
        step = 10.0 ** np.floor(np.log10((high - low) / 200))
        return self.gui.add_slider(label, low, high, float(step), float(np.clip(value, low, high)))

    # ------------------------------------------------------------------------------------------ show

    def _build_show(self) -> None:
        m, session, options = self.m, self.session, self.session.options
        self.toggles: dict[str, object] = {}
        toggles = [("Contacts", "contacts"), ("Contact forces", "forces")] if session.stage.has_contacts else []
        for label, name in [*toggles, ("Inertia", "inertia")]:
            box = self.gui.add_checkbox(label, getattr(options, name))
            self.toggles[name] = box
            self._on(box, lambda name=name, box=box: setattr(options, name, box.value))
        if session.stage.skins:
            self.toggles["skins"] = box = self.gui.add_checkbox("Skins", options.skins)
            self._on(box, lambda box=box: setattr(options, "skins", box.value))
        self.toggles["shadows"] = shadows = self.gui.add_checkbox("Shadows", options.shadows)
        self._on(shadows, lambda: (setattr(options, "shadows", shadows.value), session.stage.light()))
        self.frames = self.gui.add_dropdown("Frames", ("none", "body", "geom", "site"), initial_value=options.frames)
        self._on(self.frames, lambda: setattr(options, "frames", self.frames.value))
        self.groups: dict[tuple[str, int], object] = {}
        used = {
            "geom": np.asarray(m.geom_group), "site": np.asarray(m.site_group), "tendon": np.asarray(m.tendon_group),
            "skin": np.asarray(m.skin_group),
        }  # fmt: skip
        for kind, members in used.items():
            present = sorted({int(np.clip(g, 0, GROUPS - 1)) for g in members})
            if present:
                with self.gui.add_folder(f"{kind.capitalize()} groups"):
                    for group in present:
                        box = self.gui.add_checkbox(f"{kind} {group}", group in options.groups[kind])
                        self.groups[kind, group] = box
                        self._on(box, lambda kind=kind, group=group, box=box: self._show_group(kind, group, box.value))
        with self.gui.add_folder("Camera"):
            self.bodies = [NOBODY, *_unique(names_of(m, "body"))]
            self.follow = self.gui.add_dropdown("Follow", self.bodies, hint="a click on a body selects it")
            self._on(self.follow, lambda: setattr(session, "follow", self._body(self.follow.value)))
            self._button("Follow the selected body", lambda: setattr(session, "follow", session.selected))
            cameras = _unique(names_of(m, "camera"))
            self.camera = self.gui.add_dropdown("Look through", [FREE_CAMERA, *cameras])
            self.camera.on_update(lambda event: session.ask(lambda: self._look(event.client, cameras)))

    def _show_group(self, kind: str, group: int, on: bool) -> None:
        groups = self.session.options.groups[kind]
        (groups.add if on else groups.discard)(group)
        self.session.stage.show_groups()

    def _body(self, name: str) -> int | None:
        return None if name == NOBODY else self.bodies.index(name) - 1

    def _look(self, client, cameras: list[str]) -> None:
        for one in [client] if client is not None else self.session.server.get_clients().values():
            if self.camera.value == FREE_CAMERA:
                self.session.look_at_all(one)
            else:
                self.session.look_through(cameras.index(self.camera.value), one)

    # ------------------------------------------------------------------------------------------ plot

    def _build_plot(self) -> None:
        self.channels = channels(self.m)
        self.traces: list[tuple[Trace, object]] = []
        labels = _unique([channel.label for channel in self.channels])
        if not labels:
            self.gui.add_markdown("The model has nothing to plot: no sensors, actuators or joints.")
            return
        self.channel = self.gui.add_dropdown("What", labels)
        self._button("Add plot", lambda: self.add_plot(labels.index(self.channel.value)))
        self._button("Remove all", self.remove_plots)

    def add_plot(self, index: int) -> None:
        """Plot a channel from now on."""
        trace = Trace(self.channels[index])
        parts = [f"[{k}]" for k in range(trace.channel.count)] if trace.channel.count > 1 else [trace.channel.label]
        series = [{"label": part, "stroke": COLORS[k % len(COLORS)]} for k, part in enumerate(parts)]
        with self.plots:
            plot = self.gui.add_uplot(
                trace.data(), ({"label": "t"}, *series), title=trace.channel.label, aspect=1.6,
                scales={"x": {"time": False, "auto": True}, "y": {"auto": True}},
            )  # fmt: skip
        self.traces.append((trace, plot))

    def remove_plots(self) -> None:
        """Remove all plots."""
        for _, plot in self.traces:
            plot.remove()
        self.traces.clear()

    # ------------------------------------------------------------------------------------------ what the session did

    def refresh(self, *, force: bool = False) -> None:
        """Write back what changed without the user."""
        session = self.session
        for trace, _ in self.traces:
            trace.take(session.sim, session.options.world)
        now = time.perf_counter()
        if not force and now - self._refreshed < REFRESH:
            return
        self._refreshed = now
        for trace, plot in self.traces:
            if trace.unseen:
                plot.data = trace.data()
        self._refresh_run()
        self._refresh_show()
        self._refresh_move()
        self._refresh_text()

    def _refresh_run(self) -> None:
        session, timeline = self.session, self.session.timeline
        if self.run.value == session.paused:
            self._write(self.run, not session.paused)
        if self.world is not None and self.world.value != session.options.world:
            self._write(self.world, session.options.world)
        recording = session.sim.recorder is not None
        shown = (
            (self.record, not recording and timeline is None), (self.stop, recording),
            (self.frame, timeline is not None), (self.live, session.can_go_live), (self.save, timeline is not None),
        )  # fmt: skip
        for handle, visible in shown:
            if handle.visible != visible:
                handle.visible = visible
        if timeline is not None:
            if self.frame.max != max(1, len(timeline) - 1):
                self.frame.max = max(1, len(timeline) - 1)
            if self.frame.value != timeline.at:
                self._write(self.frame, timeline.at)

    def _refresh_show(self) -> None:
        options = self.session.options
        for name, box in self.toggles.items():
            if box.value != getattr(options, name):
                self._write(box, getattr(options, name))
        if self.frames.value != options.frames:
            self._write(self.frames, options.frames)
        for (kind, group), box in self.groups.items():
            if box.value != (group in options.groups[kind]):
                self._write(box, group in options.groups[kind])

    def _refresh_move(self) -> None:
        sim, world = self.session.sim, self.session.options.world
        for sliders, name in ((self.controls, "ctrl"), (self.joints, "qpos")):
            values = np.asarray(sim.engine.read(name))[world]
            for index, slider in sliders.items():
                value = float(np.clip(values[index], slider.min, slider.max))
                if abs(value - slider.value) > slider.step:
                    self._write(slider, value)

    def _refresh_text(self) -> None:
        session = self.session
        t = float(np.asarray(session.sim.engine.read("time")).reshape(session.sim.worlds, -1)[session.options.world, 0])
        lines = [f"**{getattr(self.m, 'modelname', 'model')}** · t = {t:.2f} s"]
        if session.timeline is not None:
            lines.append(f"frame {session.timeline.at} of {len(session.timeline)}")
        elif not session.paused and session.own_steps:
            lines.append(f"{session.factor:.2f}× real time")
        if session.selected is not None:
            lines.append(f"body {self.bodies[session.selected + 1]}")
        text = " · ".join(lines)
        if self.status.content != text:
            self.status.content = text
        trouble = session.sim.trouble()
        told = [session.error] if session.error else []
        told += [f"world {world}: {', '.join(what)}" for world, what in list(trouble.items())[:3]]
        problem = "\n\n".join(f"**Problem** `{line}`" for line in told)
        if self.problem.content != problem:
            self.problem.content = problem
            self.problem.visible = bool(problem)


def _range(limits, limited: bool, otherwise: float) -> tuple[float, float]:
    """Ends of a slider: the limits, or something sensible where there are none."""
    low, high = float(limits[0]), float(limits[1])
    return (low, high) if limited and low < high else (-otherwise, otherwise)


def _unique(names: list[str]) -> list[str]:
    """Names with a number where one stands twice, for menus that choose by name."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out
