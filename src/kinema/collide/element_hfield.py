"""Height fields against elements of flexes: prism by prism, as convex shapes do (hfield.py)."""

from functools import cache

import warp as wp

from kinema.collide.bundles import HeightFields, Hulls, Options, Touch
from kinema.collide.convex import convex_distance
from kinema.collide.emit import emit
from kinema.collide.hfield import MOST, Meeting, contact, find_cells, is_under, portal_distance, prism, reaches_up
from kinema.collide.precision import ZERO, mat33r, real, vec3r
from kinema.collide.support import Shape, center
from kinema.collide.workspace import Workspace

ANYWHERE = wp.constant(1.0e9)  # how far an element may reach: its box is looked at instead


@wp.func
def element_over(field: int, xpos: wp.vec3, xmat: wp.mat33, s: Shape, margin: float) -> Meeting:
    """An element in the frame of a height field; its corners are in the rows of ``mat`` and in ``pos``."""
    t = Meeting()
    t.field = field
    t.pos = vec3r(xpos)
    t.mat = mat33r(xmat)
    t.margin = real(margin)
    t.shape = s
    t.shape.margin = ZERO
    down = wp.transpose(t.mat)
    for i in range(3):
        t.shape.mat[i] = down * (s.mat[i] - t.pos)
    t.shape.pos = down * (s.pos - t.pos)
    return t


@wp.func
def beside(t: Meeting, s: Shape) -> vec3r:
    """A search begins at the centre of the box around the element in the world, which is not that in the field."""
    return center(t.shape) - wp.transpose(t.mat) * (center(s) - t.pos)


@cache
def hfield_element(capacity: int, portal: bool = False):
    """Contacts of a height field with an element; ``capacity``: of EPA iterations."""
    signed_distance = portal_distance if portal else convex_distance(capacity)

    @wp.func
    def collide_hfield_element(
        w: int, over: Meeting, apart: vec3r, hulls: Hulls, hfields: HeightFields, options: Options, touch: Touch,
        base: int, work: Workspace,
    ) -> int:  # fmt: skip
        """Write the contacts from slot ``base`` on, a prism each; return their number."""
        t = find_cells(over, hulls, hfields, ANYWHERE)
        width = 2 * hfields.ncol[t.field]
        shape = t.shape
        shape.margin = t.margin
        tolerance = real(options.ccd_tolerance)
        count = int(0)
        for r in range(t.cells[0], t.cells[1]):
            for k in range(2 * (t.cells[2] + 1), 2 * (t.cells[3] + 1)):
                if count < MOST:
                    s = prism(hfields, t.field, width * r + k, t.margin)
                    s.pos = apart
                    near = reaches_up(t, s)
                    if wp.static(not portal):
                        near = near and is_under(t, hulls, s)
                    if near:
                        d = signed_distance(hulls, s, shape, tolerance, options.ccd_iterations, ZERO, True, work)
                        if d.found and d.dist < ZERO:
                            pos, normal = contact(t, d)
                            dist = float(t.margin + d.dist)
                            emit(touch, w, base + count, dist, wp.vec3(pos), wp.vec3(normal), wp.vec3())
                            count += 1
        return count

    return collide_hfield_element
