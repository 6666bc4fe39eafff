"""Assets wired into the model: where files are, which meshes need hulls, materials and their textures."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from kinema import resources
from kinema.compile.context import Compilation
from kinema.compile.element import AUTO, FALSE, FALSE_TRUE_AUTO, Element
from kinema.compile.geom import GEOM_TYPES
from kinema.compile.heightfield import CompiledHField, compile_hfield, pack_hfields
from kinema.compile.mesh import INERTIA_MODES, CompiledMesh, compile_mesh, fit_primitive, mesh_asset, pack_meshes
from kinema.compile.plugin import configuration_of
from kinema.compile.skin import bone, compile_skin, load_skin, pack_skins
from kinema.compile.texture import (
    CompiledTexture,
    can_be_by_reference,
    compile_texture,
    pack_textures,
    texture_by_reference,
)
from kinema.errors import CompileError, did_you_mean
from kinema.geometry.mesh import MeshData
from kinema.mujoco_enums import Capability, Geom, TextureRole, words

TEXTURE_ROLES = words(TextureRole)
_TYPE_NAMES = {code: name for name, code in GEOM_TYPES.items()}


# ---- files


def asset_path(e: Element, attribute: str = "file") -> str:
    """Where an asset's file is: the document's folder, its mesh or texture folder, and the name as written.

    What is not there but written in an included file is taken relative to that file, unless paths are stripped.
    """
    name = e.text(attribute, "").replace("\\", "/")
    settings = e.settings
    if settings.strippath:
        name = posixpath.basename(name)
    if _absolute(name):
        return name if _has_provider(name) else posixpath.normpath(name)
    folder = (settings.texturedir if e.kind == "texture" else settings.meshdir).replace("\\", "/")
    path = posixpath.join(folder, name) if folder else name
    if e.scope.directory and not _absolute(path):
        path = resources.join(e.scope.directory, path)  # a bare scheme's colon takes no slash
    if _has_provider(path):
        return path
    path = posixpath.normpath(path)  # as written, before anyone looks: folder/.. is where folder stands, not its link
    included = e.node.file and e.node.file != e.scope.file and not settings.strippath
    if included and not os.path.exists(path):
        beside = posixpath.normpath(posixpath.join(resources.getdir(e.node.file), name))  # type: ignore[arg-type]
        path = beside if os.path.exists(beside) else path
    return path


def _absolute(name: str) -> bool:
    return name.startswith("/") or (len(name) > 2 and name[1] == ":" and name[2] == "/") or _has_provider(name)


def _has_provider(name: str) -> bool:
    return resources.find_provider(name) is not None


def read_asset(c: Compilation, e: Element, attribute: str = "file") -> resources.Resource:
    """The bytes of an asset's file, or an error at the element."""
    return read_file(e, c.scratch.get("files"), attribute)


def read_file(e: Element, files: Mapping[str, bytes] | None, attribute: str = "file") -> resources.Resource:
    """The same, with the files that come before those on disk."""
    try:
        return resources.read(asset_path(e, attribute), assets=files)
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
    hulls, distances = _meshes_with_hull(c), _meshes_with_distance(c)
    facts = []
    for index, e in enumerate(c.elements["mesh"]):
        if not e.name:
            raise e.error("mesh needs a name or a file")
        mesh = _at(e, lambda e=e, index=index: _compile_one(c, e, index in hulls, index in distances))
        facts.append(
            MeshFacts(mesh, mesh.pos.tolist(), mesh.quat.tolist(), mesh.aamm.tolist(), mesh.volume, mesh.boxsz.tolist())
        )
    c.scratch["meshes"] = facts


def _compile_one(c: Compilation, e: Element, needhull: bool, needsdf: bool) -> CompiledMesh:
    for plugin in e.children("plugin"):
        return _field_mesh(c, e, plugin, needhull)
    written = {name: e.vector(name) for name in ("vertex", "normal", "texcoord")}
    return mesh_asset(
        e.name,
        resource=read_asset(c, e) if e.text("file", "") else None,
        content_type=e.text("content_type", None),
        face=e.vector("face", dtype=int),
        **written,
        builtin=e.text("builtin", None),
        params=e.vector("params", ()).tolist(),
        scale=e.vector("scale", (1, 1, 1), length=3),
        refpos=e.vector("refpos", (0, 0, 0), length=3),
        refquat=e.vector("refquat", (1, 0, 0, 0), length=4),
        inertia=e.keyword("inertia", {word: word for word in INERTIA_MODES}, "legacy"),
        smoothnormal=e.flag("smoothnormal", False),
        maxhullvert=e.integer("maxhullvert", -1),
        needhull=needhull,
        needsdf=needsdf,
    )


def _field_mesh(c: Compilation, e: Element, plugin: Element, needhull: bool) -> CompiledMesh:
    """A mesh made from the signed distance field of a plugin; it stays where the field is."""
    from kinema.plugins.mesh import field_mesh

    if e.given("scale"):
        raise e.error("attribute scale is not compatible with SDFs", "scale")
    vert, face = field_mesh(*configuration_of(c, plugin, Capability.SDF))
    return compile_mesh(
        e.name, MeshData(vert.astype(np.float32), face.astype(np.int32)), needhull=needhull, reorient=False,
        inertia=e.keyword("inertia", {word: word for word in INERTIA_MODES}, "legacy"),
    )  # fmt: skip


