"""Physics: a document compiled and running, as programs written for dm_control's PyMJCF expect it.

    physics = mjcf.Physics.from_mjcf_model(model)
    with physics.reset_context():
        physics.bind(hip).qpos = 0.3
    physics.bind(motors).ctrl = action
    physics.step()
    physics.bind(torso).xpos

`worlds=64` runs that many worlds at once; then arrays of mjData have a leading axis of worlds, in `data`, `named` and
bindings alike, and `physics.expand("body_mass")` gives a parameter of the model one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kinema.compile import compile_model
from kinema.errors import BuildError, DocumentError, PhysicsError
from kinema.mjcf import debugging
from kinema.physics.binding import Binding, EmptyBinding, names_from_elements
from kinema.physics.model_copy import ModelCopy
from kinema.physics.named import NamedIndexStructs, named_structs
from kinema.physics.options import seen, switches, written
from kinema.physics.run import Run
from kinema.physics.views import DataView, ModelView

BAD = {4: "state is not finite", 32: "a plugin gave a number that is not finite"}
"""Bits of the status of a world in which its state is lost, and what they mean."""

LOST = sum(BAD)
"""Any of them."""

logger = logging.getLogger(__name__)


class Physics:
    """A model running on Kinema's engine, with MuJoCo's names.

    Args:
        model: A compiled model: HostModel, `mujoco.MjModel`, or any object with mjModel's attributes.
        worlds: Number of worlds; 1 keeps MuJoCo's shapes.
        device: Warp device such as "cpu" or "cuda:0"; None: the current one.
        threads: CPU threads to spread worlds over; None: one a core where there are worlds enough.
    """

    legacy_step: bool = True
    """Whether positions and velocities, and what follows from them, are of the new state after `step`."""

    def __init__(self, model: Any, *, worlds: int = 1, device: Any = None, threads: int | None = None):
        self._options = {"worlds": worlds, "device": device, "threads": threads}
        self._errors_raise = True
        self._load(model if isinstance(model, ModelCopy) else ModelCopy(model))

    def _load(self, model: ModelCopy) -> None:
        """Run a model from its initial state, in the place of any other."""
        self._run = Run(model, **self._options)
        self._named = named_structs(self._run)
        self._bindings: dict[Any, Any] = {(): EmptyBinding()}
        self._dirty = False
        self._known_bad = np.zeros(self.worlds, dtype=bool)

    # ------------------------------------------------------------------------------------------ make

    @classmethod
    def from_model(cls, model: Any, **options: Any) -> Physics:
        """Run a compiled model; options as of the constructor."""
        return cls(model, **options)

    @classmethod
    def from_xml_string(cls, xml_string: str, assets: Mapping[str, bytes] | None = None, **options: Any) -> Physics:
        """Run MJCF text; `assets` are the files it names."""
        return cls.from_model(_compile(xml_string, assets), **options)

    @classmethod
    def from_xml_path(cls, file_path: str | os.PathLike, **options: Any) -> Physics:
        """Run an MJCF file."""
        return cls.from_model(compile_model(os.fspath(file_path)), **options)

    @classmethod
    def from_mjcf_model(cls, mjcf_model: Any, **options: Any) -> Physics:
        """Run a document."""
        return cls.from_model(_compile_document(mjcf_model), **options)

    @classmethod
    def from_binary_path(cls, file_path: str | os.PathLike, **options: Any) -> Physics:
        """Run a model that MuJoCo has saved in its own binary format; needs the mujoco package."""
        return cls.from_model(_mujoco().MjModel.from_binary_path(os.fspath(file_path)), **options)

    @classmethod
    def from_byte_string(cls, byte_string: bytes, **options: Any) -> Physics:
        """Run a model in MuJoCo's binary format; needs the mujoco package."""
        return cls.from_model(_mujoco().MjModel.from_binary_path("model.mjb", {"model.mjb": byte_string}), **options)

    def reload_from_xml_string(self, xml_string: str, assets: Mapping[str, bytes] | None = None) -> None:
        """Run other MJCF text instead."""
        self._load(ModelCopy(_compile(xml_string, assets)))

    def reload_from_xml_path(self, file_path: str | os.PathLike) -> None:
        """Run another MJCF file instead."""
        self._load(ModelCopy(compile_model(os.fspath(file_path))))

    def reload_from_mjcf_model(self, mjcf_model: Any) -> None:
        """Run another document instead, from its initial state."""
        self._load(ModelCopy(_compile_document(mjcf_model)))

    def copy(self, share_model: bool = False) -> Physics:
        """Another physics in the same state; `share_model`: writing to the model changes both."""
        other = type(self).__new__(type(self))
        other._options, other._errors_raise = dict(self._options), True
        other._load(self._run.model if share_model else self._run.model.copy())
        other._run.set_state(self._run.get_state())
        other._run.actuated = True
        other._dirty = self._dirty
        return other

    def __getstate__(self) -> dict[str, Any]:
        run = self._run
        written = {name: (mirror.values, mirror.per_world) for name, mirror in run.model.mirrors.items()}
        return {
            "options": self._options, "source": run.model.source, "written": written, "state": run.get_state(),
            "dirty": self._dirty,
        }  # fmt: skip

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self._options, self._errors_raise = saved["options"], True
        model = ModelCopy(saved["source"])
        for name, (values, per_world) in saved["written"].items():
            if per_world:
                model.expand(name, self._options["worlds"])
            np.copyto(model.mirror(name).values, values)
        self._load(model)
        self._run.set_state(saved["state"])
        self._run.actuated = True
        self._dirty = saved["dirty"]

    def free(self) -> None:
        """Give the memory back; the physics is not to be used after."""
        self.__dict__.clear()

    # ------------------------------------------------------------------------------------------ views

    @property
    def worlds(self) -> int:
        """Number of worlds."""
        return self._options["worlds"]

    @property
    def model(self) -> ModelView:
        """The model under mjModel's names."""
        return ModelView(self._run)

    @property
    def data(self) -> DataView:
        """State and results under mjData's names."""
        return DataView(self._run)

    @property
    def named(self) -> NamedIndexStructs:
        """Model and data whose arrays take names as keys."""
        return self._named

    def expand(self, *names: str) -> None:
        """Let parameters of the model, by mjModel's names, differ per world: they get a leading axis of worlds."""
        for name in names:
            self._run.expand(name)

    # ------------------------------------------------------------------------------------------ run

    def step(self, nstep: int = 1) -> None:
        """Advance by nstep time steps."""
        self._run.step(nstep, up_to_date=self.legacy_step)
        self._tell_if_lost()

    def forward(self) -> None:
        """Compute everything that follows from the state, without advancing it."""
        with self.check_invalid_state():
            if self._resetting:
                self._run.forward_when_read(actuated=False)
            else:
                self._run.forward()
        self._dirty = False

    _resetting = False

    def reset(self, keyframe_id: int | None = None) -> None:
        """Go back to the initial state, or to a keyframe, and compute what follows without actuation."""
        if keyframe_id is not None and not 0 <= keyframe_id < self.model.nkey:
            raise BuildError(
                f"`keyframe_id` must be between 0 and {self.model.nkey - 1} inclusive, got: {keyframe_id}."
            )
        self._run.reset(keyframe_id)
        self._known_bad[:] = False
        self.after_reset()

    def after_reset(self) -> None:
        """Compute what follows from a state just set; controls have no meaning yet, so without actuation."""
        self._resetting = True
        try:
            self.forward()
        finally:
            self._resetting = False

    @contextlib.contextmanager
    def reset_context(self) -> Iterator[Physics]:
        """Go back to the initial state; within this it may be changed, and is computed at the end."""
        with contextlib.suppress(PhysicsError):
            self.reset()
        yield self
        self.after_reset()

    # ------------------------------------------------------------------------------------------ trouble

    @contextlib.contextmanager
    def suppress_physics_errors(self) -> Iterator[None]:
        """Within this, a state that is lost is logged instead of raised."""
        kept, self._errors_raise = self._errors_raise, False
        try:
            yield
        finally:
            self._errors_raise = kept

    @contextlib.contextmanager
    def check_invalid_state(self) -> Iterator[None]:
        """At the end of this, raise PhysicsError if the state was lost in it."""
        yield
        self._tell_if_lost()

    def _tell_if_lost(self) -> None:
        """Raise PhysicsError, or log, if the state was lost since this was last asked."""
        status = self._run.engine.read("status")
        if len(status) == 1 and not status.item(0) & LOST:
            self._known_bad[0] = False
            return
        bad = (status & LOST) != 0
        new = bad if self.worlds == 1 else bad & ~self._known_bad
        self._known_bad = bad
        if not new.any():
            return
        meanings = sorted({meaning for bit, meaning in BAD.items() for s in status[new] if s & bit})
        where = f" in worlds {np.flatnonzero(new).tolist()}" if self.worlds > 1 else ""
        message = f"Physics state is invalid{where}. Warning(s) raised: {', '.join(meanings)}; reset() starts again"
        if self._errors_raise:
            raise PhysicsError(message)
        logger.warning(message)

    def check_divergence(self) -> None:
        """Raise PhysicsError if the state is not finite."""
        for name in ("qpos", "qvel", "act"):
            values = self._run.mirror(name).values
            bad = ~np.isfinite(values).reshape(self.worlds, -1).all(axis=1)
            if bad.any():
                raise PhysicsError(f"{name} is not finite in worlds {np.flatnonzero(bad).tolist()}")

    # ------------------------------------------------------------------------------------------ state

    def _physics_state_items(self) -> list[np.ndarray]:
        names = ["qpos", "qvel", "act"] + (["plugin_state"] if self.model.nplugin else [])
        return [getattr(self.data, name) for name in names]

    def get_state(self) -> np.ndarray:
        """qpos, qvel, act, and the state of plugins, one after the other."""
        return np.concatenate(self._physics_state_items(), axis=-1)

    state = get_state

    def set_state(self, physics_state: np.ndarray) -> None:
        """Write what `get_state` gave."""
        items = self._physics_state_items()
        shape = (*items[0].shape[:-1], sum(item.shape[-1] for item in items))
        if np.shape(physics_state) != shape:
            raise BuildError(f"Input physics state has shape {np.shape(physics_state)}. Expected {shape}.")
        bounds = np.cumsum([item.shape[-1] for item in items])[:-1]
        for item, part in zip(items, np.split(physics_state, bounds, axis=-1), strict=True):
            np.copyto(item, part)

    def set_control(self, control: Any) -> None:
        """Write the controls."""
        np.copyto(self.data.ctrl, control)

    def control(self) -> np.ndarray:
        """A copy of the controls."""
        return self.data.ctrl.copy()

    def activation(self) -> np.ndarray:
        """A copy of the activations of actuators."""
        return self.data.act.copy()

    def position(self) -> np.ndarray:
        """A copy of the generalized positions."""
        return self.data.qpos.copy()

    def velocity(self) -> np.ndarray:
        """A copy of the generalized velocities."""
        return self.data.qvel.copy()

    def time(self) -> float | np.ndarray:
        """Time in seconds."""
        return self.data.time

    def timestep(self) -> float:
        """The time step in seconds."""
        return self.model.opt.timestep

    # ------------------------------------------------------------------------------------------ bind

    @property
    def is_dirty(self) -> bool:
        """Whether something was written through a binding from which other things follow."""
        return self._dirty

    def mark_as_dirty(self) -> None:
        """Let the next reading of something computed compute it first."""
        self._dirty = True

    def bind(self, mjcf_elements: Any) -> Binding:
        """Elements of the document as handles on the running model.

        Args:
            mjcf_elements: An element, or any iterable of elements of one kind.

        Returns:
            Their attributes, mjModel's and mjData's without the kind's prefix: `bind(geom).pos`, `bind(joints).qpos`.
        """
        if mjcf_elements is None:
            raise BuildError("mjcf_elements is None.")
        with contextlib.suppress(TypeError):  # not iterable: a single element
            mjcf_elements = tuple(mjcf_elements)
        found = self._bindings.get(mjcf_elements)
        if found is None:
            found = Binding(weakref.proxy(self), *names_from_elements(mjcf_elements))
            self._bindings[mjcf_elements] = found
        return found

    # ------------------------------------------------------------------------------------------ pictures

    def render(
        self, height: int = 240, width: int = 320, camera_id: int | str = -1, overlays: Sequence = (),
        depth: bool = False, segmentation: bool = False, scene_option: Any = None,
        render_flag_overrides: Mapping | None = None, scene_callback: Any = None,
    ) -> np.ndarray:  # fmt: skip
        """A picture, as dm_control gives it; with many worlds there is a leading axis of worlds.

        Args:
            height, width: Size in pixels.
            camera_id: Name or id of a camera; -1: the free camera.
            depth: Give metres along the gaze, (height, width).
            segmentation: Give object ids and types, (height, width, 2), (-1, -1) where nothing is.
            overlays: Texts to write on it, with `title`, `body` and `position` ("top left", ...): TextOverlay.
            scene_option: Of an MjvOption `geomgroup`, `sitegroup` and `tendongroup`, six switches each, `flags`,
                `frame` and `label`; options.py says which.
            render_flag_overrides: Switches by name or mjtRndFlag: "shadow", "reflection", "skybox", "haze".
            scene_callback: Of OpenGL's scenes; there is none here.
        """
        if scene_callback is not None:
            raise BuildError("render: scene_callback is given a scene of OpenGL's; this picture is traced by rays")
        if overlays and (depth or segmentation):
            raise BuildError("render: overlays are written on colours, not on depth or segmentation")
        if depth and segmentation:
            raise BuildError("render: depth and segmentation are two pictures: ask for one at a time")
        from kinema.render import render

        kind = "depth" if depth else "segmentation" if segmentation else "rgb"
        chosen = switches(render_flag_overrides) | seen(scene_option, decorated=kind == "rgb")
        self._run.mirror("geom_xpos")  # does what is due
        found = render(self._run.simulation, camera_id, width, height, kind=kind, refresh=False, **chosen)
        found = found[..., 0] if depth else found
        for overlay in overlays:
            found = np.stack([written(picture, overlay) for picture in found])
        return found[0] if self.worlds == 1 else found

    @property
    def contexts(self) -> Any:
        """Contexts of OpenGL, which draws nothing here."""
        raise NotImplementedError("Physics.contexts: pictures are made without OpenGL; see Physics.render")


def _compile(xml: str, assets: Mapping[str, bytes] | None) -> Any:
    files = {name: data.encode() if isinstance(data, str) else data for name, data in (assets or {}).items()}
    return compile_model(xml, assets=files)


def _compile_document(document: Any) -> Any:
    """Compile a document from its text, so that an error can be traced to the Python code behind its line."""
    context = debugging.DebugContext()
    xml = document.to_xml_string(debug_context=context)
    debugging.log_xml(xml, context)
    try:
        return _compile(xml, document.get_assets())
    except (ValueError, DocumentError):
        context.process_and_raise_last_exception()


def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError:
        raise BuildError("MuJoCo's binary models are read by the mujoco package: pip install mujoco") from None
    return mujoco
