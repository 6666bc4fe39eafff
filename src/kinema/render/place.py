"""Before every picture: where items, cameras and lights are now.

The engine keeps worlds interleaved, which suits physics; a picture wants all items of one world side by side. Poses are
copied into [slot, item] rows, each item is bounded by a ball, and those of the tree by a box.
"""

import warp as wp

from kinema.math.quaternion import rotate
from kinema.mujoco_enums import Geom, Obj
from kinema.render.camera import Views, lens_of
from kinema.render.scene import Lights, Look, Placed
from kinema.render.shown import Shown


@wp.func
def ball_of(shape: int, size: wp.vec3, radius: float) -> float:
    """Radius of the ball about an item's centre."""
    if shape == Geom.PLANE or shape == Geom.SKIN:
        return 1.0e30
    if shape == Geom.SPHERE:
        return size[0]
    if shape == Geom.CAPSULE:
        return size[0] + size[2]
    if shape == Geom.CYLINDER:
        return wp.sqrt(size[0] * size[0] + size[2] * size[2])
    if shape == Geom.MESH or shape == Geom.SDF or shape == Geom.HFIELD:
        return radius
    return wp.length(size)


@wp.func
def upright(axis: wp.vec3) -> wp.mat33:
    """A frame whose z is the given unit vector."""
    x = wp.vec3(1.0, 0.0, 0.0)
    if wp.abs(axis[0]) > 0.9:
        x = wp.vec3(0.0, 1.0, 0.0)
    y = wp.normalize(wp.cross(axis, x))
    return wp.matrix_from_cols(wp.cross(y, axis), y, axis)


@wp.func
def semi_axes(shape: int, size: wp.vec3, drawn: wp.vec3) -> wp.vec3:
    """Semi-axes of a shape of MuJoCo's size; surfaces of triangles stay as they are drawn."""
    if shape == Geom.SPHERE:
        return wp.vec3(size[0], size[0], size[0])
    if shape == Geom.CAPSULE or shape == Geom.CYLINDER:
        return wp.vec3(size[0], size[0], size[1])
    if shape == Geom.ELLIPSOID or shape == Geom.BOX or shape == Geom.PLANE:
        return size
    return drawn


