"""<flex>: elements (segments, triangles, tetrahedra) over vertices that hang on bodies, to mjModel's flex_* arrays.

    vertices      places in the frames of their bodies; all of one body: the flex is rigid; all at the origin of their
                  bodies: it is centered; with nodes, vertices are carried along and hang on none (-1)
    topology      edges, flaps, shell, layers (geometry/flex_topology.py); a bounding volume hierarchy over elements
    elasticity    flex_elasticity.py, flex_cells.py (with nodes), flex_rod.py (dim 1)

Each flex compiles to a row of scalars and a handful of arrays; `_pack` lays all of them end to end as the field table
says, with their addresses and counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinema.compile import flex_cells, flex_elasticity, flex_rod, pose
from kinema.compile.attach import WORLD
from kinema.compile.context import Compilation
from kinema.compile.element import FALSE_TRUE, Element
from kinema.compile.flex_checks import (
    check_attachment,
    check_elasticity,
    check_options,
    check_pins,
    warn_where_loose,
)
from kinema.compile.tendon import RGBA, SOLIMP, SOLREF
from kinema.errors import did_you_mean
from kinema.geometry.bvh import BoundingVolumes, build
from kinema.geometry.flex_topology import Edges, edges_of, shell_and_layers
from kinema.model.mujoco_fields import model_arrays
from kinema.mujoco_enums import MINVAL, FlexSelf, words

SELFCOLLIDE = words(FlexSelf)
ELASTIC2D = {"none": 0, "bend": 1, "stretch": 2, "both": 3}
ORDERS = {"full": 0, "radial": 0, "2d": 0, "trilinear": 1, "quadratic": 2}
MOST_BODIES = 65534

ADDRESSES = {
    "flex_nodeadr": "flex_node", "flex_vertadr": "flex_vert", "flex_edgeadr": "flex_edge",
    "flex_elemadr": "flex_elemlayer", "flex_elemdataadr": "flex_elem", "flex_elemedgeadr": "flex_elemedge",
    "flex_stiffnessadr": "flex_stiffness", "flex_bendingadr": "flex_bending", "flex_shelldataadr": "flex_shell",
    "flex_texcoordadr": "flex_texcoord",
}  # fmt: skip
"""Where the rows of one flex begin in an array of all."""
NONE_AT_MINUS_ONE = ("flex_stiffnessadr", "flex_bendingadr", "flex_shelldataadr", "flex_texcoordadr")
COUNTS = {
    "flex_nodenum": "flex_node", "flex_vertnum": "flex_vert", "flex_edgenum": "flex_edge",
    "flex_elemnum": "flex_elemlayer",
}  # fmt: skip


@dataclass
class Flex:
    """One flex under compilation.

    Attributes:
        row: Its numbers under mjModel's names (one a flex), and its arrays.
        xvert, xnode: Vertices and nodes at qpos0, in world coordinates.
        elastic2d: 1 bends, 2 stretches, 3 both.
        plastic: Numbers of plastic state.
    """

    e: Element
    dim: int
    order: int
    cells: tuple[int, int, int]
    element: np.ndarray
    radius: float
    young: float
    poisson: float
    thickness: float
    elastic2d: int
    vertbody: list[int]
    nodebody: list[int]
    vert: np.ndarray
    node: np.ndarray
    rigid: bool = False
    centered: bool = False
    strained: bool = False
    row: dict[str, Any] = field(default_factory=dict)
    xvert: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    xnode: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    edges: Edges | None = None
    plastic: int = 0

    @property
    def interpolated(self) -> bool:
        return bool(self.nodebody)

    @property
    def shell(self) -> bool:
        """Interpolated, and only the surface of the lattice of cells is elastic."""
        return self.interpolated and self.elastic2d > 0

    def child(self, tag: str) -> Element:
        """A child element, or an empty one."""
        for child in self.e.children(tag):
            return child
        return Element(self.e.node, self.e.kind, self.e.scope, ({},))


def compile_flexes(c: Compilation) -> None:
    """Set every flex_* array that needs no dynamics, and append the flexes' bounding volumes."""
    elements = c.elements["flex"]
    if len(c.bodies) + len(elements) >= MOST_BODIES:
        number = f"{len(c.bodies)} bodies and {len(elements)} flexes"
        raise elements[-1].error(f"{number}: together at most {MOST_BODIES - 1}")
    frames = _body_frames(c) if elements else []
    flexes = [_compile(c, e, frames) for e in elements]
    c.scratch["flexes"] = flexes
    _pack(c, flexes)


