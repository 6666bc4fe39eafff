"""Zones that are meshes: whether an object's frame is inside the convex hull of a site's mesh.

The hull is kept as half-spaces n.x + d < 0 in the site's frame, where the mesh stands as its file has it. A kernel of
its own, since few models have such sites and its arrays are no part of theirs.
"""

import numpy as np
import warp as wp

from kinema.compile import pose
from kinema.convex.access import access
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.sensors.zone import watched_point
from kinema.convex.stage import Stage
from kinema.convex.status import IDLE
from kinema.mujoco_enums import Geom, Sensor


@wp.kernel(enable_backward=False)
def inside_hulls(
    m: Model, d: Data, sensors: wp.array(dtype=int), start: wp.array(dtype=int), planes: wp.array(dtype=wp.vec4)
):
    """1 while the object is inside all half-spaces of the sensor's site."""
    w, k = wp.tid()
    i = sensors[k]
    site = m.sensor.refid[i]
    away = watched_point(m, d, w, i) - d.pose.site_xpos[w, site]
    x = wp.transpose(d.pose.site_xmat[w, site]) * away
    found = float(1.0)
    for p in range(start[k], start[k + 1]):
        plane = planes[p]
        if plane[0] * x[0] + plane[1] * x[1] + plane[2] * x[2] + plane[3] >= 0.0:
            found = 0.0
    if (d.state.status[w] & IDLE) == 0:
        d.sensor.sensordata[w, m.sensor.adr[i]] = found


def mesh_zones(m) -> np.ndarray:
    """The sensors whose site is a mesh, and which ask for the object's frame only."""
    kind, site = np.asarray(m.sensor_type), np.asarray(m.sensor_refid)
    candidates = np.flatnonzero((kind == Sensor.INSIDESITE) & (np.asarray(m.sensor_intprm)[:, 0] == 0))
    return candidates[np.asarray(m.site_type)[site[candidates]] == Geom.MESH]


def half_spaces(m, mesh: int) -> np.ndarray:
    """Planes (n, 4) of the hull of a mesh, in the frame its file has it in."""
    from scipy.spatial import ConvexHull  # imported on use: it takes a second

    return ConvexHull(placed_vertices(m, mesh)).equations


def placed_vertices(m, mesh: int) -> np.ndarray:
    """Vertices of a mesh, in the frame its file has it in."""
    first, count = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh])
    turn = np.array(pose.matrix(np.asarray(m.mesh_quat)[mesh].tolist())).reshape(3, 3)
    return np.asarray(m.mesh_vert, dtype=float)[first : first + count] @ turn.T + np.asarray(m.mesh_pos)[mesh]


def stage(m, device: wp.Device, nworld: int) -> Stage:
    """The readings of all sensors of mesh sites."""
    sensors = mesh_zones(m)
    planes = [half_spaces(m, int(m.site_dataid[int(m.sensor_refid[i])])) for i in sensors]
    start = np.cumsum([0, *(len(p) for p in planes)])
    with wp.ScopedDevice(device):
        arrays = [wp.array(sensors, dtype=int), wp.array(start, dtype=int), wp.array(np.vstack(planes), dtype=wp.vec4)]
    if device.is_cuda:  # no module may be loaded while a graph is captured
        inside_hulls.module.load(device)

    def launch(m: Model, d: Data) -> None:
        wp.launch(inside_hulls, (nworld, len(sensors)), [m, d, *arrays], device=device)

    return Stage(None, launch=launch, touches=access(inside_hulls))
