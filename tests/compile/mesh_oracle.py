"""MuJoCo as the judge of mesh assets: the same asset compiled by both, every field compared.

Public meshes are found in the installed packages (dm_control, mujoco_warp, …) and in ``../shared/models`` beside the
repository; where one is absent its meshes are simply not in the list.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import mujoco
import numpy as np

from kinema import resources
from kinema.compile.mesh import CompiledMesh, compile_mesh, load_mesh, mesh_aabb, mesh_rbound, pack_meshes
from kinema.geometry.builtin_mesh import builtin_inertia, builtin_mesh

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dm_control", "mujoco_warp", "gymnasium", "brax", "newton", "mujoco")
TOLERANCE = 2e-6  # of the largest entry: a few units in the last place of float32


def public_files(*extensions: str) -> list[Path]:
    """Every file with one of the extensions in the packages and shared models, in a fixed order."""
    folders = [ROOT.parent / "shared" / "models"]
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            folders.append(Path(spec.submodule_search_locations[0]))
    found = (path for folder in folders if folder.is_dir() for path in folder.rglob("*") if path.is_file())
    return sorted(
        (path for path in found if path.suffix.lower() in extensions), key=lambda path: (path.name, str(path))
    )


def mujoco_model(attributes: str, assets: dict[str, bytes] | None = None, *, geom: str = "") -> mujoco.MjModel:
    """MuJoCo's model with one mesh, used by one geom."""
    xml = (
        f'<mujoco><asset><mesh name="m" {attributes}/></asset>'
        f'<worldbody><geom type="mesh" mesh="m" {geom}/></worldbody></mujoco>'
    )
    return mujoco.MjModel.from_xml_string(xml, assets or {})


def our_mesh(path: Path, **options) -> CompiledMesh:
    """Our mesh of a file, not through the cache."""
    data = load_mesh("m", resource=resources.read(path))
    return compile_mesh("m", data, **options)


def our_builtin(kind: str, params: list[float], *, inertia: str = "legacy", **options) -> CompiledMesh:
    return compile_mesh("m", builtin_mesh(kind, params), inertia=builtin_inertia(kind, params, inertia), **options)


def graph_content(graph: np.ndarray) -> tuple[dict[int, set[int]], list[int]]:
    """A hull graph without its numbering: neighbours of each vertex by mesh index, and the faces in order."""
    nvert, nface = int(graph[0]), int(graph[1])
    address, ids = graph[2 : 2 + nvert], graph[2 + nvert : 2 + 2 * nvert]
    edge = graph[2 + 2 * nvert : 2 + 3 * nvert + 3 * nface].tolist()
    neighbors = {}
    for local, start in enumerate(address.tolist()):
        end = edge.index(-1, start)
        neighbors[int(ids[local])] = {int(ids[e]) for e in edge[start:end]}
    return neighbors, graph[2 + 3 * nvert + 3 * nface :].tolist()


def _same_extrema(ours: dict[str, np.ndarray], model: mujoco.MjModel) -> bool:
    """Extrema name hull vertices by the graph's numbering; compare how far they reach along each direction."""

    def reach(graph: np.ndarray, extrema: np.ndarray) -> np.ndarray:
        nvert = int(graph[0])
        point = model.mesh_vert[graph[2 + nvert : 2 + 2 * nvert][extrema]].astype(float)
        direction = np.stack(np.meshgrid(*[np.arange(-1, 2)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        return (point * direction).sum(axis=1)

    difference = reach(ours["mesh_graph"], ours["mesh_extrema"][0]) - reach(model.mesh_graph, model.mesh_extrema[0])
    return bool(np.abs(difference).max() <= TOLERANCE * np.abs(model.mesh_vert).max())


def differences(mesh: CompiledMesh, model: mujoco.MjModel, *, skip: tuple[str, ...] = ()) -> list[str]:
    """The names of fields that differ from MuJoCo's."""
    bodies = model.nbvh - int(model.mesh_bvhnum.sum())
    ours = pack_meshes([mesh], bvh_start=bodies)
    wrong = []
    for name, value in ours.items():
        if name in ("mesh_graph", "mesh_extrema", *skip):
            continue
        reference = getattr(model, name)
        reference = reference[bodies:] if name.startswith("bvh_") else reference
        if value.shape != reference.shape:
            wrong.append(f"{name}: shape {value.shape} for {reference.shape}")
        elif value.dtype.kind == "i":
            if (value != reference).any():
                wrong.append(f"{name}: {int((value != reference).sum())} of {value.size} differ")
        elif value.size and np.abs(value - reference).max() > TOLERANCE * max(1e-3, np.abs(reference).max()):
            wrong.append(f"{name}: off by {np.abs(value - reference).max():.2e}")
    if len(model.mesh_graph):
        if graph_content(ours["mesh_graph"]) != graph_content(model.mesh_graph):
            wrong.append("mesh_graph")
        elif not _same_extrema(ours, model):
            wrong.append("mesh_extrema")
    if model.ngeom and model.geom_type[0] == mujoco.mjtGeom.mjGEOM_MESH:
        size = model.geom_rbound[0]
        if np.abs(mesh_aabb(mesh) - model.geom_aabb[0]).max() > TOLERANCE * size:
            wrong.append("geom_aabb")
        if abs(mesh_rbound(mesh) - size) > TOLERANCE * size:
            wrong.append("geom_rbound")
    return wrong
