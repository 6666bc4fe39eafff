"""Elastic forces of flexes: stretching of elements, bending of hinges; cells: corotation.py, rods: rod_force.py.

Elements of Stable Neo-Hookean solids have a law of their own: neohookean.py.

Stretching, of triangles and tetrahedra (Saint Venant-Kirchhoff on edges, Kharevych et al. 2006). With the squared edge
lengths s_e = l_e^2 of an element, rest values S_e and the stiffness K of the element between them,

    E = 1/4 (s - S)' K (s - S),   f_v = - sum over edges e of  (s - S)' K_e  ds_e/dx_v / 2,   ds_e/dx = +-2 (x_a - x_b)

Rayleigh's damping is the same force of the rate of s in place of s - S, times the coefficient: (s - s^-) / h with
s^- = (l - h dl/dt)^2, which is where the last step began as far as velocity tells.

Where an element yields (yielding.py), what it keeps of s - S is subtracted; where a hinge does, it is added to the
number for its rest shape.

Bending, of the hinge between two triangles that share an edge: four vertices, E = 1/2 x' B x per axis with a constant
B, and one number for a rest shape that is not flat. Its damping is B v times the coefficient, v in the world.

Forces are found element by element and hinge by hinge, then gathered point by point and dof by dof: nobody writes
what another adds to.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from kinema.convex.bundle import vec6
from kinema.convex.data import Data
from kinema.convex.flex.corotation import cell_force, cell_shape
from kinema.convex.flex.crease import crease_force
from kinema.convex.flex.elastic import (
    has_creases,
    has_neo_hookean,
    has_soft_cells,
    is_elastic,
    is_meshed,
    keeps_any_strain,
)
from kinema.convex.flex.element import edge_corners, kept, triangle_index
from kinema.convex.flex.neohookean import is_neo_hookean, neo_force, neo_shape
from kinema.convex.flex.rod_force import rod_force, torque_stages
from kinema.convex.flex.rods import has_rods
from kinema.convex.jacobian import point_motion
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.mujoco_enums import Disable

mat46 = wp.types.matrix((4, 6), wp.float32)


@wp.func
def stretch_force(m: Model, d: Data, w: int, e: int):
    """Forces of one element on its corners: of its spring, then of its damper."""
    adr = m.flex.elemlist[e][2]
    neo = is_neo_hookean(m, w, e)
    force = mat46()  # of each corner
    if adr >= 0 and not neo:
        corner = m.flex.elemvert[e]
        corners = wp.where(corner[3] >= 0, 4, 3)
        edges = wp.where(corners == 4, 6, 3)
        damping = m.flex.number[w, m.flex.elemlist[e][0]][1]
        strain = vec6()  # s - S
        rates = vec6()  # (s - s^-) / h
        for i in range(6):
            if i < edges:
                edge = m.flex.elemlist[e][3 + i]
                now = d.flex.edge_length[w, edge]
                rest = m.flex.edgenumber[w, edge][0]
                strain[i] = (now - rest) * (now + rest) - kept(m, d, w, e, i)
                rate = d.flex.edge_velocity[w, edge]
                rates[i] = rate * (2.0 * now - m.opt.timestep[w] * rate)
        for j in range(6):
            if j < edges:
                pull = float(0.0)  # (K (s - S))_j
                drag = float(0.0)  # (K (s - s^-) / h)_j
                for i in range(6):
                    if i < edges:
                        stiffness = m.flex.elastic[w, adr + triangle_index(edges, i, j)]
                        pull += stiffness * strain[i]
                        drag += stiffness * rates[i]
                ends = edge_corners(corners, j)
                along = d.flex.vert_xpos[w, corner[ends[0]]] - d.flex.vert_xpos[w, corner[ends[1]]]
                both = wp.spatial_vector(-pull * along, -damping * drag * along)
                force[ends[0]] += both
                force[ends[1]] -= both
    if not neo:
        for k in range(4):
            d.flex.part_force[w, 4 * e + k] = force[k]


@wp.func
def bend_force(m: Model, d: Data, w: int, h: int):
    """Forces of one hinge on its four vertices: of its spring, then of its damper."""
    corner = m.flex.hinge[h]
    adr = corner[5]
    damping = m.flex.number[w, corner[4]][1]
    x0 = d.flex.vert_xpos[w, corner[0]]
    e1 = d.flex.vert_xpos[w, corner[1]] - x0
    e2 = d.flex.vert_xpos[w, corner[2]] - x0
    e3 = d.flex.vert_xpos[w, corner[3]] - x0
    c1 = wp.cross(e2, e3)
    c2 = wp.cross(e3, e1)
    c3 = wp.cross(e1, e2)
    curved = m.flex.elastic[w, adr + 16] + kept(m, d, w, m.size.nflexelem + h, 0)
    for i in range(4):
        spring = curved * wp.where(i == 0, -(c1 + c2 + c3), wp.where(i == 1, c1, wp.where(i == 2, c2, c3)))
        damper = wp.vec3()
        for j in range(4):
            b = m.flex.elastic[w, adr + 4 * i + j]
            v = corner[j]
            spring += b * d.flex.vert_xpos[w, v]
            body = m.flex.point[v][1]
            arm = d.flex.vert_xpos[w, v] - d.inertia.subtree_com[w, m.body.rootid[body]]
            damper += b * point_motion(d.vel.cvel[w, body], arm)
        d.flex.part_force[w, 4 * (m.size.nflexelem + h) + i] = wp.spatial_vector(-spring, -damping * damper)


@wp.func
def point_force(m: Model, d: Data, w: int, p: int):
    """All elastic forces on one vertex or node."""
    sum = wp.spatial_vector()
    first = m.flex.bodypoint[m.size.nbody]  # corners follow the points of bodies
    if p > 0:
        first = m.flex.point[p - 1][2]
    for k in range(first, m.flex.point[p][2]):
        sum += d.flex.part_force[w, m.flex.bodypoint[k]]
    d.flex.point_force[w, p] = sum


@wp.func
def elastic_force(m: Model, d: Data, w: int, i: int):
    """qfrc_spring and qfrc_damper of dof i += the forces on all points it moves."""
    spring = float(0.0)
    damper = float(0.0)
    for b in range(m.dof.bodyid[i], m.dof.bodyend[i]):
        for k in range(m.flex.bodypoint[b], m.flex.bodypoint[b + 1]):
            p = m.flex.bodypoint[k]
            force = d.flex.point_force[w, p]
            place = m.flex.supportplace[w, m.flex.point[p][3]]
            x = d.pose.xpos[w, b] + d.pose.xmat[w, b] * wp.vec3(place[0], place[1], place[2])
            offset = x - d.inertia.subtree_com[w, m.body.rootid[b]]
            if p >= m.size.nflexvert and b != m.dof.bodyid[i] and m.flex.point[p][0] >= 0:
                force = wp.spatial_vector()  # MuJoCo lets a node push the dofs of its own body alone
            motion = point_motion(d.inertia.cdof[w, i], offset)
            spring += wp.dot(motion, wp.vec3(force[0], force[1], force[2]))
            damper += wp.dot(motion, wp.vec3(force[3], force[4], force[5]))
    if (m.opt.disableflags & Disable.SPRING) == 0:
        d.frc.qfrc_spring[w, i] = d.frc.qfrc_spring[w, i] + spring
    if (m.opt.disableflags & Disable.DAMPER) == 0:
        d.frc.qfrc_damper[w, i] = d.frc.qfrc_damper[w, i] + damper


# ---------------------------------------------------------------------------------------------- recipe


def stages(m: Any) -> list[Stage]:
    """Elastic forces."""
    shapes = [Stage(cell_shape, over="nflexcellnode")] if has_soft_cells(m) or keeps_any_strain(m) else []
    if not is_elastic(m):
        return shapes
    parts: dict[str, Any] = {"own": ("flexpart_force",), "apart": ("flexpart_force",)}
    found = []
    if is_meshed(m):
        found += [Stage(stretch_force, over="nflexelem", **parts), Stage(bend_force, over="nflexhinge", **parts)]
    if has_neo_hookean(m):
        found += [Stage(neo_shape, over="nflexelem"), Stage(neo_force, over="nflexelem", **parts)]
    if has_soft_cells(m):
        found += [Stage(cell_force, over="nflexcellnode", **parts)]
    if has_creases(m):
        found += [Stage(crease_force, over="nflexcrease", **parts)]
    if has_rods(m):
        found += [Stage(rod_force, over="nflexbend", **parts)]
    gather = [Stage(point_force, over="nflexpoint"), Stage(elastic_force, over="nv")]
    return [*shapes, *found, *gather, *torque_stages(m)]
