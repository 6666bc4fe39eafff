"""The panel of a page: everything a user can turn and press, wired to a session.

Whatever a user does becomes an order in the session's queue (`inputs.py`). What the session changes by itself (time,
joints that move, a world that was clicked) is written back by `refresh`, a few times a second, and where it differs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from kinema.mujoco_enums import Joint
from kinema.render.labels import PLACES
from kinema.viewer.html import page_of
from kinema.viewer.inputs import Inputs
from kinema.viewer.names import control_names, names_of
from kinema.viewer.plots import COLORS, Trace, channel_of, channels
from kinema.viewer.scene import GROUPS
from kinema.viewer.session import Session

REFRESH = 0.2
"""Time between updates of the panel [s]."""

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")
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
        self._refreshed = 0.0
        session.listeners.append(self.refresh)
        session.rebuilt.append(self.rebuild)
        self.build()

    def rebuild(self) -> None:
        """Make all controls anew, for another model."""
        self.inputs.end()
        self.gui.reset()
        self.build()

    def build(self) -> None:
        """Make all controls."""
        session = self.session
        self.m = session.sim.model
        self.inputs = Inputs(session.server.get_event_loop(), session.ask)
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

    def _button(self, label: str, order: Callable[[], object], **options):
        button = self.gui.add_button(label, **options)
        self.inputs.press(button.on_click, lambda client: order())
        return button

    def _command(self, label: str, key: str, order: Callable[[], object]) -> None:
        """A command of the page's palette, with a key."""
        self.inputs.press(self.gui.add_command(label, hotkey=key).on_trigger, lambda client: order())

    # ------------------------------------------------------------------------------------------ run

    def _build_run(self) -> None:
        session = self.session
        self.run = self.gui.add_checkbox("Run", not session.paused, hint="key P")
        self.inputs.on(self.run, session.play)
        self._command("Run or pause", "P", lambda: session.play(session.paused))
        self._button("Step", session.step_once, hint="key S")
        self._command("Step", "S", session.step_once)
        self._button("Reset", session.reset, hint="key R")
        self._command("Reset", "R", session.reset)
        self.speed = self.gui.add_dropdown("Speed", SPEEDS, initial_value="1", hint="simulated seconds a second")
        self.inputs.on(self.speed, lambda value: setattr(session, "speed", float(value)))
        keys = names_of(self.m, "key")
        if keys:
            keyframe = self.keyframe = self.gui.add_dropdown("Keyframe", _unique(keys))
            choices = _unique(keys)
            self._button("Load keyframe", lambda: session.reset(choices.index(keyframe.value)))
        self._build_worlds()
        self._build_timeline()

    def _build_worlds(self) -> None:
        session, worlds = self.session, self.session.sim.worlds
        self.world: Any = None
        self.grid: Any = None
        self.every: Any = None
        self.spacing: Any = None
        if worlds == 1:
            return
        with self.gui.add_folder("Worlds"):
            self.world = self.gui.add_slider("World", 0, worlds - 1, 1, session.options.world)
            self.inputs.on(self.world, lambda value: session.pick_world(int(value)))
            self.grid = self.gui.add_checkbox("All in a grid", session.options.grid)
            self.spacing = self.gui.add_number("Spacing", float(session.stage.spacing), min=0.0, step=0.1, hint="[m]")
            for handle in (self.grid, self.spacing):
                self.inputs.on(handle, lambda _: session.show_grid(self.grid.value, float(self.spacing.value) or None))
            self.every = self.gui.add_checkbox("Sliders act on all", session.every_world)
            self.inputs.on(self.every, lambda value: setattr(session, "every_world", value))

    def _build_timeline(self) -> None:
        session = self.session
        with self.gui.add_folder("Recording"):
            self.record = self._button("Record", session.record)
            self.stop = self._button("Stop and look at it", session.stop_recording, visible=False)
            last = max(1, len(session.timeline) - 1) if session.timeline is not None else 1
            shown = session.timeline is not None
            self.frame = self.gui.add_slider("Frame", 0, last, 1, 0, visible=shown)
            self.inputs.on(self.frame, self._scrub)
            self.live = self._button("Back to the simulation", session.live, visible=False)
            self.save = self.gui.add_button("Save as a page (.html)", visible=shown)
            self.inputs.press(self.save.on_click, self._send_page)

    def _scrub(self, frame: int) -> None:
        if self.session.timeline is not None:
            self.session.play(False)
            self.session.timeline.put(int(frame))

    def _send_page(self, client) -> None:
        timeline = self.session.timeline
        if timeline is not None and client is not None:
            page = page_of(timeline.recording, sim=self.session.sim)
            timeline.put(timeline.at)
            client.send_file_download("recording.html", page.encode(), save_immediately=True)

    # ------------------------------------------------------------------------------------------ move

    def _build_move(self) -> None:
        m, session = self.m, self.session
        self.controls: dict[int, Any] = {}
        self.joints: dict[int, Any] = {}  # by address in qpos
        controls = np.asarray(session.sim.d.ctrl)[0]
        with self.gui.add_folder("Actuators", visible=bool(len(controls))):
            for i, name in enumerate(_unique(control_names(m))):
                low, high = _range(m.actuator_ctrlrange[i], bool(m.actuator_ctrllimited[i]), 1.0)
                slider = self._slider(name, low, high, float(controls[i]))
                self.controls[i] = slider
                self.inputs.on(slider, partial(session.set_control, i))
            self._button("All to zero", self._let_go)
        qpos = np.asarray(session.sim.d.qpos)[0]
        with self.gui.add_folder("Joints", visible=bool(m.njnt)):
            for i, name in enumerate(_unique(names_of(m, "joint"))):
                kind, address = int(m.jnt_type[i]), int(m.jnt_qposadr[i])
                if kind in (Joint.SLIDE, Joint.HINGE):
                    otherwise = np.pi if kind == Joint.HINGE else max(float(m.stat.extent), 1e-3)
                    low, high = _range(m.jnt_range[i], bool(m.jnt_limited[i]), otherwise)
                    self._joint(name, address, low, high, float(qpos[address]))
                elif kind == Joint.FREE:
                    reach = 2 * max(float(m.stat.extent), 1e-3)
                    for k, axis in enumerate("xyz"):
                        start = float(qpos[address + k])
                        self._joint(f"{name} {axis}", address + k, start - reach, start + reach, start)

    def _let_go(self) -> None:
        for actuator in self.controls:
            self.session.set_control(actuator, 0.0)

    def _joint(self, label: str, address: int, low: float, high: float, value: float) -> None:
        slider = self._slider(label, low, high, value)
        self.joints[address] = slider
        self.inputs.on(slider, lambda value: self.session.set_joint(address, float(value)))

    def _slider(self, label: str, low: float, high: float, value: float):
        step = 10.0 ** np.floor(np.log10((high - low) / 200))
        return self.gui.add_slider(label, low, high, float(step), float(np.clip(value, low, high)))

    # ------------------------------------------------------------------------------------------ show

    def _build_show(self) -> None:
        m, session, options = self.m, self.session, self.session.options
        self.toggles: dict[str, Any] = {}
        toggles = [("Contacts", "contacts"), ("Contact forces", "forces")] if session.stage.has_contacts else []
        for label, name in [*toggles, ("Joint axes", "joints"), ("Inertia", "inertia")]:
            box = self.gui.add_checkbox(label, getattr(options, name))
            self.toggles[name] = box
            self.inputs.on(box, partial(setattr, options, name))
        if any(skin.kind == "skin" for skin in session.stage.skins):
            self.toggles["skins"] = box = self.gui.add_checkbox("Skins", options.skins)
            self.inputs.on(box, lambda value: setattr(options, "skins", value))
        self.toggles["shadows"] = shadows = self.gui.add_checkbox("Shadows", options.shadows)
        self.inputs.on(shadows, self._cast_shadows)
        self.frames = self.gui.add_dropdown("Frames", ("none", "body", "geom", "site"), initial_value=options.frames)
        self.inputs.on(self.frames, lambda value: setattr(options, "frames", value))
        self.labels = self.gui.add_dropdown("Labels", ("none", *PLACES), initial_value=options.labels)
        self.inputs.on(self.labels, lambda value: setattr(options, "labels", value))
        self.groups: dict[tuple[str, int], Any] = {}
        used = {
            "geom": np.asarray(m.geom_group), "site": np.asarray(m.site_group), "tendon": np.asarray(m.tendon_group),
            "skin": np.asarray(m.skin_group), "flex": np.asarray(m.flex_group),
        }  # fmt: skip
        for kind, members in used.items():
            present = sorted({int(np.clip(g, 0, GROUPS - 1)) for g in members})
            if present:
                with self.gui.add_folder(f"{kind.capitalize()} groups"):
                    for group in present:
                        box = self.gui.add_checkbox(f"{kind} {group}", group in options.groups[kind])
                        self.groups[kind, group] = box
                        self.inputs.on(box, partial(self._show_group, kind, group))
        with self.gui.add_folder("Camera"):
            self.bodies = [NOBODY, *_unique(names_of(m, "body"))]
            self.follow = self.gui.add_dropdown("Follow", self.bodies, hint="a click on a body selects it")
            self.inputs.on(self.follow, lambda name: setattr(session, "follow", self._body(name)))
            self._button("Follow the selected body", lambda: setattr(session, "follow", session.selected))
            cameras = _unique(names_of(m, "camera"))
            self.camera = self.gui.add_dropdown("Look through", [FREE_CAMERA, *cameras])
            self.inputs.press(self.camera.on_update, lambda client: self._look(client, cameras))

    def _cast_shadows(self, on: bool) -> None:
        self.session.options.shadows = on
        self.session.stage.light()

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
        self.traces: list[tuple[Trace, Any]] = []
        labels = _unique([channel.label for channel in self.channels])
        if labels:
            self.channel = self.gui.add_dropdown("What", labels)
            self._button("Add plot", lambda: self.add_plot(labels.index(self.channel.value)))
        self.field = self.gui.add_text("Field", "qvel", hint="qvel, qvel[0:3], xpos[hand], actuator_force[2]")
        self._button("Add plot of field", lambda: self.add_field(self.field.value))
        self._button("Remove all", self.remove_plots)

    def add_field(self, text: str) -> None:
        """Plot a field of mjData by name, or some of it, from now on: `channel_of`."""
        self.session.error = ""
        self.channels.append(channel_of(self.session.sim, text))
        self.add_plot(len(self.channels) - 1)

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
        self._refresh_text()
        self.inputs.write(self._values())

    def _refresh_run(self) -> None:
        session, timeline = self.session, self.session.timeline
        recording = session.sim.recorder is not None
        shown = (
            (self.record, not recording and timeline is None), (self.stop, recording),
            (self.frame, timeline is not None), (self.live, session.can_go_live), (self.save, timeline is not None),
        )  # fmt: skip
        for handle, visible in shown:
            if handle.visible != visible:
                handle.visible = visible
        if timeline is not None and self.frame.max != max(1, len(timeline) - 1):
            self.frame.max = max(1, len(timeline) - 1)

    def _values(self) -> Iterator[tuple[Any, Any]]:
        """What each input should say."""
        session, options = self.session, self.session.options
        yield self.run, not session.paused
        yield self.frames, options.frames
        yield self.labels, options.labels
        if self.world is not None:
            yield self.world, options.world
        if session.timeline is not None:
            yield self.frame, session.timeline.at
        for name, box in self.toggles.items():
            yield box, getattr(options, name)
        for (kind, group), box in self.groups.items():
            yield box, group in options.groups[kind]
        for sliders, name in ((self.controls, "ctrl"), (self.joints, "qpos")):
            values = np.asarray(session.sim.engine.read(name))[options.world]
            for index, slider in sliders.items():
                value = float(np.clip(values[index], slider.min, slider.max))
                if abs(value - slider.value) > slider.step:
                    yield slider, value

    def _refresh_text(self) -> None:
        session = self.session
        t = float(np.asarray(session.sim.engine.read("time")).reshape(session.sim.worlds, -1)[session.options.world, 0])
        lines = [f"**{getattr(self.m, 'modelname', 'model')}** · t = {t:.2f} s"]
        if session.timeline is not None:
            lines.append(f"frame {session.timeline.at} of {len(session.timeline)}")
        elif not session.paused and session.own_steps:
            lines.append(f"{session.factor:.2f}× real time")
        if session.grip is not None:
            lines.append(f"pulling {self.bodies[session.grip.body + 1]}")
        elif session.selected is not None:
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