def _body_frames(c: Compilation) -> list[tuple[list[float], list[float]]]:
    """Position and orientation of every body in the world, joints at their reference."""
    frames: list[tuple[list[float], list[float]]] = [([0.0, 0.0, 0.0], list(pose.IDENTITY))]
    a = c.arrays
    bodies = zip(a["body_parentid"].tolist(), a["body_pos"].tolist(), a["body_quat"].tolist(), strict=True)
    for parent, pos, quat in list(bodies)[1:]:
        at, turn = frames[parent]
        frames.append(pose.compose(at, turn, pos, quat))
    return frames


def _compile(c: Compilation, e: Element, frames: list) -> Flex:
    f = _read(c, e)
    check_elasticity(f)
    _place(f, frames)
    if f.dim == 3:
        _orient(f)
    f.edges = edges_of(f.element, f.dim)
    shell, layer = shell_and_layers(f.element, f.dim)
    check_attachment(c, f)
    f.row |= {
        "flex_edge": f.edges.edge, "flex_elem": f.element.ravel(), "flex_elemedge": f.edges.elemedge.ravel(),
        "flex_elemlayer": layer, "flex_shell": shell.ravel(), "flex_shellnum": len(shell),
        "flex_stiffness": np.zeros(0), "flex_bending": np.zeros(0), "flex_vertcell": np.full(len(f.vert), -1),
        "flex_edgeflap": np.full((len(f.edges.edge), 2), -1), "flex_plasticmode": 0,
    }  # fmt: skip
    if f.dim == 2 and f.elastic2d in (1, 3):
        f.row["flex_edgeflap"] = f.edges.flap[:, 2:]
    tree = _hierarchy(f, layer)
    f.row["bvh"] = tree
    f.row["flex_bvhnum"] = len(tree.depth)
    if f.interpolated:
        flex_cells.compile_cells(f)
    else:
        _box(f, tree)
        _elasticity(c, f)
    _rigid_edges(c, f)
    check_pins(c, f)
    check_options(c, f)
    warn_where_loose(c, f)
    return f


# ---- reading


def _read(c: Compilation, e: Element) -> Flex:
    dim = e.integer("dim", 2)
    if not 1 <= dim <= 3:
        raise e.error("dim of a flex must be 1, 2 or 3", "dim")
    element = e.vector("element", (), dtype=int)
    if not len(element):
        raise e.error("a flex needs elements", "element")
    if len(element) % (dim + 1):
        raise e.error(f"element holds {len(element)} numbers, not a multiple of dim+1 = {dim + 1}")
    vert, node = e.vector("vertex", ()), e.vector("nodecoord", ()) if e.text("node", "") else np.zeros(0)
    for name, values in (("vertex", vert), ("nodecoord", node)):
        if len(values) % 3:
            raise e.error(f"{name} holds {len(values)} numbers, not a multiple of 3")
    elasticity = next(iter(e.children("elasticity")), None) or Element(e.node, "elasticity", e.scope, ({},))
    f = Flex(
        e, dim, e.keyword("dof", ORDERS, 0), tuple(e.vector("cellcount", (1, 1, 1), length=3, dtype=int).tolist()),
        element.reshape(-1, dim + 1), flex_rod.radius_of(e), elasticity.number("young", 0.0),
        elasticity.number("poisson", 0.0), elasticity.number("thickness", -1.0),
        elasticity.keyword("elastic2d", ELASTIC2D, 0), _bodies(c, e, "body"), _bodies(c, e, "node"),
        vert.reshape(-1, 3), node.reshape(-1, 3),
    )  # fmt: skip
    _check_vertices(f)
    f.strained = any(
        q.tag == "flexstrain" and c.reference(q, "flex", "flex") == c.elements["flex"].index(e)
        for q in c.elements["equality"]
    )
    _read_row(c, f, elasticity)
    _read_texture(c, f)
    return f


def _bodies(c: Compilation, e: Element, attribute: str) -> list[int]:
    """Ids of the bodies an attribute names."""
    table = c.ids("body")
    found = []
    for name in e.text(attribute, "").split():
        full = name if name == WORLD else e.scope.full_name("body", name)
        if full not in table:
            raise e.error(f"unknown body {full!r} in flex{did_you_mean(full, table)}")
        found.append(table[full])
    return found