def _at(e: Element | None, work: Any) -> Any:
    """Run work on an asset; what it finds wrong is reported at the element."""
    try:
        return work()
    except CompileError as error:
        if e is None or error.line is not None or error.path is not None:
            raise
        raise e.error(error.message) from error
    except OSError as error:
        raise (error if e is None else e.error(str(error))) from error


def _meshes_with_hull(c: Compilation) -> set[int]:
    """Ids of meshes that a colliding mesh geom uses, or a site: its volume is the hull."""
    in_pair = {e.reference(name, "geom") for e in c.elements["pair"] for name in ("geom1", "geom2")}
    needed = set()
    for e in c.elements["geom"]:
        if e.keyword("type", GEOM_TYPES, Geom.SPHERE) not in (Geom.MESH, Geom.SDF):
            continue
        if e.integer("contype", 1) or e.integer("conaffinity", 1) or (e.name and e.name in in_pair):
            needed.add(c.reference(e, "mesh"))
    sites = (e for e in c.elements["site"] if e.keyword("type", GEOM_TYPES, Geom.SPHERE) == Geom.MESH)
    return needed | {c.reference(e, "mesh") for e in sites if e.text("mesh", "")}


def _meshes_with_distance(c: Compilation) -> set[int]:
    """Ids of meshes that a geom of type sdf uses: they get an octree of signed distances."""
    fields = (e for e in c.elements["geom"] if e.keyword("type", GEOM_TYPES, Geom.SPHERE) == Geom.SDF)
    return {c.reference(e, "mesh") for e in fields}


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


# ---- height fields


def compile_hfields(c: Compilation) -> None:
    """Set the hfield_* arrays; leaves sizes by id in `c.scratch["hfields"]`."""
    for e in c.elements["hfield"]:
        if not e.name:
            raise e.error("hfield needs a name or a file")
    fields = [_at(e, lambda e=e: _compile_hfield(c, e)) for e in c.elements["hfield"]]
    c.arrays.update(pack_hfields(fields))
    c.sizes["nhfielddata"] = len(c.arrays["hfield_data"])
    c.scratch["hfields"] = [field.size.tolist() for field in fields]


def _compile_hfield(c: Compilation, e: Element) -> CompiledHField:
    e.required("size")
    if e.given("file") and not e.text("file"):
        raise e.error("hfield not specified: its file has no name", "file")
    return compile_hfield(
        e.name,
        size=e.vector("size", length=4),
        resource=read_asset(c, e) if e.text("file", "") else None,
        content_type=e.text("content_type", None),
        nrow=e.integer("nrow", 0),
        ncol=e.integer("ncol", 0),
        elevation=e.vector("elevation"),
    )


# ---- textures


def compile_textures(c: Compilation) -> None:
    """Set the tex_* arrays."""
    if c.settings.discardvisual and not any(c.elements[kind] for kind in ("sensor", "tuple")):
        c.elements["texture"] = []
        c.renumber("texture")
    for e in c.elements["texture"]:
        if not e.name and e.text("type", "cube") != "skybox":
            raise e.error("texture needs a name or a file")
    c.scratch["textures"] = {id(e): _at(e, lambda e=e: _compile_texture(c, e)) for e in c.elements["texture"]}


def fill_textures(c: Compilation) -> None:
    """Set the tex_* arrays of the textures that were kept."""
    a = c.arrays
    textures = [c.scratch["textures"][id(e)] for e in c.elements["texture"]]
    a.take(pack_textures(textures))
    c.sizes["ntexdata"] = sum(prod(texture.shape) for texture in textures)


CUBE_FILES = ("fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")


def _compile_texture(c: Compilation, e: Element) -> CompiledTexture:
    gridsize = e.vector("gridsize", (1, 1), length=2, dtype=int).tolist()
    layout = e.text("gridlayout", "............")
    if e.given("gridlayout") and len(layout) != gridsize[0] * gridsize[1]:
        raise e.error("gridlayout must have as many letters as the grid has squares", "gridlayout")
    if _is_by_reference(c, e, gridsize):
        options = {"type": e.text("type", "cube"), "colorspace": e.text("colorspace", "auto")}
        return texture_by_reference(e.name, **options, nchannel=e.integer("nchannel", 3))
    whole, separate = _texture_files(c, e)
    return compile_texture(
        e.name,
        type=e.text("type", "cube"),
        colorspace=e.text("colorspace", "auto"),
        builtin=e.text("builtin", "none"),
        rgb1=e.vector("rgb1", (0.8, 0.8, 0.8), length=3),
        rgb2=e.vector("rgb2", (0.5, 0.5, 0.5), length=3),
        mark=e.text("mark", "none"),
        markrgb=e.vector("markrgb", (0, 0, 0), length=3),
        random=e.number("random", 0.01),
        width=e.integer("width", 0),
        height=e.integer("height", 0),
        gridsize=gridsize,
        gridlayout=layout,
        hflip=e.flag("hflip", False),
        vflip=e.flag("vflip", False),
        nchannel=e.integer("nchannel", 3),
        file=whole,
        content_type=e.text("content_type", None),
        cubefiles=separate if any(separate) else None,
    )


