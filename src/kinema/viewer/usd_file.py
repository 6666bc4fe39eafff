"""ViewerUSD: the states of a Model as a USD stage, one frame a time code, for other programs to draw.

    viewer = ViewerUSD("run.usda", fps=60)
    viewer.set_model(model)
    viewer.begin_frame(time); viewer.log_state(state); viewer.end_frame()
    viewer.close()

Bodies are Xforms that move, shapes what they are made of: spheres, cubes, capsules, cylinders, cones and meshes with
the colours of the model. Triangles of cloth and soft bodies are one mesh whose points move, springs are curves, and
particles of no triangle points. Names are labels, made fit for USD; shapes of no body stand under the root. Height
fields are left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kinema.errors import need
from kinema.model import Model, State
from kinema.model.enums import GeoType, ShapeFlags
from kinema.viewer.logged import ViewerNull

ENDLESS = 50.0  # half a side of a plane without end [m]


class ViewerUSD(ViewerNull):
    """Writes states to a USD file (extra `usd`).

    Args:
        output_path: The file: .usda, .usdc or .usd.
        fps: Time codes a second.
        num_frames: Frames after which `is_running` is False; None: never.
    """

    def __init__(self, output_path: str | os.PathLike, fps: float = 60.0, num_frames: int | None = None):
        super().__init__(num_frames)
        self.output_path, self.fps = Path(output_path), float(fps)
        need("pxr", "usd", "USD files")
        self._stage: Any = None
        self._gf: Any = None
        self._bodies: list[Any] = []
        self._soft: list[tuple[Any, np.ndarray]] = []  # what has points, and the particle of each

    def set_model(self, model: Model, max_worlds: int | None = None) -> None:
        """Make a new stage with the bodies and shapes of a model."""
        from pxr import Gf, Sdf, Usd, UsdGeom

        super().set_model(model)
        self._gf = Gf
        layer = Sdf.Layer.CreateNew(str(self.output_path))
        self._stage = stage = Usd.Stage.Open(layer)
        UsdGeom.SetStageUpAxis(stage, "XYZ"[int(model.up_axis)])
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        stage.SetTimeCodesPerSecond(self.fps)
        stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/root").GetPrim())
        self._bodies = [
            _movable(UsdGeom.Xform.Define(stage, f"/root/{_identifier(label, k)}"))
            for k, label in enumerate(model.body_label)
        ]
        owner, flags = model.shape_body.numpy(), model.shape_flags.numpy()
        for k, label in enumerate(model.shape_label):
            if flags[k] & ShapeFlags.VISIBLE and not flags[k] & ShapeFlags.SITE:
                parent = "/root" if owner[k] < 0 else self._bodies[owner[k]][0]
                self._shape(model, k, f"{parent}/{_identifier(label, k)}")
        self._soft = list(self._soft_prims(model)) if model.particle_count else []

    def _soft_prims(self, model: Model) -> Iterator[tuple[Any, np.ndarray]]:
        """Cloth, springs and lone particles as prims, each with the particles its points are."""
        from pxr import UsdGeom, Vt

        corners = model.tri_indices.numpy().reshape(-1, 3) if model.tri_count else np.zeros((0, 3), int)
        ends = model.spring_indices.numpy().reshape(-1, 2) if model.spring_count else np.zeros((0, 2), int)
        radius = model.particle_radius.numpy().astype(float)
        used = np.unique(corners)
        lone = np.setdiff1d(np.arange(model.particle_count), used)
        if len(corners):
            cloth = UsdGeom.Mesh.Define(self._stage, "/root/triangles")
            at = np.searchsorted(used, corners).astype(np.int32)
            cloth.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(at.ravel()))
            cloth.CreateFaceVertexCountsAttr(Vt.IntArray([3] * len(corners)))
            cloth.CreateSubdivisionSchemeAttr("none")
            cloth.CreateDoubleSidedAttr(True)
            colour = cloth.CreateDisplayColorPrimvar(UsdGeom.Tokens.uniform)
            colour.Set(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(model.tri_color.numpy(), np.float32)))
            yield cloth, used
        for path, particles, widths in (
            ("springs", ends.ravel(), np.repeat(radius[ends].min(axis=1, initial=np.inf), 2)),
            ("particles", lone, 2.0 * radius[lone]),
        ):
            if len(particles):
                kind = UsdGeom.BasisCurves if path == "springs" else UsdGeom.Points
                prim = kind.Define(self._stage, f"/root/{path}")
                if path == "springs":
                    prim.CreateTypeAttr(UsdGeom.Tokens.linear)
                    prim.CreateCurveVertexCountsAttr(Vt.IntArray([2] * len(ends)))
                prim.CreateWidthsAttr(Vt.FloatArray.FromNumpy(widths.astype(np.float32)))
                yield prim, particles

    def _shape(self, model: Model, k: int, path: str) -> None:
        """One shape as a prim, in the frame of its body."""
        from pxr import UsdGeom, Vt

        stage, gf = self._stage, self._gf
        kind, scale = GeoType(int(model.shape_type.numpy()[k])), model.shape_scale.numpy()[k].astype(float)
        stretch = np.ones(3)
        prim: Any
        if kind in (GeoType.SPHERE, GeoType.ELLIPSOID):
            prim = UsdGeom.Sphere.Define(stage, path)
            prim.CreateRadiusAttr(scale[0] if kind == GeoType.SPHERE else 1.0)
            stretch = stretch if kind == GeoType.SPHERE else scale
        elif kind == GeoType.BOX:
            prim = UsdGeom.Cube.Define(stage, path)
            prim.CreateSizeAttr(2.0)
            stretch = scale
        elif kind in (GeoType.CAPSULE, GeoType.CYLINDER, GeoType.CONE):
            prim = getattr(UsdGeom, kind.name.capitalize()).Define(stage, path)
            prim.CreateAxisAttr("Z")
            prim.CreateRadiusAttr(scale[0])
            prim.CreateHeightAttr(2.0 * scale[1])
        else:
            vertices, faces = _triangles(model, k, kind, scale)
            if vertices is None:
                return
            prim = UsdGeom.Mesh.Define(stage, path)
            prim.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(vertices, np.float32)))
            prim.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(np.ascontiguousarray(faces, np.int32).ravel()))
            prim.CreateFaceVertexCountsAttr(Vt.IntArray([3] * len(faces)))
            prim.CreateSubdivisionSchemeAttr("none")
        _, translate, orient = _movable(prim)
        _put(gf, translate, orient, model.shape_transform.numpy()[k], None)
        if not np.all(stretch == 1):
            prim.AddScaleOp().Set(gf.Vec3f(*map(float, stretch)))
        colour = model.shape_color.numpy()[k]
        prim.CreateDisplayColorAttr([gf.Vec3f(*map(float, colour))])

    def log_state(self, state: State) -> None:
        """Put all bodies and particles where a state has them, at the time of the frame."""
        super().log_state(state)
        code = self.time * self.fps
        if state.body_q is not None and self._bodies:
            for (_, translate, orient), pose in zip(self._bodies, state.body_q.numpy(), strict=True):
                _put(self._gf, translate, orient, pose, code)
        if self._soft:
            from pxr import Vt

            q = state.particle_q.numpy()
            for prim, particles in self._soft:
                prim.CreatePointsAttr().Set(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(q[particles])), code)
        start = self._stage.GetStartTimeCode() if self.frame_count else code
        self._stage.SetStartTimeCode(min(start, code))
        self._stage.SetEndTimeCode(max(self._stage.GetEndTimeCode() if self.frame_count else code, code))

    def close(self) -> None:
        """Write the file."""
        if self._open and self._stage is not None:
            self._stage.GetRootLayer().Save()
        super().close()


def _movable(prim: Any) -> tuple[str, Any, Any]:
    """Where a prim is, and what moves and turns it."""
    return str(prim.GetPath()), prim.AddTranslateOp(), prim.AddOrientOp()


def _put(gf: Any, translate: Any, orient: Any, pose: np.ndarray, code: float | None) -> None:
    x, y, z, qx, qy, qz, qw = (float(v) for v in pose)
    when = () if code is None else (code,)
    translate.Set(gf.Vec3d(x, y, z), *when)
    orient.Set(gf.Quatf(qw, qx, qy, qz), *when)


def _triangles(model: Model, k: int, kind: GeoType, scale: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Surface of a shape that is one of triangles; None: it is drawn in no way."""
    none = np.zeros((0, 3), int)
    if kind == GeoType.PLANE:
        half = [0.5 * side if side > 0 else ENDLESS for side in scale[:2]]
        corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * [*half, 0.0]
        return corners, np.array([[0, 1, 2], [0, 2, 3]])
    source = model.shape_source[k]
    if source is None or not hasattr(source, "vertices"):
        return None, none
    faces = np.asarray(source.indices).reshape(-1, 3)
    return np.asarray(source.vertices, dtype=float).reshape(-1, 3) * scale, faces


def _identifier(label: str, number: int) -> str:
    """A label as USD takes names, with a number that tells it from others."""
    plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in label)
    return f"{plain}_{number}" if plain[:1].isalpha() else f"_{plain}_{number}"