def _check_vertices(f: Flex) -> None:
    """Settle how many vertices there are, and whether all are in one body or all at the origin of theirs."""
    e = f.e
    if not f.vertbody and not f.interpolated:
        raise e.error("a flex needs 'body', the names of the bodies its vertices belong to")
    if not len(f.vert):
        f.centered = True
        f.vert = np.zeros((len(f.vertbody), 3))
    elif len(f.vertbody) == 1:
        f.rigid = True
    elif len(f.vertbody) != len(f.vert):
        raise e.error(f"body names {len(f.vertbody)} bodies for {len(f.vert)} vertices: give one, or one a vertex")
    number = len(f.vert)
    if number < f.dim + 1:
        raise e.error(f"a flex of dim {f.dim} needs at least {f.dim + 1} vertices, not {number}")
    wrong = f.element[(f.element < 0) | (f.element >= number)]
    if len(wrong):
        raise e.error(f"element names vertex {int(wrong[0])}, but the flex has {number}")
    ordered = np.sort(f.element, axis=1)
    repeated = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(repeated):
        raise e.error(f"element {int(repeated[0])} names a vertex twice: {f.element[repeated[0]].tolist()}")
    flex_cells.check_nodes(f)
    if f.rigid:
        f.vertbody = f.vertbody * number
    if not f.interpolated:
        f.rigid = f.rigid or len(set(f.vertbody)) == 1
        f.centered = f.centered or not f.vert.any()
    else:
        f.centered = f.centered or not f.node.any()


def _read_row(c: Compilation, f: Flex, elasticity: Element) -> None:
    """The numbers that are as written."""
    e, contact, edge = f.e, f.child("contact"), f.child("edge")
    number = elasticity.count("yield")
    stress = elasticity.vector("yield", (0.0, 0.0), at_most=2)
    if number == 1 and f.dim == 2 and not f.interpolated:
        stress[1] = stress[0]
    f.row |= {
        "flex_contype": contact.integer("contype", 1), "flex_conaffinity": contact.integer("conaffinity", 1),
        "flex_condim": contact.integer("condim", 3), "flex_priority": contact.integer("priority", 0),
        "flex_solmix": contact.number("solmix", 1.0), "flex_solref": contact.vector("solref", SOLREF, at_most=2),
        "flex_solimp": contact.vector("solimp", SOLIMP, at_most=5),
        "flex_friction": contact.vector("friction", (1.0, 0.005, 0.0001), at_most=3),
        "flex_margin": contact.number("margin", 0.0), "flex_gap": contact.number("gap", 0.0),
        "flex_selfcollide": contact.keyword("selfcollide", SELFCOLLIDE, FlexSelf.AUTO),
        "flex_activelayers": contact.integer("activelayers", 1), "flex_passive": contact.flag("passive", False),
        "flex_dim": f.dim, "flex_group": e.integer("group", 0), "flex_interp": -f.order if f.elastic2d else f.order,
        "flex_cellnum": f.cells, "flex_radius": f.radius, "flex_damping": elasticity.number("damping", 0.0),
        "flex_yield": stress, "flex_edgestiffness": edge.number("stiffness", 0.0),
        "flex_edgedamping": edge.number("damping", 0.0), "flex_edgeequality": _constrained(c, f),
        "flex_rigid": f.rigid, "flex_centered": f.centered, "flex_flatskin": e.keyword("flatskin", FALSE_TRUE, False),
        "flex_rgba": e.vector("rgba", RGBA, length=4),
    }  # fmt: skip


def _constrained(c: Compilation, f: Flex) -> int:
    """How the first equality constraint on the flex holds it: 1 by its edges, 3 by the strain of its cells."""
    mine = c.elements["flex"].index(f.e)
    for e in c.elements["equality"]:
        if e.tag in ("flex", "flexstrain") and c.reference(e, "flex", "flex") == mine:
            return 1 if e.tag == "flex" else 3
    return 0