def _texture_files(c: Compilation, e: Element) -> tuple[resources.Resource | None, list[resources.Resource | None]]:
    """The file of a texture, or else those of its sides; none of what is named but not used need be there."""
    if e.text("builtin", "none") != "none":
        return None, []
    if e.text("file", ""):
        return read_asset(c, e), []
    return None, [read_asset(c, e, name) if e.text(name, "") else None for name in CUBE_FILES]


def _is_by_reference(c: Compilation, e: Element, gridsize: list[int]) -> bool:
    """Whether a texture's pixels stay in its file: as it says itself, or else as the compiler is told."""
    wish = e.keyword("embed", FALSE_TRUE_AUTO, AUTO)
    file = e.text("file", "")
    able = can_be_by_reference(
        builtin=e.text("builtin", "none"), has_file=bool(file), gridsize=gridsize, hflip=e.flag("hflip", False),
        vflip=e.flag("vflip", False),
    )  # fmt: skip
    able = able and asset_path(e) not in (c.scratch.get("files") or ())  # bytes that have no path of their own
    if wish == FALSE and not able:
        why = "only one file on disk, neither flipped nor a grid, can stay by reference"
        raise e.error(f"embed='false' of a texture that must be in the model: {why}", "embed")
    return able and (wish == FALSE or (wish == AUTO and c.settings.passthrough == "textures"))


# ---- skins


def compile_skins(c: Compilation) -> None:
    """Set the skin_* arrays."""
    elements = c.elements["skin"]
    n, a = len(elements), c.arrays
    skins = [_at(e, lambda e=e: _compile_skin(c, e)) for e in elements]
    owner = elements[0] if elements else None
    a.update(_at(owner, lambda: pack_skins(skins, body_ids=c.ids("body"))))
    a["skin_matid"] = np.array([c.reference(e, "material") for e in elements], dtype=np.int32)
    a["skin_group"] = np.array([_skin_group(e) for e in elements], dtype=np.int32)
    rgba = [e.vector("rgba", (0.5, 0.5, 0.5, 1), length=4) for e in elements]
    a["skin_rgba"] = np.array(rgba, dtype=np.float32).reshape(n, 4)
    a["skin_inflate"] = np.array([e.number("inflate", 0.0) for e in elements], dtype=np.float32)
    for size, name in (
        ("nskinvert", "vert"), ("nskintexvert", "texcoord"), ("nskinface", "face"), ("nskinbone", "bonebodyid"),
        ("nskinbonevert", "bonevertid"),
    ):  # fmt: skip
        c.sizes[size] = len(a[f"skin_{name}"])


def _skin_group(e: Element) -> int:
    group = e.integer("group", 0)
    if not 0 <= group < 6:
        raise e.error("skin group must be between 0 and 5", "group")
    return group


def _compile_skin(c: Compilation, e: Element) -> Any:
    bones = []
    for child in e.children("bone"):
        child.required("body")
        numbers = {
            "bindpos": child.vector("bindpos", length=3), "bindquat": child.vector("bindquat", length=4),
            "vertid": child.vector("vertid", dtype=int), "vertweight": child.vector("vertweight"),
        }  # fmt: skip
        for name, value in numbers.items():
            if value is None:
                raise child.error(f"bone needs {name!r}")
        bones.append(bone(child.text("body"), **numbers))
    resource = read_asset(c, e) if e.text("file", "") else None
    written = {name: e.vector(name) for name in ("vertex", "texcoord")}
    skin = compile_skin(
        e.name, load_skin(e.name, resource=resource, face=e.vector("face", dtype=int), bones=bones, **written)
    )
    renamed = [replace(item, body=e.scope.full_name("body", item.body)) for item in skin.bones]
    return replace(skin, bones=renamed)


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
    """Texture of each role: what the classes say, outermost first, then the material itself."""
    ids = [-1] * len(TEXTURE_ROLES)
    classes = e.default.nodes.get("material", ()) if e.default is not None else ()
    for node in (*classes, e.node):
        part = Element(node, "material", e.scope, (node.attributes,), resolved=e.resolved)
        if part.given("texture"):
            ids[TEXTURE_ROLES["rgb"]] = c.reference(part, "texture")
        for layer in part.children("layer"):
            if part.given("texture"):
                raise layer.error("a material with a texture attribute cannot have layers")
            role = layer.required("role")
            if role not in TEXTURE_ROLES:
                raise layer.error(f"unknown texture role {role!r}{did_you_mean(role, TEXTURE_ROLES)}")
            name = layer.reference("texture", "texture")
            gone = c.settings.discardvisual and name not in c.ids("texture")
            ids[TEXTURE_ROLES[role]] = -1 if gone else c.reference(layer, "texture", required=True)
    return ids
