"""What a picture takes from the engine, whichever engine it is."""

import warp as wp

from kinema.convex.bundle import bundle, data, param


@bundle()
class Shown:
    """The engine's arrays that a picture is made of, [world, ...]."""

    xpos: data(dtype=wp.vec3)
    xquat: data(dtype=wp.vec4)
    geom_xpos: data(dtype=wp.vec3)
    geom_xmat: data(dtype=wp.mat33)
    site_xpos: data(dtype=wp.vec3)
    site_xmat: data(dtype=wp.mat33)
    cam_xpos: data(dtype=wp.vec3)
    cam_xmat: data(dtype=wp.mat33)
    light_xpos: data(dtype=wp.vec3)
    light_xdir: data(dtype=wp.vec3)
    subtree_com: data(dtype=wp.vec3)
    ten_wrapadr: data(dtype=int)
    ten_wrapnum: data(dtype=int)
    wrap_obj: data("nwrap", 2, dtype=int)
    wrap_xpos: data("nwrap", 2, dtype=wp.vec3)
    cam_fovy: param()
    cam_intrinsic: param(dtype=wp.vec4)
    cam_sensorsize: param(dtype=wp.vec2)
    geom_size: param(dtype=wp.vec3)
    site_size: param(dtype=wp.vec3)
