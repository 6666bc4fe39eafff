"""Soft bodies of a stage: tetrahedral meshes as particles with tetrahedra between them.

    k_mu, k_lambda     Lamé's parameters of the bound material's youngsModulus and poissonsRatio
                       μ = E / (2 (1 + ν)),  λ = E ν / ((1 + ν) (1 - 2 ν))
    density            of the deformable body, of its material, or 1000 kg/m³; of a mesh that is no deformable body, of
                       its material or the builder's

A TetMesh that is PhysicsVolumeDeformableSimAPI is a deformable body; one without is taken as it stands, with whatever
material it is bound to. Names are UsdPhysics' (`physics:`), those of vendors where nothing else is said.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..errors import BuildError
from ..model import TetMesh
from .deformable import BODY, DENSITY, POISSON, VOLUME, YOUNG, baked, body_of, is_left_out, material_of, number
from .looks import look_of
from .scene import Scene
from .schemas import authored
from .shapes import applies

VENDORS = ("omniphysics", "physxDeformableBody")
MATERIAL = "PhysicsVolumeDeformableMaterialAPI"


def add_soft(scene: Scene) -> None:
    """Every tetrahedral mesh of the stage that is simulated."""
    for prim in scene.of_type("TetMesh"):
        _add_mesh(scene, prim)


def lame(young: float, poisson: float) -> tuple[float, float]:
    """Lamé's parameters."""
    return young / (2.0 * (1.0 + poisson)), young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))


def _inside_body(prim: Any) -> Any:
    """The deformable body that a mesh lies in, however deep."""
    from pxr import UsdPhysics

    while prim and not prim.IsPseudoRoot():
        if applies(prim, BODY):
            return prim
        if prim.HasAPI(UsdPhysics.RigidBodyAPI) or prim.HasAPI(UsdPhysics.ArticulationRootAPI):
            return None
        prim = prim.GetParent()
    return None


def find_tetmesh_prims(stage: Any) -> list[Any]:
    """Prims of a stage that are tetrahedral meshes."""
    return [prim for prim in stage.Traverse() if str(prim.GetTypeName()) == "TetMesh"]


def get_tetmesh(prim: Any) -> TetMesh:
    """The mesh of a prim with the numbers of its material, in the prim's own frame."""
    from pxr import UsdGeom

    mesh = UsdGeom.TetMesh(prim)
    points, tets = mesh.GetPointsAttr().Get(), mesh.GetTetVertexIndicesAttr().Get()
    if not points or not tets:
        raise BuildError(f"{prim.GetPath()}: a TetMesh without points or tetVertexIndices")
    corners = np.array(tets, dtype=np.int32).reshape(-1, 4)
    if mesh.GetOrientationAttr().Get() == "leftHanded":
        corners = corners[:, [0, 2, 1, 3]]
    if corners.min() < 0 or corners.max() >= len(points):
        raise BuildError(f"{prim.GetPath()}: tetVertexIndices refer to {corners.max()}, there are {len(points)} points")
    k_mu, k_lambda, density = _elasticity(prim)
    numbers = {"k_mu": k_mu, "k_lambda": k_lambda, "density": density}
    return TetMesh(np.array(points, dtype=np.float32), corners.reshape(-1), **numbers)


def _elasticity(prim: Any) -> tuple[float | None, float | None, float | None]:
    """k_mu, k_lambda and density of a mesh's material; None where it says nothing."""
    material = material_of(prim)
    if material is None:
        return None, None, None
    ours = applies(material, MATERIAL)
    vendors = () if ours else VENDORS
    young = number(material, "youngsModulus", vendors)
    poisson = number(material, "poissonsRatio", vendors)
    density = number(material, "density", vendors) or None
    if ours and young is None:
        young = YOUNG
    if not ours and not any(authored(material, f"{space}:youngsModulus") is not None for space in VENDORS):
        young = None  # a modulus on a material that is not for volumes
    if young is None:
        return None, None, density
    return *lame(young, POISSON if poisson is None else poisson), density


def _add_mesh(scene: Scene, prim: Any) -> None:
    path = str(prim.GetPath())
    simulated = applies(prim, VOLUME)
    if not simulated and (owner := _inside_body(prim)) is not None:
        warnings.warn(f"{path}: left out, {owner.GetPath()} is simulated with another mesh", stacklevel=4)
        return
    if is_left_out(prim):
        return
    body = body_of(prim)
    mesh = get_tetmesh(prim)
    points, mirrored = baked(scene, prim, mesh.vertices)
    corners = np.asarray(mesh.tet_indices).reshape(-1, 4)
    if mirrored:
        corners = corners[:, [0, 2, 1, 3]]
    more: dict[str, Any] = {"k_mu": mesh.k_mu, "k_lambda": mesh.k_lambda, "density": mesh.density}
    if simulated:
        said = number(body, "density") or None
        more["density"] = said or mesh.density or DENSITY
    color, opacity = look_of(prim)
    first = scene.builder.particle_count, scene.builder.tet_count
    scene.builder.add_soft_mesh(
        pos=(0.0, 0.0, 0.0), rot=(0.0, 0.0, 0.0, 1.0), scale=1.0, vel=(0.0, 0.0, 0.0), vertices=points,
        indices=corners.reshape(-1), **{name: value for name, value in more.items() if value is not None},
        **{name: value for name, value in (("color", color), ("opacity", opacity)) if value is not None},
    )  # fmt: skip
    last = scene.builder.particle_count, scene.builder.tet_count
    scene.soft[path] = {"particle": (first[0], last[0]), "tet": (first[1], last[1])}
    total = number(body, "mass") if simulated else None
    if total:
        masses = scene.builder.edit("particle_mass")[first[0] : last[0]]
        masses *= total / masses.sum()
    if simulated and authored(prim, "physics:masses") is not None:
        warnings.warn(f"{path}: physics:masses is left out; physics:mass and physics:density are heard", stacklevel=4)
