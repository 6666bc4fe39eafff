"""What programs log to a viewer of Newton's besides states: lines, points, meshes, plots, handles, layers, cameras.

Newton's window draws them over the scene. Here they are kept by name in `logged`, the last of each, for whoever asks;
pages show models and their states. So a program that draws runs unchanged.
"""

from __future__ import annotations

from typing import Any


class Overlays:
    """Takes what is drawn over a scene; `ViewerNull` and all others have it."""

    logged: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]]
    """By name: which kind it is of ("lines", "points" ...), and what it was given."""

    def _log(self, kind: str, name: str, *args: Any, **options: Any) -> None:
        self.logged[name] = (kind, args, options)

    def log_lines(
        self, name: str, starts: Any, ends: Any, colors: Any, width: float = 0.01, hidden: bool = False
    ) -> None:
        """Segments between points [m]."""
        self._log("lines", name, starts, ends, colors, width=width, hidden=hidden)

    def log_arrows(
        self, name: str, starts: Any, ends: Any, colors: Any, width: float = 0.01, hidden: bool = False
    ) -> None:
        """Arrows between points [m]."""
        self._log("arrows", name, starts, ends, colors, width=width, hidden=hidden)

    def log_points(self, name: str, points: Any, radii: Any = None, colors: Any = None, hidden: bool = False) -> None:
        """Balls at points [m]."""
        self._log("points", name, points, radii=radii, colors=colors, hidden=hidden)

    def log_mesh(self, name: str, points: Any, indices: Any, **looks: Any) -> None:
        """A mesh."""
        self._log("mesh", name, points, indices, **looks)

    def log_instances(
        self, name: str, mesh: Any, xforms: Any, scales: Any, colors: Any, materials: Any, **looks: Any
    ) -> None:
        """A mesh at many poses."""
        self._log("instances", name, mesh, xforms, scales, colors, materials, **looks)

    def log_capsules(
        self, name: str, mesh: Any, xforms: Any, scales: Any, colors: Any, materials: Any, **looks: Any
    ) -> None:
        """Capsules at many poses."""
        self._log("capsules", name, mesh, xforms, scales, colors, materials, **looks)

    def log_shapes(self, name: str, geo_type: Any, geo_scale: Any, xforms: Any, *looks: Any, **more: Any) -> None:
        """Shapes of one kind at many poses."""
        self._log("shapes", name, geo_type, geo_scale, xforms, *looks, **more)

    def log_geo(
        self, name: str, geo_type: Any, geo_scale: Any, geo_thickness: float, geo_is_solid: bool, geo_src: Any = None,
        hidden: bool = False,
    ) -> None:  # fmt: skip
        """A shape that instances are made of."""
        self._log("geo", name, geo_type, geo_scale, geo_thickness, geo_is_solid, geo_src=geo_src, hidden=hidden)

    def log_gaussian(self, name: str, gaussian: Any, xform: Any = None, hidden: bool = False) -> None:
        """A cloud of Gaussians."""
        self._log("gaussian", name, gaussian, xform=xform, hidden=hidden)

    def log_wireframe_shape(self, name: str, vertex_data: Any, world_matrix: Any, hidden: bool = False) -> None:
        """Edges of a shape."""
        self._log("wireframe", name, vertex_data, world_matrix, hidden=hidden)

    def log_hydro_contact_surface(self, contact_surface_data: Any, penetrating_only: bool = True) -> None:
        """Surfaces of contact, of which there are none here."""

    def log_array(self, name: str, array: Any) -> None:
        """Numbers to plot."""
        self._log("array", name, array)

    def log_scalar(self, name: str, value: Any, *, clear: bool = False, smoothing: int = 1) -> None:
        """A number to plot over time."""
        self._log("scalar", name, value, clear=clear, smoothing=smoothing)

    def log_image(self, name: str, image: Any, *, fullscreen: bool = False) -> None:
        """A picture."""
        self._log("image", name, image, fullscreen=fullscreen)

    def log_gizmo(self, name: str, transform: Any, **options: Any) -> None:
        """A handle to move something with: nobody does here."""
        self._log("gizmo", name, transform, **options)

    def set_camera(self, pos: Any, pitch: float | None = None, yaw: float | None = None) -> None:
        """Where to look from: kept as `logged["camera"]`; a page begins with all of the model in view."""
        self._log("camera", "camera", pos, pitch=pitch, yaw=yaw)

    def set_world_offsets(self, spacing: Any) -> None:
        """How far worlds are drawn from each other: they stand where `replicate` puts them."""

    def set_visible_worlds(self, worlds: Any) -> None:
        """Which worlds to draw: a page has a slider for it."""

    def activate(self, layer_id: str) -> None:
        """The layer that is logged to next: there is one."""

    def remove_layer(self, layer_id: str) -> None:
        """Layers are one."""

    def clear_all_layers(self) -> None:
        """Forget what was logged."""
        self.logged.clear()

    def set_layer_transform(self, layer_id: str, xform: Any) -> None:
        """Layers are one."""

    def set_layer_visible(self, layer_id: str, visible: bool) -> None:
        """Layers are one."""

    def clear_model(self) -> None:
        """Forget what was logged; `set_model` shows another model."""
        self.logged.clear()

    def clear_wireframe_vbo_cache(self) -> None:
        """There is no such cache."""

    def is_key_down(self, key: Any) -> bool:
        """Whether a key is held: none is."""
        return False

    def is_rendering_paused(self) -> bool:
        """Whether drawing waits."""
        return False

    def set_rendering_paused(self, paused: bool) -> None:
        """Drawing does not wait."""
