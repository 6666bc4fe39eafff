"""The arrays of collision detection, bundled by concept.

Arrays are indexed ``[world, i]`` where worlds may differ (a shared array has world stride 0), ``[i]`` where they never
do. Bundles are read-only inputs, except ``Contacts`` and ``Touch``, which are written.
"""

from typing import NamedTuple

import warp as wp

vec5 = wp.types.vector(length=5, dtype=float)


@wp.struct
class Geoms:
    """Shapes and their poses."""

    type: wp.array(dtype=int)  # (ngeom,) mjtGeom
    dataid: wp.array(dtype=int)  # (ngeom,) mesh or height field of the geom, or -1
    size: wp.array2d(dtype=wp.vec3)  # (nworld, ngeom) half sizes [m]
    rbound: wp.array2d(dtype=float)  # (nworld, ngeom) radius of the bounding sphere [m], 0 for planes
    aabb_center: wp.array2d(dtype=wp.vec3)  # (nworld, ngeom) bounding box in the geom frame [m]
    aabb_half: wp.array2d(dtype=wp.vec3)  # (nworld, ngeom)
    field_kind: wp.array(dtype=int)  # (ngeom,) kind of signed distance field, -1 without
    field_parameters: wp.array3d(dtype=float)  # (nworld, ngeom, n) parameters of the field
    xpos: wp.array2d(dtype=wp.vec3)  # (nworld, ngeom) position of the geom frame [m]
    xmat: wp.array2d(dtype=wp.mat33)  # (nworld, ngeom) orientation of the geom frame
    body: wp.array(dtype=int)  # (ngeom,) body of the geom
    awake: wp.array2d(dtype=int)  # (nworld, nbody) 1 where a body is awake; empty where none ever sleeps
    look: wp.array(dtype=int)  # (nworld,) what to do about a world: KEEP, NOTHING or LOOK (asleep.py); empty as well


@wp.struct
class Pairs:
    """Geom pairs that may collide, in the order of MuJoCo's contacts, and the parameters of their contacts."""

    count: wp.array(dtype=int)  # (nworld,) number of pairs
    geom: wp.array2d(dtype=wp.vec2i)  # (nworld, npair) geom 1 and 2, the type of 1 not above that of 2
    function: wp.array2d(dtype=int)  # (nworld, npair) code of the pair function, see table.py
    condim: wp.array2d(dtype=int)  # (nworld, npair)
    margin: wp.array2d(dtype=float)  # (nworld, npair) [m]
    gap: wp.array2d(dtype=float)  # (nworld, npair) [m]
    friction: wp.array2d(dtype=vec5)  # (nworld, npair) slide, slide, spin, roll, roll
    solref: wp.array2d(dtype=wp.vec2)  # (nworld, npair)
    solreffriction: wp.array2d(dtype=wp.vec2)  # (nworld, npair)
    solimp: wp.array2d(dtype=vec5)  # (nworld, npair)
    adhesion: wp.array2d(dtype=float)  # (nworld, npair) [N]


@wp.struct
class Hulls:
    """Vertices of meshes and the vertex graphs of their convex hulls: what support functions read."""

    vertadr: wp.array(dtype=int)  # (nmesh,)
    vertnum: wp.array(dtype=int)  # (nmesh,)
    vert: wp.array(dtype=wp.vec3)  # (nmeshvert,) [m]
    graphadr: wp.array(dtype=int)  # (nmesh,) -1 without a graph
    graph: wp.array(dtype=int)  # (nmeshgraph,)
    extrema: wp.array(dtype=int)  # (nmesh * 27,) hull vertex farthest along each of 3x3x3 directions


@wp.struct
class Solids:
    """Octrees of signed distances, and faces of meshes in trees of boxes; empty unless distance fields collide."""

    octadr: wp.array(dtype=int)  # (nmesh,) root of the octree, -1 without
    octchild: wp.array(dtype=int)  # (8 noct,) children, counted from the root; -1: none
    octbox: wp.array(dtype=wp.vec3d)  # (2 noct,) center and half size [m]
    octvalue: wp.array(dtype=wp.float64)  # (8 noct,) distances at the corners [m]
    bvhadr: wp.array(dtype=int)  # (nmesh,) root of the tree of boxes
    bvhnode: wp.array(dtype=wp.vec3i)  # (nbvh,) face or -1, and two children, counted from the root, or -1
    bvhbox: wp.array(dtype=wp.vec3d)  # (2 nbvhstatic,) center and half size [m]
    faceadr: wp.array(dtype=int)  # (nmesh,)
    face: wp.array(dtype=wp.vec3i)  # (nmeshface,) vertices