@wp.kernel(enable_backward=False)
def place_items(look: Look, shown: Shown, placed: Placed):
    """Copy an item's pose and size; a segment of a tendon, or of a rope, is a capsule between two points."""
    slot, i = wp.tid()
    w = placed.world[slot]
    owner = look.owner[i]
    kind = look.objtype[i]
    shape = look.shape[i]
    size = placed.size[slot, i]
    pos = wp.vec3()
    mat = wp.identity(n=3, dtype=float)
    surface = look.ball[i]
    if kind == Obj.GEOM:
        pos = shown.geom_xpos[w, owner]
        mat = shown.geom_xmat[w, owner]
        size = semi_axes(shape, shown.geom_size[w, owner], size)  # worlds may differ
        placed.size[slot, i] = size
    elif kind == Obj.SITE:
        pos = shown.site_xpos[w, owner]
        mat = shown.site_xmat[w, owner]
        size = semi_axes(shape, shown.site_size[w, owner], size)
        placed.size[slot, i] = size
    bound = ball_of(shape, size, surface[3])
    if kind == Obj.UNKNOWN:  # a decoration, placed from the host
        pos = placed.pos[slot, i]
        mat = placed.mat[slot, i]
        if size[0] <= 0.0:
            bound = -1.0
    elif kind == Obj.TENDON:
        bound = -1.0
        if look.segment[i] + 1 < shown.ten_wrapnum[w, owner]:
            a = shown.ten_wrapadr[w, owner] + look.segment[i]
            from_ = shown.wrap_xpos[w, a // 2, a % 2]
            to = shown.wrap_xpos[w, (a + 1) // 2, (a + 1) % 2]
            at = shown.wrap_obj[w, a // 2, a % 2]
            next = shown.wrap_obj[w, (a + 1) // 2, (a + 1) % 2]
            length = wp.length(to - from_)
            pos = 0.5 * (from_ + to)
            if at != -2 and next != -2 and length > 0.0:  # -2: a pulley, where the path is cut
                mat = upright((to - from_) / length)
                thick = look.width[i]
                if at >= 0 and next >= 0:  # inside what it wraps around
                    thick = 0.5 * thick
                size = wp.vec3(thick, thick, 0.5 * length)
                placed.size[slot, i] = size
                bound = thick + 0.5 * length
    elif kind == Obj.FLEX and shape == Geom.CAPSULE:
        a = look.ends[i][0]
        b = look.ends[i][1]
        from_ = shown.xpos[w, a] + rotate(shown.xquat[w, a], look.end_at[i, 0])
        to = shown.xpos[w, b] + rotate(shown.xquat[w, b], look.end_at[i, 1])
        length = wp.length(to - from_)
        pos = 0.5 * (from_ + to)
        if length > 0.0:
            mat = upright((to - from_) / length)
        size = wp.vec3(look.width[i], look.width[i], 0.5 * length)
        placed.size[slot, i] = size
        bound = look.width[i] + 0.5 * length
    placed.pos[slot, i] = pos
    placed.mat[slot, i] = mat
    centre = pos + mat @ wp.vec3(surface[0], surface[1], surface[2])
    placed.ball[slot, i] = wp.vec4(centre[0], centre[1], centre[2], bound)
    if i >= placed.listed:
        k = slot * (placed.count - placed.listed) + i - placed.listed
        if shape == Geom.MESH or shape == Geom.SDF or shape == Geom.HFIELD:
            size = look.half[i]
        half = wp.vec3()
        if bound > 0.0:
            half = box_of(shape, size, mat)
        placed.lower[k] = centre - half
        placed.upper[k] = centre + half


@wp.func
def box_of(shape: int, size: wp.vec3, mat: wp.mat33) -> wp.vec3:
    """Half sizes of the box around a shape that has been turned."""
    half = wp.vec3()
    for k in range(3):
        row = wp.vec3(mat[k, 0], mat[k, 1], mat[k, 2])
        scaled = wp.cw_mul(row, size)
        if shape == Geom.CAPSULE:
            half[k] = size[0] + wp.abs(scaled[2])
        elif shape == Geom.CYLINDER:
            half[k] = size[0] * wp.sqrt(row[0] * row[0] + row[1] * row[1]) + wp.abs(scaled[2])
        elif shape == Geom.SPHERE or shape == Geom.ELLIPSOID:
            half[k] = wp.length(scaled)
        else:
            half[k] = wp.abs(scaled[0]) + wp.abs(scaled[1]) + wp.abs(scaled[2])
    return half


@wp.kernel(enable_backward=False)
def place_views(placed: Placed, shown: Shown, views: Views):
    slot, c = wp.tid()
    w = placed.world[slot]
    camera = views.camera[c]
    if camera >= 0:
        views.pos[slot, c] = shown.cam_xpos[w, camera]
        views.mat[slot, c] = shown.cam_xmat[w, camera]
        views.lens[slot, c] = lens_of(
            shown.cam_fovy[w, camera], shown.cam_sensorsize[w, camera], shown.cam_intrinsic[w, camera], views.aspect,
            views.orthographic[c] != 0,
        )
    else:
        pos = views.free_pos[c]
        if views.body[c] >= 0:
            pos += shown.subtree_com[w, views.body[c]]
        views.pos[slot, c] = pos
        views.mat[slot, c] = views.free_mat[c]
        views.lens[slot, c] = lens_of(
            views.free_fovy[c], wp.vec2(), wp.vec4(), views.aspect, views.orthographic[c] != 0
        )


@wp.kernel(enable_backward=False)
def place_lights(placed: Placed, shown: Shown, lights: Lights):
    slot, i = wp.tid()
    w = placed.world[slot]
    lights.pos[slot, i] = shown.light_xpos[w, lights.id[i]]
    lights.dir[slot, i] = shown.light_xdir[w, lights.id[i]]
