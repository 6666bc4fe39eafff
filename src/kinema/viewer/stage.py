"""The stage: a model's scene as nodes of a page, moved as a simulation moves.

Each batch of the scene is one node of instances. Nodes whose poses did not change since they were last sent are left
alone, so a page that shows nothing new costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinema.mujoco_enums import Joint, Texture
from kinema.render.flex import with_flexes
from kinema.render.labels import names_at
from kinema.viewer import overlay
from kinema.viewer import surface as shapes
from kinema.viewer import texture as textures
from kinema.viewer.glb import linear, to_glb
from kinema.viewer.options import Options
from kinema.viewer.scene import Batch, Scene, extents, grid_offsets, placed, scene_of

DETAIL = ((64, 8), (16, 12), (1, 24))
"""From so many worlds on, round things have so many points around."""

MANY = 16
"""Worlds from which on shadows are left out."""

MOST_VERTICES = 200_000
"""Vertices of one skin or flex that are sent of all worlds together; of more worlds the first are drawn."""

LABELS = 200
"""Names that are shown at once; a page pays for each."""

TOUCHABLE = 64
"""Worlds up to which bodies can be clicked and pulled; a page pays for every instance that may be."""



@dataclass(frozen=True)
class Touched:
    """What a pointer met: a body of a world."""

    world: int
    body: int


class Stage:
    """Draws a simulation.

    Args:
        scene_api: `server.scene` of a viser server.
        sim: The simulation.
        options: What is shown; read at every `show`.
        on_node: Called with every node that stands for geoms, to make it clickable.
        prefix: What names of nodes begin with, where several stages share a page.
        origin: Where its middle stands.
    """

    def __init__(
        self, scene_api, sim, options: Options, on_node: Callable[[Any, Batch], None] | None = None, *,
        prefix: str = "", origin: Sequence[float] = (0.0, 0.0, 0.0),
    ):  # fmt: skip
        self.api, self.sim, self.m, self.options = scene_api, sim, sim.model, options
        self.on_node, self.prefix, self.origin = on_node, prefix, np.asarray(origin, dtype=float)
        self.nodes: dict[str, Any] = {}
        self.batches: dict[str, Batch] = {}
        self.sent: dict[str, tuple[np.ndarray, ...]] = {}
        self.skins: list[overlay.Skin] = []
        self.scene: Scene | None = None
        self.worlds = np.zeros(1, int)
        self.offsets = np.zeros((1, 3))
        self._shadows = True  # as pages have it
        self._pull: tuple[np.ndarray, np.ndarray] | None = None
        self.build()

    # ------------------------------------------------------------------------------------------ what stands there

    @property
    def spacing(self) -> float:
        """Distance between worlds of the grid [m]."""
        return self.options.spacing or max(1.25 * float(self.m.stat.extent), 1e-3)

    @property
    def has_contacts(self) -> bool:
        """Whether the simulation tells of its contacts; those that other programs run do not."""
        return "contact_pos" in self.sim.engine.names

    def build(self) -> None:
        """Make all nodes anew, for the worlds the options ask for."""
        self.clear()
        options, count = self.options, self.sim.worlds
        options.world = int(np.clip(options.world, 0, count - 1))
        self.worlds = np.arange(count) if options.grid else np.array([options.world])
        self.offsets = grid_offsets(len(self.worlds), self.spacing) + self.origin
        self.scene = scene_of(self.m, detail=next(d for n, d in DETAIL if len(self.worlds) >= n))
        self.tendon_colors = overlay.tendon_colors(self.m)
        drawn = with_flexes(self.m, both_sides=False)
        self.skins = [overlay.Skin(drawn, k) for k in range(int(getattr(drawn, "nskin", 0)))]
        self._has_ropes = bool(getattr(self.m, "nflex", 0)) and bool(np.any(np.asarray(self.m.flex_dim) == 1))
        poses = self._poses(("geom", "site"))
        for batch in self.scene.batches:
            self._add(batch, *placed(batch, *poses[batch.kind], self.offsets))
        self.show_background()
        self.light()
        self.show(everything=True)

    def light(self) -> None:
        """Light the stage, with shadows where they are wanted and few worlds are drawn."""
        wanted = self.options.shadows and len(self.worlds) < MANY
        if wanted != self._shadows:
            self._shadows = wanted
            self.api.configure_default_lights(True, cast_shadow=wanted)

    def pick(self, world: int) -> None:
        """Draw another world in the place of the one that is drawn."""
        self.worlds = np.array([world])
        self.show(everything=True)

    def clear(self) -> None:
        """Remove all nodes."""
        for node in self.nodes.values():
            node.remove()
        self.nodes.clear()
        self.batches.clear()
        self.sent.clear()

    def _add(self, batch: Batch, positions: np.ndarray, wxyzs: np.ndarray) -> None:
        worlds = len(positions) // len(batch.ids)
        name = f"{self.prefix}/{batch.name}"
        common = {
            "batched_wxyzs": wxyzs, "batched_positions": positions, "lod": "off",
            "cast_shadow": len(self.worlds) < MANY and batch.moving, "visible": self._visible(batch),
            "batched_scales": self._scales(batch, worlds),
        }  # fmt: skip
        if batch.paint is not None:
            node = self.api.add_batched_glb(name, to_glb(batch.surface, batch.paint), **common)
        else:
            alpha = np.tile(batch.rgba[:, 3], worlds)
            node = self.api.add_batched_meshes_simple(
                name, batch.surface.vertices, batch.surface.faces, **common,
                batched_colors=np.tile(_bytes(batch.rgba[:, :3]), (worlds, 1)),
                batched_opacities=alpha if (alpha < 1).any() else None,
                opacity=1.0 if (alpha < 1).any() else None,
            )  # fmt: skip
        self.nodes[name], self.batches[name] = node, batch
        self.sent[name] = (positions, wxyzs)
        if self.on_node is not None and batch.kind == "geom" and len(self.worlds) <= TOUCHABLE:
            self.on_node(node, batch)

    def _scales(self, batch: Batch, worlds: int) -> np.ndarray:
        """Scales of a batch's instances, worlds outermost; worlds may differ in sizes."""
        field = f"{batch.kind}_size"
        if field not in self.sim.engine.expanded or worlds != len(self.worlds):
            return np.tile(batch.scales, (worlds, 1))
        shape = np.asarray(getattr(self.m, f"{batch.kind}_type"))[batch.ids]
        now, built = self._read(field)[:, batch.ids], np.asarray(getattr(self.m, field), dtype=float)[batch.ids]
        ratio = extents(shape, now) / np.maximum(extents(shape, built), 1e-12)
        return (ratio * batch.scales).reshape(-1, 3).astype(np.float32)

    def touched(self, batch: Batch, instance: int | None) -> Touched:
        """The body an instance of a batch belongs to."""
        world, member = divmod(instance or 0, len(batch.ids))
        body = int(getattr(self.m, f"{batch.kind}_bodyid")[batch.ids[member]])
        return Touched(int(self.worlds[0] if batch.once else self.worlds[world]), body)

    def place_of(self, world: int) -> np.ndarray:
        """Where a world stands on the stage (3,)."""
        at = np.flatnonzero(self.worlds == world)
        return self.offsets[at[0]] if len(at) else np.zeros(3)

    def show_background(self) -> None:
        """One side of the model's sky as the background."""
        skies = np.flatnonzero(np.asarray(self.m.tex_type) == Texture.SKYBOX) if int(self.m.ntex) else np.zeros(0, int)
        if len(skies):
            picture = textures.picture(self.m, int(skies[0]))
            side = picture.shape[1]
            face = picture[-side:] if picture.shape[0] > side else picture  # the last face is a side of the sky
            step = max(1, side // 128)
            self.api.set_background_image(np.ascontiguousarray(face[::step, ::step, :3]), format="png")

    # ------------------------------------------------------------------------------------------ what moves

    def show(self, *, everything: bool = False) -> None:
        """Put every node where the simulation has it now."""
        kinds = {b.kind for b in self.batches.values() if b.moving or everything}
        poses = self._poses(kinds)
        for name, batch in self.batches.items():
            if (batch.moving or everything) and self._visible(batch):
                positions, wxyzs = placed(batch, *poses[batch.kind], self.offsets)
                self._send(name, batched_positions=positions, batched_wxyzs=wxyzs)
        self._show_tendons()
        self._show_contacts()
        self._show_inertia()
        self._show_joints()
        self._show_frames()
        self._show_labels()
        self._show_skins()
        self._show_ropes()
        self._show_pull()

    def show_groups(self) -> None:
        """Show and hide nodes as the options say."""
        for name, batch in self.batches.items():
            if self.nodes[name].visible != self._visible(batch):
                self.nodes[name].visible = self._visible(batch)
        self.show(everything=True)

    def point(self, grabbed: np.ndarray | None, target: np.ndarray | None = None) -> None:
        """Draw the pull of the mouse from one point to another; None: no more."""
        self._pull = None if grabbed is None else (np.asarray(grabbed), np.asarray(target))
        self._show_pull()

    def _visible(self, batch: Batch) -> bool:
        return batch.group in self.options.groups[batch.kind]

    def _read(self, name: str) -> np.ndarray:
        return np.asarray(self.sim.engine.read(name))[self.worlds]

    def _poses(self, kinds) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        return {kind: (self._read(f"{kind}_xpos"), self._read(f"{kind}_xmat")) for kind in kinds}

    def _send(self, name: str, **arrays: np.ndarray) -> None:
        """Assign arrays of a node, unless they are what was sent last."""
        values = tuple(arrays.values())
        before = self.sent.get(name)
        same = before is not None and all(np.array_equal(a, b) for a, b in zip(before, values, strict=True))
        if not same:
            self.sent[name] = values
            for key, value in arrays.items():
                setattr(self.nodes[name], key, value)

    def _drop(self, name: str) -> None:
        if name in self.nodes:
            self.nodes.pop(name).remove()
            self.sent.pop(name, None)

    def _show_instances(self, name: str, unit: str, found: overlay.Instances, opacity: float | None = None) -> None:
        """Instances whose number changes: there is room for more, and those without use have no size."""
        before = self.sent.get(name)
        room = 0 if before is None else len(before[0])
        if len(found) > room:
            self._drop(name)
            room = max(8, 1 << (len(found) - 1).bit_length())
        elif room == 0:
            return
        spare = room - len(found)
        arrays = {
            "batched_positions": np.pad(found.positions, ((0, spare), (0, 0))),
            "batched_wxyzs": np.vstack([found.wxyzs, np.tile(np.array([1, 0, 0, 0], np.float32), (spare, 1))]),
            "batched_scales": np.pad(found.scales, ((0, spare), (0, 0))),
            "batched_colors": np.pad(_bytes(found.rgb), ((0, spare), (0, 0))),
        }
        if name in self.nodes:
            self._send(name, **arrays)
        else:
            surface = (shapes.box() if unit == "box" else shapes.cylinder(10)).welded()
            self.nodes[name] = self.api.add_batched_meshes_simple(
                name, surface.vertices, surface.faces, **arrays, lod="off", opacity=opacity, cast_shadow=False
            )
            self.sent[name] = tuple(arrays.values())

    def _show_tendons(self) -> None:
        m = self.m
        if not int(m.ntendon) or not self.options.groups["tendon"]:
            self._drop("/tendon")
            return
        worlds = len(self.worlds)
        path: dict[str, np.ndarray] = {}
        for name in ("ten_wrapadr", "ten_wrapnum", "wrap_obj"):
            path[name] = self._read(name).reshape(worlds, -1)
        path["wrap_xpos"] = self._read("wrap_xpos").reshape(worlds, -1, 3)
        path["geom_xpos"], path["geom_xmat"] = self._read("geom_xpos"), self._read("geom_xmat")
        found = overlay.tendons(m, path, self.offsets, self.options.groups["tendon"], self.tendon_colors)
        self._show_instances("/tendon", "cylinder", found)

    def _show_contacts(self) -> None:
        options = self.options
        if not (options.contacts or options.forces) or not self.has_contacts:
            self._drop("/contact")
            self._drop("/force")
            return
        count, pos = self._read("ncon").reshape(-1), self._read("contact_pos")
        frame = self._read("contact_frame").reshape(*pos.shape[:2], 3, 3)
        if options.contacts:
            self._show_instances("/contact", "cylinder", overlay.contact_discs(self.m, count, pos, frame, self.offsets))
        else:
            self._drop("/contact")
        if options.forces:
            from kinema.convex.contact_force import contact_forces

            force = contact_forces(self.sim).numpy()[self.worlds]
            arrows = overlay.contact_arrows(self.m, count, pos, frame, force, self.offsets)
            self._show_arrows("/force", arrows, self.m.vis.rgba.contactforce)
        else:
            self._drop("/force")

    def _show_arrows(self, name: str, points: np.ndarray, rgba) -> None:
        if not len(points):
            self._drop(name)
        elif name in self.nodes:
            self._send(name, points=points)
        else:
            width = float(self.m.vis.scale.forcewidth) * float(self.m.stat.meansize)
            self.nodes[name] = self.api.add_arrows(
                name, points, colors=_bytes(np.asarray(rgba, dtype=float)[:3], light=False),
                shaft_radius=width, head_radius=1.6 * width, head_length=2.5 * width,
            )  # fmt: skip
            self.sent[name] = (points,)

    def _show_inertia(self) -> None:
        if self.options.inertia:
            found = overlay.inertias(self.m, self._read("xipos"), self._read("ximat"), self.offsets)
            self._show_instances("/inertia", "box", found, opacity=float(self.m.vis.rgba.inertia[3]))
        else:
            self._drop("/inertia")

    def _show_joints(self) -> None:
        if not self.options.joints:
            self._drop("/joint")
            return
        kind = np.asarray(self.m.jnt_type)
        axial = np.flatnonzero(np.isin(kind, (Joint.HINGE, Joint.SLIDE)))
        start = self._read("xanchor")[:, axial] + self.offsets[:, None]
        length = float(self.m.vis.scale.jointlength) * float(self.m.stat.meansize)
        points = np.stack([start, start + length * self._read("xaxis")[:, axial]], axis=2)
        self._show_arrows("/joint", points.reshape(-1, 2, 3).astype(np.float32), self.m.vis.rgba.joint)

    def _show_labels(self) -> None:
        """Names of the picked world's elements; those without a name have no label."""
        wanted: dict[str, tuple[str, np.ndarray]] = {}
        if self.options.labels != "none":
            names, array = names_at(self.m, self.options.labels)
            world = self.options.world
            places = np.asarray(self.sim.engine.read(array))[world].reshape(-1, 3) + self.place_of(world)
            for i, name in enumerate(names):
                if name and len(wanted) < LABELS:
                    wanted[f"/label/{self.options.labels}/{i}"] = (name, places[i])
        for other in [name for name in self.nodes if name.startswith("/label/") and name not in wanted]:
            self._drop(other)
        for name, (text, at) in wanted.items():
            position = at.astype(np.float32)
            if name in self.nodes:
                self._send(name, position=position)
            else:
                self.nodes[name] = self.api.add_label(name, text, position=position)
                self.sent[name] = (position,)

    def _show_frames(self) -> None:
        name = f"/frames/{self.options.frames}"
        for other in [n for n in self.nodes if n.startswith("/frames/") and n != name]:
            self._drop(other)
        if self.options.frames == "none":
            return
        xpos, xmat = (self._read(array) for array in overlay.FRAMES[self.options.frames])
        positions, wxyzs = overlay.frames(xpos, xmat, self.offsets)
        if not len(positions):
            return
        if name in self.nodes:
            self._send(name, batched_positions=positions, batched_wxyzs=wxyzs)
        else:
            size, scale = float(self.m.stat.meansize), self.m.vis.scale
            self.nodes[name] = self.api.add_batched_axes(
                name, wxyzs, positions,
                axes_length=float(scale.framelength) * size, axes_radius=0.5 * float(scale.framewidth) * size,
            )  # fmt: skip
            self.sent[name] = (positions, wxyzs)

    def _show_skins(self) -> None:
        """Skins and flexes; those of all worlds are one surface."""
        if not self.skins:
            return
        xpos, xmat = self._read("xpos"), self._read("xmat")
        for k, skin in enumerate(self.skins):
            name = f"/{skin.kind}/{k}"
            wanted = self.options.skins or skin.kind == "flex"
            if not wanted or skin.group not in self.options.groups[skin.kind] or skin.rgba[3] == 0:
                self._drop(name)
                continue
            worlds = max(1, min(len(xpos), MOST_VERTICES // max(len(skin.rest), 1)))
            placed = skin.vertices(xpos[:worlds], xmat[:worlds]) + self.offsets[:worlds, None].astype(np.float32)
            vertices = placed.reshape(-1, 3)
            if name in self.nodes:
                self._send(name, vertices=vertices)
            else:
                faces = (skin.faces[None] + len(skin.rest) * np.arange(worlds)[:, None, None]).reshape(-1, 3)
                self.nodes[name] = self.api.add_mesh_simple(
                    name, vertices, faces, color=_bytes(skin.rgba[:3], light=False), side="double",
                    opacity=float(skin.rgba[3]) if skin.rgba[3] < 1 else None,
                )  # fmt: skip
                self.sent[name] = (vertices,)

    def _show_ropes(self) -> None:
        if not self._has_ropes:
            return
        found = overlay.ropes(self.m, self._read("xpos"), self._read("xmat"), self.offsets, self.options.groups["flex"])
        self._show_instances("/rope", "cylinder", found)

    def _show_pull(self) -> None:
        if self._pull is None:
            self._drop("/pull")
        else:
            self._show_arrows("/pull", np.stack(self._pull)[None].astype(np.float32), (0.2, 0.9, 0.3, 1))


def _bytes(rgb: np.ndarray, *, light: bool = True) -> np.ndarray:
    """Colours in [0, 1] as bytes; instances take intensities of light, single nodes colours as seen."""
    rgb = np.clip(np.asarray(rgb, dtype=float), 0, 1)
    return np.round(255 * (linear(rgb) if light else rgb)).astype(np.uint8)


class Bystander(Stage):
    """What stands beside another stage on one page: only geoms and sites are drawn, and nothing is clicked."""

    def show(self, *, everything: bool = False) -> None:
        """Put every node where the simulation has it now."""
        poses = self._poses({batch.kind for batch in self.batches.values()})
        for name, batch in self.batches.items():
            if (batch.moving or everything) and self._visible(batch):
                positions, wxyzs = placed(batch, *poses[batch.kind], self.offsets)
                self._send(name, batched_positions=positions, batched_wxyzs=wxyzs)

    def show_background(self) -> None:
        """The other stage's background stays."""

    def light(self) -> None:
        """So does its light."""