@wp.struct
class Meshes:
    """Convex hulls of meshes: vertices, vertex graphs and polygons, as mjModel has them."""

    hull: Hulls
    solid: Solids
    polyadr: wp.array(dtype=int)  # (nmesh,)
    polynum: wp.array(dtype=int)  # (nmesh,)
    polynormal: wp.array(dtype=wp.vec3d)  # (nmeshpoly,) double: neighbouring polygons differ by little
    polyvertadr: wp.array(dtype=int)  # (nmeshpoly,)
    polyvertnum: wp.array(dtype=int)  # (nmeshpoly,)
    polyvert: wp.array(dtype=int)  # (nmeshpolyvert,)
    polymapadr: wp.array(dtype=int)  # (nmeshvert,)
    polymapnum: wp.array(dtype=int)  # (nmeshvert,)
    polymap: wp.array(dtype=int)  # (nmeshpolymap,)


@wp.struct
class HeightFields:
    """Height fields, as mjModel has them."""

    size: wp.array(dtype=wp.vec4)  # (nhfield,) x, y, top, bottom [m]
    nrow: wp.array(dtype=int)  # (nhfield,)
    ncol: wp.array(dtype=int)  # (nhfield,)
    adr: wp.array(dtype=int)  # (nhfield,)
    data: wp.array(dtype=float)  # (nhfielddata,) 0..1


@wp.struct
class GeomParameters:
    """The geoms' contact parameters, for mixing on the device when worlds differ. Indexed [world, geom]."""

    condim: wp.array(dtype=int)
    priority: wp.array(dtype=int)
    solmix: wp.array2d(dtype=float)
    friction: wp.array2d(dtype=wp.vec3)
    solref: wp.array2d(dtype=wp.vec2)
    solimp: wp.array2d(dtype=vec5)
    margin: wp.array2d(dtype=float)
    gap: wp.array2d(dtype=float)
    adhesion: wp.array2d(dtype=float)


@wp.struct
class Sweep:
    """What the broad phase needs of the model, and its sorted list."""

    width: float  # size of a cell [m], not below the diameter of any geom with its margin
    active: wp.array(dtype=int)  # (nactive,) geoms that take part
    bits: wp.array(dtype=wp.vec2i)  # (ngeom,) contype, conaffinity
    body: wp.array(dtype=int)  # (ngeom,)
    weld: wp.array(dtype=int)  # (nbody,) weld group
    weldparent: wp.array(dtype=int)  # (nbody,) weld group of the parent of the weld group; -1: no parent filter
    moves: wp.array(dtype=int)  # (nbody,) whether the weld group has degrees of freedom
    tree: wp.array(dtype=int)  # (nbody,) whether MuJoCo orders the body's geoms by type: 1 always, 0 if the other does
    bodyadr: wp.array(dtype=int)  # (nbody + 1,) first active geom of each body
    exclude: wp.array(dtype=wp.int64)  # sorted signatures of excluded body pairs
    listed: wp.array(dtype=wp.int64)  # sorted signatures of geom pairs that are special or explicit
    table: wp.array2d(dtype=int)  # (9, 9) pair functions
    special: Pairs  # pairs known in advance, by body
    specialadr: wp.array(dtype=int)  # (nbody + 1,)
    specialkey: wp.array(dtype=wp.int64)
    parameters: GeomParameters
    margin: wp.array(dtype=float)  # (ngeom,) margin + gap
    order: wp.array2d(dtype=int)  # (nworld, nactive) active geoms, sorted
    cell: wp.array2d(dtype=wp.int64)  # (nworld, nactive) their cells
    count: wp.array2d(dtype=int)  # (nworld, nbody) pairs of each body, then where they begin
    key: wp.array2d(dtype=wp.int64)  # (nworld, capacity) key of each pair
    source: wp.array2d(dtype=int)  # (nworld, capacity) index of a special pair, or -1


@wp.struct
class Options:
    """Options of the iterative algorithms (mjOption)."""

    ccd_iterations: int
    ccd_tolerance: float
    multiccd: int
    sdf_iterations: int
    sdf_initpoints: int