def _read_texture(c: Compilation, f: Flex) -> None:
    e = f.e
    names = e.text("material", "").split()
    number = len(f.element)
    if len(names) not in (0, 1, number):
        raise e.error(f"material names {len(names)} materials: give none, one, or one for each of {number} elements")
    full = [e.scope.full_name("material", name) for name in names]
    ids = [-1 if "material" in e.resolved else c.find("material", name, e) for name in full] or [-1]
    f.row["flex_matid"] = np.resize(np.array(ids, np.int32), len(f.element))
    texcoord, which = e.vector("texcoord", ()), e.vector("elemtexcoord", (), dtype=int)
    if len(which) and not len(texcoord):
        raise e.error("elemtexcoord requires texcoord", "elemtexcoord")
    if len(which) and (len(which) != f.element.size or which.min() < 0 or which.max() >= len(texcoord) // 2):
        raise e.error(
            f"elemtexcoord must name one of {len(texcoord) // 2} texture coordinates for each of the "
            f"{f.element.size} corners of elements", "elemtexcoord",
        )  # fmt: skip
    if len(texcoord) and not len(which) and len(texcoord) != 2 * len(f.vert):
        raise e.error(f"texcoord holds {len(texcoord)} numbers: two are expected for each of {len(f.vert)} vertices")
    f.row["flex_texcoord"] = texcoord.reshape(-1, 2)
    f.row["texture_elements"] = which if len(which) and len(texcoord) else None


# ---- places


def _place(f: Flex, frames: list) -> None:
    """Vertices and nodes where they are in the world at qpos0."""
    f.xvert = _placed(frames, f.vertbody, None if f.centered and not f.interpolated else f.vert)
    f.xnode = _placed(frames, f.nodebody, None if f.centered else f.node)
    f.row |= {
        "flex_vert": f.vert if f.interpolated or not f.centered else np.zeros_like(f.vert),
        "flex_vertbodyid": [-1] * len(f.vert) if f.interpolated else f.vertbody, "flex_nodebodyid": f.nodebody,
        "flex_node": f.node if len(f.node) else np.zeros((len(f.nodebody), 3)), "flex_node0": np.zeros((0, 3)),
    }  # fmt: skip


def _placed(frames: list, bodies: list[int], offset: np.ndarray | None) -> np.ndarray:
    if not bodies:
        return np.zeros((0, 3))
    at = np.array([frames[b][0] for b in bodies])
    if offset is None:
        return at
    quat = np.array([frames[b][1] for b in bodies]).T
    return at + np.stack(pose.rotate_parts(quat, *offset.T), axis=1)


def _orient(f: Flex) -> None:
    """Wind tetrahedra so that the faces (0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2) look outwards."""
    x = f.xvert[f.element]
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    inward = (normal * (x[:, 3] - x[:, 0])).sum(axis=1) > 0
    f.element[inward] = f.element[inward][:, [0, 2, 1, 3]]
    own = f.row["texture_elements"]
    if own is not None and len(own) == f.element.size:
        own = own.reshape(-1, 4)
        own[inward] = own[inward][:, [0, 2, 1, 3]]
        f.row["texture_elements"] = own.ravel()


def _hierarchy(f: Flex, layer: np.ndarray) -> BoundingVolumes:
    """Bounding volumes of the elements that may collide."""
    active = np.arange(len(f.element)) if f.dim < 3 else np.flatnonzero(layer < f.row["flex_activelayers"])
    x = f.xvert[f.element[active]]
    low, high = x.min(axis=1), x.max(axis=1)
    centre, half = 0.5 * (high + low), 0.5 * (high - low) + f.radius
    return build(centre, centre - half, centre + half, active.astype(np.int32))


def _box(f: Flex, tree: BoundingVolumes) -> None:
    """Half sizes of the box around all elements, and vertices in its coordinates [0, 1]."""
    if not len(tree.aabb):
        raise f.e.error("no element of the flex is active: activelayers must be positive")
    centre, size = tree.aabb[0, :3], tree.aabb[0, 3:] - f.radius
    wide = size > MINVAL
    inside = (f.xvert - centre) / (2 * np.where(wide, size, 1.0)) + 0.5
    f.row |= {"flex_size": size, "flex_vert0": np.where(wide, inside, 0.5)}


# ---- elasticity and constraints


def _elasticity(c: Compilation, f: Flex) -> None:
    assert f.edges is not None
    if f.dim == 1:
        flex_rod.compile_rod(c, f)
        return
    if f.young <= 0:
        return
    f.row["flex_stiffness"] = np.zeros(flex_elasticity.METRIC[f.dim] * len(f.element))
    stretches = f.dim == 3 or f.elastic2d >= 2
    bends = f.dim == 2 and f.elastic2d in (1, 3)
    material = f.young, f.poisson, f.thickness
    if stretches:
        f.row["flex_stiffness"] = flex_elasticity.stretching(f.xvert, f.element, f.dim, *material).ravel()
    if bends:
        f.row["flex_bending"] = flex_elasticity.bending(f.xvert, f.edges.flap, *material).ravel()
    flows, folds = (f.row["flex_yield"] > 0) & (not f.rigid)
    mode = 2 * int(stretches and flows) + int(bends and folds)
    f.row["flex_plasticmode"] = mode
    if mode % 2:  # folds that flow need the thickness: it stands after the first triangle's metric
        f.row["flex_stiffness"][6] = f.thickness
    f.plastic = (mode >= 2) * (3 if f.dim == 2 else 6) * len(f.element) + (mode % 2) * len(f.edges.edge)


def _rigid_edges(c: Compilation, f: Flex) -> None:
    assert f.edges is not None
    if f.rigid or f.interpolated:
        f.row["flexedge_rigid"] = np.full(len(f.edges.edge), f.rigid)
        return
    weld = c.arrays["body_weldid"][np.array(f.vertbody)]
    f.row["flexedge_rigid"] = weld[f.edges.edge[:, 0]] == weld[f.edges.edge[:, 1]]


# ---- all of them


def _pack(c: Compilation, flexes: list[Flex]) -> None:
    """Lay rows and arrays of all flexes end to end."""
    a = c.arrays
    for f in flexes:
        own = f.row.pop("texture_elements")
        f.row["flex_elemtexcoord"] = f.row["flex_elem"] if own is None else own
    for spec in model_arrays():
        if not spec.name.startswith("flex") or not all(spec.name in f.row for f in flexes):
            continue
        width = tuple(extent for extent in spec.shape[1:] if isinstance(extent, int))
        rows = [np.asarray(f.row[spec.name], dtype=spec.numpy_dtype) for f in flexes]
        if spec.shape[0] != "nflex":
            rows = [row.reshape(-1, *width) for row in rows]
            a[spec.name] = np.concatenate([np.zeros((0, *width), spec.numpy_dtype), *rows])
            c.sizes[str(spec.shape[0])] = len(a[spec.name])
        else:
            a[spec.name] = np.array(rows, dtype=spec.numpy_dtype).reshape(-1, *width)
    for name, what in ADDRESSES.items():
        count = np.array([len(f.row[what]) for f in flexes], dtype=np.int64)
        start = np.cumsum(count) - count
        a[name] = np.where(count > 0, start, -1 if name in NONE_AT_MINUS_ONE else start).astype(np.int32)
    for name, what in COUNTS.items():
        a[name] = np.array([len(f.row[what]) for f in flexes], dtype=np.int32)
    _pack_plastic(c, flexes)
    _pack_hierarchies(c, flexes)


def _pack_plastic(c: Compilation, flexes: list[Flex]) -> None:
    """State of flexes that flow, and of rods, after that of joints and tendons."""
    start, address = int(c.sizes.get("nplastic", 0)), []
    for f in flexes:
        address.append(start if f.plastic else -1)
        start += f.plastic
    c.arrays["flex_plasticadr"] = np.array(address, dtype=np.int32)
    c.sizes["nplastic"] = start


def _pack_hierarchies(c: Compilation, flexes: list[Flex]) -> None:
    """Trees after those of bodies and meshes; their boxes move and are not part of the model."""
    a = c.arrays
    trees: list[BoundingVolumes] = [f.row["bvh"] for f in flexes]
    count = np.array([len(tree.depth) for tree in trees], dtype=np.int64)
    start = len(a["bvh_nodeid"]) + np.cumsum(count) - count
    a["flex_bvhadr"] = np.where(count > 0, start, -1).astype(np.int32)
    for name in ("child", "nodeid", "depth"):
        a[f"bvh_{name}"] = np.concatenate([a[f"bvh_{name}"], *(getattr(tree, name) for tree in trees)])
    c.sizes["nbvhdynamic"] = int(count.sum())
    c.sizes["nbvh"] = len(a["bvh_nodeid"])
