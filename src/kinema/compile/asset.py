"""Assets wired into the model: where files are, which meshes need hulls, materials and their textures."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinema import resources
from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.compile.geom import GEOM_TYPES
from kinema.compile.inertia import MESH, SDF, SPHERE
from kinema.compile.mesh import CompiledMesh, compile_mesh, fit_primitive, load_mesh, pack_meshes
from kinema.errors import CompileError, did_you_mean

TEXTURE_ROLES = {
    "user": 0, "rgb": 1, "occlusion": 2, "roughness": 3, "metallic": 4, "normal": 5, "opacity": 6, "emissive": 7,
    "rgba": 8, "orm": 9,
}  # fmt: skip
_TYPE_NAMES = {code: name for name, code in GEOM_TYPES.items()}


# ---- files


def asset_path(e: Element, attribute: str = "file") -> str:
    """Where an asset's file is: the document's folder, its mesh or texture folder, and the name as written."""
    name = e.text(attribute, "").replace("\\", "/")
    settings = e.settings
    if settings.strippath:
        name = posixpath.basename(name)
    folder = settings.texturedir if e.kind == "texture" else settings.meshdir
    if folder and not _absolute(name):
        name = posixpath.join(folder.replace("\\", "/"), name)
    if e.scope.directory and not _absolute(name):
        name = posixpath.join(e.scope.directory, name)
    return posixpath.normpath(name) if "://" not in name and not _has_provider(name) else name


def _absolute(name: str) -> bool:
    return name.startswith("/") or (len(name) > 2 and name[1] == ":" and name[2] == "/") or _has_provider(name)


def _has_provider(name: str) -> bool:
    return resources.find_provider(name) is not None


def read_asset(c: Compilation, e: Element, attribute: str = "file") -> resources.Resource:
    """The bytes of an asset's file, or an error at the element."""
    try:
        return resources.read(asset_path(e, attribute), assets=c.scratch.get("files"))
    except OSError as error:
        raise e.error(str(error), attribute) from error


# ---- meshes


@dataclass(frozen=True, slots=True)
class MeshFacts:
    """What geoms and sites ask of a compiled mesh, as plain numbers."""

    mesh: CompiledMesh
    pos: list[float]
    quat: list[float]
    aamm: list[float]
    volume: float
    inertia_box: list[float]

    def fit(self, kind: int, scale: float, by_aabb: bool) -> tuple[list[float], list[float]]:
        """Size of a primitive of this kind fitted to the mesh, and its centre in the mesh's frame."""
        size, center = fit_primitive(self.mesh, _TYPE_NAMES[kind], fitaabb=by_aabb, fitscale=scale)
        return size.tolist(), center.tolist()


def compile_meshes(c: Compilation) -> None:
    """Process every mesh asset; leaves `MeshFacts` by id in `c.scratch["meshes"]`."""
    hulls = _meshes_with_hull(c)
    facts = []
    for index, e in enumerate(c.elements["mesh"]):
        if not e.name:
            raise e.error("mesh needs a name or a file")
        mesh = _at(e, lambda e=e, index=index: _compile_one(c, e, index in hulls))
        facts.append(
            MeshFacts(mesh, mesh.pos.tolist(), mesh.quat.tolist(), mesh.aamm.tolist(), mesh.volume, mesh.boxsz.tolist())
        )
    c.scratch["meshes"] = facts


def _compile_one(c: Compilation, e: Element, needhull: bool) -> CompiledMesh:
    if e.given("builtin"):
        from kinema.compile.mesh import builtin_mesh

        data = builtin_mesh(e.text("builtin"), e.vector("params", ()).tolist())
    else:
        resource = read_asset(c, e) if e.text("file", "") else None
        written = {name: e.vector(name) for name in ("vertex", "normal", "texcoord")}
        face = e.vector("face", dtype=int)
        data = load_mesh(e.name, resource=resource, content_type=e.text("content_type", None), face=face, **written)
    return compile_mesh(
        e.name,
        data,
        scale=e.vector("scale", (1, 1, 1), length=3),
        refpos=e.vector("refpos", (0, 0, 0), length=3),
        refquat=e.vector("refquat", (1, 0, 0, 0), length=4),
        inertia=e.keyword("inertia", {word: word for word in ("convex", "exact", "legacy", "shell")}, "legacy"),
        smoothnormal=e.flag("smoothnormal", False),
        maxhullvert=e.integer("maxhullvert", -1),
        needhull=needhull,
    )


