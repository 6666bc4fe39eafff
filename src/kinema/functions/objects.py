"""Velocities and accelerations of bodies, geoms, sites and cameras.

    of a body, at its tree's centre of mass c    cvel = (w, v),  cacc = (w', v')     the world's cacc is -gravity
    of an object of it, at p                     w,   v + w x (p - c)
    acceleration there                           w',  v' + w' x (p - c) + w x (v + w x (p - c))
"""

from typing import Any, NamedTuple

import numpy as np
import warp as wp

from kinema.convex.jacobian import point_motion
from kinema.convex.velocity import velocity_at
from kinema.engine import Engine
from kinema.errors import UnknownKey, WrongKind, did_you_mean
from kinema.math.spatial import angular, linear
from kinema.mujoco_enums import Obj


class Frame(NamedTuple):
    """Where objects of a kind are: the kind of element they are, and fields of position, axes and body."""

    element: str
    position: str
    axes: str
    body: str = ""


FRAMES = {
    Obj.BODY: Frame("body", "xipos", "ximat"), Obj.XBODY: Frame("body", "xpos", "xmat"),
    Obj.GEOM: Frame("geom", "geom_xpos", "geom_xmat", "geom_bodyid"),
    Obj.SITE: Frame("site", "site_xpos", "site_xmat", "site_bodyid"),
    Obj.CAMERA: Frame("camera", "cam_xpos", "cam_xmat", "cam_bodyid"),
}  # fmt: skip
"""Objects that have a frame; a body as such is where its mass is, "xbody" where its own frame is."""


def kind_of(kind: Any) -> Obj:
    """A kind of object that has a frame, by its name or number."""
    names = {found.name.lower(): found for found in FRAMES}
    if isinstance(kind, str):
        if kind.lower() in names:
            return names[kind.lower()]
        raise UnknownKey(f"objtype={kind!r}{did_you_mean(kind, names)}: objects with a frame are {', '.join(names)}")
    if int(kind) not in set(FRAMES):
        raise WrongKind(f"objtype={kind!r} has no frame of its own; objects that have one are {', '.join(names)}")
    return Obj(int(kind))


def bodies_of(model: Any, kind: Obj, ids: list[int]) -> list[int]:
    """The bodies that objects belong to."""
    field = FRAMES[kind].body
    return np.asarray(getattr(model, field))[ids].tolist() if field else ids


@wp.struct
class Motion:
    """Where objects are, and what their bodies' velocities are about."""

    rootid: wp.array(dtype=int)
    subtree_com: wp.array2d(dtype=wp.vec3)
    cvel: wp.array2d(dtype=wp.spatial_vector)
    cacc: wp.array2d(dtype=wp.spatial_vector)
    position: wp.array2d(dtype=wp.vec3)
    axes: wp.array2d(dtype=wp.mat33)


@wp.kernel(enable_backward=False)
def _motions(
    motion: Motion, obj: wp.array(dtype=int), body: wp.array(dtype=int), order: int, local: int,
    out: wp.array2d(dtype=wp.spatial_vector),
):  # fmt: skip
    w, k = wp.tid()
    com = motion.subtree_com[w, motion.rootid[body[k]]]
    point = motion.position[w, obj[k]]
    found = velocity_at(motion.cvel[w, body[k]], com, point)
    if order == 2:
        carried = wp.cross(angular(found), linear(found))
        acc = motion.cacc[w, body[k]]
        found = wp.spatial_vector(angular(acc), point_motion(acc, point - com) + carried)
    if local != 0:
        inverse = wp.transpose(motion.axes[w, obj[k]])
        found = wp.spatial_vector(inverse * angular(found), inverse * linear(found))
    out[w, k] = found


def object_motions(engine: Engine, kind: Obj, ids: list[int], order: int, local: bool) -> wp.array:
    """Velocities (order 1) or accelerations (order 2) of objects, (nworld, n) of (angular, linear)."""
    frame, motion = FRAMES[kind], Motion()
    arrays = {name: engine.current(name) for name in ("subtree_com", "cvel", frame.position, frame.axes)}
    motion.rootid = rootid = wp.array(np.asarray(engine.source.body_rootid), dtype=int, device=engine.device)
    motion.subtree_com, motion.cvel = arrays["subtree_com"], arrays["cvel"]
    motion.position, motion.axes = arrays[frame.position], arrays[frame.axes]
    motion.cacc = engine.current("cacc") if order == 2 else arrays["cvel"]
    body = wp.array(bodies_of(engine.source, kind, ids), dtype=int, device=engine.device)
    out = wp.zeros((engine.nworld, len(ids)), dtype=wp.spatial_vectorf, device=engine.device)
    inputs = [motion, wp.array(ids, dtype=int, device=engine.device), body, order, int(local)]
    wp.launch(_motions, out.shape, inputs, [out], device=engine.device)
    del rootid  # lived as long as the launch: a struct does not own its arrays
    return out