@wp.struct
class Ahead:
    """How geoms move within a step, and what may stand in their way: for speculative contacts; else empty."""

    travel: wp.array2d(dtype=wp.vec3)  # (nworld, ngeom) displacement of the geom frame over the step [m]
    turn: wp.array2d(dtype=wp.vec3)  # (nworld, ngeom) its rotation vector [rad]
    reach: wp.array2d(dtype=float)  # (nworld, ngeom) the farthest that a point of the geom may move [m]
    body_reach: wp.array2d(dtype=float)  # (nworld, nbody) the largest of the geoms of a body
    body_thin: wp.array2d(dtype=float)  # (nworld, nbody) smallest half size of any geom of a body [m]
    clock: wp.array2d(dtype=wp.vec4)  # (nworld, 1) step, and what rows know of the integrator: convex/ahead.py
    body: wp.array(dtype=int)  # (ngeom,)
    weld: wp.array(dtype=int)  # (ngeom,) weld group of the geom's body
    plain: wp.array(dtype=int)  # (npair,) which pair comes at each place where MuJoCo does not walk trees of boxes
    partneradr: wp.array(dtype=int)  # (ngeom + 1,) first entry of each geom in `partner`
    partner: wp.array(dtype=wp.vec2i)  # a geom it may collide with, and their pair
    mesh: wp.array(dtype=wp.uint64)  # (nmesh,) bounding volume hierarchies, for rays
    found: wp.array2d(dtype=int)  # (nworld, npair) speculative contacts of each pair, where a thread takes a pair


@wp.struct
class Cull:
    """Pairs in cells, a geom and eight others, for a CPU thread that looks for near ones: cull.py."""

    geom: wp.array(dtype=int)  # geoms that may touch, a multiple of eight
    cell: wp.array(dtype=wp.vec3i)  # places of a geom and of the first of eight in that list, and which of these
    pair: wp.array(dtype=int)  # (8 ncell,) their pairs, -1 where there is none
    near: wp.array2d(dtype=int)  # (nworld, words) a bit for every pair
    convex: wp.array(dtype=int)  # (npair,) its place among those of convex shapes, -1: another kind
    axis: wp.array2d(dtype=wp.vec3)  # (nworld, nconvex) along which they were apart when last looked at: last_axis.py


@wp.struct
class Settings:
    """Options, the broad phase of scenes of many geoms, speculative contacts, and cells of pairs.

    The latter three are behind arrays of one, so that kernels which have no use for them do not take their many arrays
    as arguments: CUDA has room for 32 KB of them.
    """

    options: Options
    sweep: wp.array(dtype=Sweep)
    ahead: wp.array(dtype=Ahead)
    cull: wp.array(dtype=Cull)


class Shapes(NamedTuple):
    """All that geometry asks of the geoms of worlds."""

    geoms: Geoms
    meshes: Meshes
    hfields: HeightFields
    settings: Settings


@wp.struct
class Touch:
    """Geometry of contacts, written by the narrow phase at [world, slot].

    Where many threads find the contacts of a world, slots are taken as contacts are found, and those of a pair are
    linked (emit.py); elsewhere the last five arrays are empty.
    """

    dist: wp.array2d(dtype=float)  # [m], negative when penetrating
    pos: wp.array2d(dtype=wp.vec3)  # [m]
    frame: wp.array2d(dtype=wp.mat33)  # rows: normal from geom 1 to geom 2, two tangents
    used: wp.array(dtype=int)  # (nworld,) slots taken, whether there was room or not
    last: wp.array2d(dtype=int)  # (nworld, npair) link to the last contact of each pair, 0 without
    before: wp.array2d(dtype=int)  # (nworld, nslot) link to the contact of the same pair before
    order: wp.array2d(dtype=int)  # (nworld, nslot) of contacts that several threads find for one pair
    queued: wp.array(dtype=int)  # lengths of the queues of what is to be gone on with (workspace.py)


@wp.struct
class Contacts:
    """Contacts of each world, the first ``ncon[world]`` entries of (nworld, capacity) arrays, in MuJoCo's order."""

    ncon: wp.array(dtype=int)  # (nworld,) number of contacts stored
    found: wp.array(dtype=int)  # (nworld,) number of contacts found; more than ncon when the capacity was too small
    status: wp.array(dtype=int)  # (nworld,) bits of trouble, see narrow.py
    dist: wp.array2d(dtype=float)
    pos: wp.array2d(dtype=wp.vec3)
    frame: wp.array2d(dtype=wp.mat33)
    includemargin: wp.array2d(dtype=float)
    friction: wp.array2d(dtype=vec5)
    solref: wp.array2d(dtype=wp.vec2)
    solreffriction: wp.array2d(dtype=wp.vec2)
    solimp: wp.array2d(dtype=vec5)
    adhesion: wp.array2d(dtype=float)
    dim: wp.array2d(dtype=int)
    geom: wp.array2d(dtype=wp.vec2i)
    pair: wp.array2d(dtype=int)  # index into Pairs
    exclude: wp.array2d(dtype=int)  # 1: within the gap only, no constraint rows