def _at(e: Element, work: Any) -> Any:
    """Run work on an asset; what it finds wrong is reported at the element."""
    try:
        return work()
    except CompileError as error:
        if error.line is not None or error.path is not None:
            raise
        raise e.error(error.message) from error
    except OSError as error:
        raise e.error(str(error)) from error


def _meshes_with_hull(c: Compilation) -> set[int]:
    """Ids of meshes that a colliding mesh geom uses."""
    in_pair = {e.reference(name, "geom") for e in c.elements["pair"] for name in ("geom1", "geom2")}
    needed = set()
    for e in c.elements["geom"]:
        if e.keyword("type", GEOM_TYPES, SPHERE) not in (MESH, SDF):
            continue
        if e.integer("contype", 1) or e.integer("conaffinity", 1) or (e.name and e.name in in_pair):
            needed.add(c.reference(e, "mesh"))
    return needed


def fill_meshes(c: Compilation) -> None:
    """Set the mesh_* arrays and append the meshes' bounding volumes to those of the bodies."""
    a = c.arrays
    packed = pack_meshes([facts.mesh for facts in c.scratch["meshes"]], bvh_start=len(a["bvh_nodeid"]))
    for name, array in packed.items():
        a[name] = np.concatenate([a[name], array]) if name.startswith("bvh_") else array
    c.sizes.update(
        nmeshvert=len(a["mesh_vert"]), nmeshnormal=len(a["mesh_normal"]), nmeshtexcoord=len(a["mesh_texcoord"]),
        nmeshface=len(a["mesh_face"]), nmeshgraph=len(a["mesh_graph"]), nmeshpoly=len(a["mesh_polynormal"]),
        nmeshpolyvert=len(a["mesh_polyvert"]), nmeshpolymap=len(a["mesh_polymap"]), nbvh=len(a["bvh_nodeid"]),
        nbvhstatic=len(a["bvh_nodeid"]), nbvhdynamic=0,
    )  # fmt: skip
    for name, width in (("oct_depth", ()), ("oct_child", (8,))):
        a.setdefault(name, np.zeros((0, *width), dtype=np.int32))
    for name, width in (("oct_aabb", (6,)), ("oct_coeff", (8,))):
        a.setdefault(name, np.zeros((0, *width)))
    c.sizes["noct"] = len(a["oct_depth"])
    c.sizes["npolygonmax"] = int(a["mesh_polyvertnum"].max(initial=0))
    c.sizes["nmeshdegmax"] = int(a["mesh_polymapnum"].max(initial=0))


# ---- materials


def compile_material(c: Compilation) -> None:
    """Set the mat_* arrays."""
    elements = c.elements["material"]
    n, a = len(elements), c.arrays
    for e in elements:
        if not e.name:
            raise e.error("material needs a name")

    def floats(attribute: str, default: float) -> np.ndarray:
        return np.array([e.number(attribute, default) for e in elements], dtype=np.float32)

    a["mat_texid"] = np.array([_textures(c, e) for e in elements], dtype=np.int32).reshape(n, len(TEXTURE_ROLES))
    a["mat_texuniform"] = np.array([e.flag("texuniform", False) for e in elements], dtype=np.uint8)
    repeat = [e.vector("texrepeat", (1, 1), length=2) for e in elements]
    a["mat_texrepeat"] = np.array(repeat, dtype=np.float32).reshape(n, 2)
    a["mat_emission"] = floats("emission", 0.0)
    a["mat_specular"] = floats("specular", 0.5)
    a["mat_shininess"] = floats("shininess", 0.5)
    a["mat_reflectance"] = floats("reflectance", 0.0)
    a["mat_metallic"] = floats("metallic", -1.0)
    a["mat_roughness"] = floats("roughness", -1.0)
    rgba = [e.vector("rgba", (1, 1, 1, 1), length=4) for e in elements]
    a["mat_rgba"] = np.array(rgba, dtype=np.float32).reshape(n, 4)


def _textures(c: Compilation, e: Element) -> list[int]:
    ids = [-1] * len(TEXTURE_ROLES)
    if e.given("texture"):
        ids[TEXTURE_ROLES["rgb"]] = c.reference(e, "texture")
    for layer in e.children("layer"):
        if "texture" in e.node.attributes:
            raise layer.error("a material with a texture attribute cannot have layers")
        role = layer.required("role")
        if role not in TEXTURE_ROLES:
            raise layer.error(f"unknown texture role {role!r}{did_you_mean(role, TEXTURE_ROLES)}")
        ids[TEXTURE_ROLES[role]] = c.reference(layer, "texture", required=True)
    return ids
