"""One pair of geoms: whether it is near, which function finds its contacts, and what a contact knows of its pair."""

from functools import cache

import warp as wp

from kinema.collide.asleep import pair_is_awake
from kinema.collide.bound import boxes_apart, rounding, spheres_apart
from kinema.collide.build import CONVEX, FIELD, FIELD_MESH, HFIELD, PRIMITIVES, Build
from kinema.collide.bundles import Contacts, Geoms, HeightFields, Meshes, Options, Pairs, Touch
from kinema.collide.convex import convex_pair
from kinema.collide.hfield import WHOLE, hfield_pair
from kinema.collide.legacy import collide_portal
from kinema.collide.primitive import primitive_pair
from kinema.collide.sdf import sdf_pair
from kinema.collide.sdf_mesh import sdf_mesh_pair
from kinema.collide.table import PairFunction
from kinema.collide.workspace import Workspace
from kinema.math.status import report
from kinema.mujoco_enums import Exclude

OVERFLOW_CONTACTS = 1  # bit of Contacts.status


@wp.func
def is_near(w: int, pair: int, geoms: Geoms, pairs: Pairs) -> bool:
    """Whether the bounding spheres of a pair overlap, and for convex pairs the boxes; asked before any costly call."""
    g = pairs.geom[w, pair]
    margin = pairs.margin[w, pair] + pairs.gap[w, pair]
    if spheres_apart(geoms, w, g[0], g[1], margin + rounding(geoms, w, g[0], g[1])):
        return False
    convex = pairs.function[w, pair] == wp.static(int(PairFunction.CONVEX))
    return not (convex and boxes_apart(geoms, w, g[0], g[1], margin))


@wp.func
def is_near_as_listed(w: int, pair: int, geoms: Geoms, pairs: Pairs) -> bool:
    """The same, of a pair whose spheres nearly overlap (cull.py): of convex ones the boxes tell, or the distance."""
    if pairs.function[w, pair] == wp.static(int(PairFunction.CONVEX)):
        g = pairs.geom[w, pair]
        return not boxes_apart(geoms, w, g[0], g[1], pairs.margin[w, pair] + pairs.gap[w, pair])
    return is_near(w, pair, geoms, pairs)


@wp.func
def is_near_and_awake(w: int, pair: int, geoms: Geoms, pairs: Pairs) -> bool:
    """The same, of pairs of which one body is awake."""
    if not pair_is_awake(geoms, pairs, w, pair):
        return False
    return is_near(w, pair, geoms, pairs)


@cache
def pair_function(build: Build):
    """The narrow phase of the pair functions in the mask, behind one door; other functions are not compiled."""
    mask = build.mask
    collide_primitive = primitive_pair(mask & PRIMITIVES)
    collide_convex = None
    if mask & CONVEX:
        collide_convex = collide_portal if build.portal else convex_pair(build.epa, build.polygon, build.degree)
    collide_hfield = hfield_pair(build.epa, build.portal) if mask & HFIELD else None
    collide_sdf = sdf_pair(build.distance, build.gradient) if mask & FIELD else None
    collide_sdf_mesh = sdf_mesh_pair(build.distance, build.gradient) if mask & FIELD_MESH else None

    @wp.func
    def collide_pair(
        w: int,
        pair: int,
        geoms: Geoms,
        meshes: Meshes,
        hfields: HeightFields,
        pairs: Pairs,
        options: Options,
        touch: Touch,
        base: int,
        work: Workspace,
    ) -> int:
        """Write the contacts of one near pair of world w from slot ``base`` on; return their number, -1: scratch is
        wanted."""
        g1 = pairs.geom[w, pair][0]
        g2 = pairs.geom[w, pair][1]
        margin = pairs.margin[w, pair] + pairs.gap[w, pair]
        function = pairs.function[w, pair]
        n = int(0)
        if wp.static(mask & PRIMITIVES != 0):
            reach = margin + rounding(geoms, w, g1, g2)
            n += collide_primitive(w, g1, g2, function, reach, geoms, meshes, touch, base)
        if wp.static(mask & CONVEX != 0):
            if function == wp.static(int(PairFunction.CONVEX)):
                n += collide_convex(w, g1, g2, margin, geoms, meshes, options, touch, base, work)
        if wp.static(mask & HFIELD != 0):
            if function == wp.static(int(PairFunction.HFIELD_CONVEX)):
                n += collide_hfield(w, g1, g2, margin, geoms, meshes, hfields, options, touch, base, WHOLE, work)
        if wp.static(mask & FIELD != 0):
            if function == wp.static(int(PairFunction.SDF_DESCENT)):
                n += collide_sdf(w, g1, g2, geoms, meshes.solid, options, touch, base)
        if wp.static(mask & FIELD_MESH != 0):
            if function == wp.static(int(PairFunction.SDF_MESH)):
                n += collide_sdf_mesh(w, g1, g2, geoms, meshes, options, touch, base)
        return n

    return collide_pair


@wp.func
def finish_contact(contacts: Contacts, pairs: Pairs, w: int, k: int, pair: int, ahead: bool):
    """Complete contact k, whose geometry is already there, with the parameters of its pair.

    One ahead of impact has rows whatever its distance, which says how much to stop (speculative.py).
    """
    margin = pairs.margin[w, pair]
    adhesion = pairs.adhesion[w, pair]
    beyond = contacts.dist[w, k] >= margin and not ahead
    contacts.includemargin[w, k] = margin
    contacts.friction[w, k] = pairs.friction[w, pair]
    contacts.solref[w, k] = pairs.solref[w, pair]
    contacts.solreffriction[w, k] = pairs.solreffriction[w, pair]
    contacts.solimp[w, k] = pairs.solimp[w, pair]
    contacts.adhesion[w, k] = adhesion
    contacts.geom[w, k] = pairs.geom[w, pair]
    contacts.pair[w, k] = pair
    # within the gap only: no rows, except that adhesion pulls along the normal
    contacts.exclude[w, k] = wp.where(beyond and adhesion == 0.0, int(Exclude.GAP), int(Exclude.NONE))
    contacts.dim[w, k] = wp.where(beyond and adhesion != 0.0, 1, pairs.condim[w, pair])


@wp.func
def finish_world(contacts: Contacts, w: int, found: int):
    """Record how many contacts a world has, and whether some were lost."""
    contacts.found[w] = found
    contacts.ncon[w] = wp.min(found, contacts.dist.shape[1])
    if found > contacts.dist.shape[1]:
        report(contacts.status, w, OVERFLOW_CONTACTS)
