"""Tactile sensors: how deep the vertices of a mesh (taxels) are in what touches their body, and how it slides there.

The mesh stands in the frame of a geom. What counts are the geoms in contact with that geom's body or what is welded to
it, each by its distance function: primitives and signed distance fields; meshes and height fields have none. Of a
sensor of n taxels the readings are n depths, the greatest over all geoms (0: outside), then n speeds along the first
tangent of the taxels and n along the second, summed over the geoms they are in; speeds only where the mesh has three
normals a vertex, a normal and two tangents.

There are many taxels, so these are kernels of their own: which geoms touch a sensor, then one thread a taxel.
"""

from functools import cache

import numpy as np
import warp as wp

from kinema.arrays import one_of
from kinema.collide.precision import real, vec3r
from kinema.collide.sdf import Fields, primitive_distance
from kinema.convex.access import access
from kinema.convex.data import Data
from kinema.convex.jacobian import point_motion
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.convex.status import IDLE
from kinema.mujoco_enums import Geom, Sensor


@wp.struct
class Taxels:
    """The taxels of all tactile sensors of a model."""

    sensor: wp.array(dtype=int)  # (n,) tactile sensors
    geom: wp.array(dtype=int)  # (n,) geom whose frame the mesh stands in
    owner: wp.array(dtype=int)  # (taxels,) number of the taxel's sensor among these
    index: wp.array(dtype=int)  # (taxels,) number of the taxel in its sensor
    count: wp.array(dtype=int)  # (n,) taxels of the sensor
    framed: wp.array(dtype=int)  # (n,) 1: taxels have tangents
    pos: wp.array(dtype=wp.vec3)  # (taxels,) in the geom's frame
    tangent1: wp.array(dtype=wp.vec3)  # (taxels,)
    tangent2: wp.array(dtype=wp.vec3)  # (taxels,)
    touched: wp.array3d(dtype=int)  # (nworld, n, ngeom) 1: the geom touches the sensor's body


@wp.kernel(enable_backward=False)
def find_touched(m: Model, d: Data, given: wp.array(dtype=Taxels)):
    """Which geoms are in contact with each sensor's body; taxels are an array of one: kernels take 32 kB at most."""
    w, s = wp.tid()
    taxels = given[0]
    weld = m.body.weldid[m.geom.bodyid[taxels.geom[s]]]
    for g in range(m.size.ngeom):
        taxels.touched[w, s, g] = 0
    for c in range(d.con.ncon[w]):
        geoms = d.con.geom[w, c]
        if geoms[0] >= 0 and geoms[1] >= 0:
            if m.body.weldid[m.geom.bodyid[geoms[0]]] == weld:
                taxels.touched[w, s, geoms[1]] = 1
            if m.body.weldid[m.geom.bodyid[geoms[1]]] == weld:
                taxels.touched[w, s, geoms[0]] = 1


@wp.func
def no_field(kind: int, x: wp.vec3d, parameters: wp.array(dtype=float)) -> wp.float64:
    """The distance functions of a model that has none."""
    return wp.float64(0.0)


@cache
def read_taxels(distance: wp.Function) -> wp.Kernel:
    """The kernel that reads taxels, given the distance functions of all fields of the model."""

    @wp.kernel(enable_backward=False, module="unique")
    def read(m: Model, d: Data, given: wp.array(dtype=Taxels)):
        w, k = wp.tid()
        taxels = given[0]
        s = taxels.owner[k]
        own = taxels.geom[s]
        weld = m.body.weldid[m.geom.bodyid[own]]
        at = d.pose.geom_xpos[w, own] + d.pose.geom_xmat[w, own] * taxels.pos[k]
        moves = point_motion(d.vel.cvel[w, weld], at - d.inertia.subtree_com[w, m.body.rootid[weld]])
        deepest = float(0.0)
        slide1 = float(0.0)
        slide2 = float(0.0)
        for g in range(m.size.ngeom):
            kind = m.geom.type[g]
            if taxels.touched[w, s, g] != 0 and kind != Geom.MESH and kind != Geom.HFIELD:
                x = vec3r(wp.transpose(d.pose.geom_xmat[w, g]) * (at - d.pose.geom_xpos[w, g]))
                dist = real(0.0)
                if kind == Geom.SDF:
                    geoms = m.collision.geoms
                    dist = distance(geoms.field_kind[g], x, geoms.field_parameters[w, g])
                else:
                    dist = primitive_distance(kind, x, vec3r(m.geom.size[w, g]))
                if dist < real(0.0):
                    deepest = wp.max(deepest, -float(dist))
                    body = m.geom.bodyid[g]
                    lever = at - d.inertia.subtree_com[w, m.body.rootid[body]]
                    slip = wp.transpose(d.pose.geom_xmat[w, own]) * (moves - point_motion(d.vel.cvel[w, body], lever))
                    slide1 += wp.abs(wp.dot(slip, taxels.tangent1[k]))
                    slide2 += wp.abs(wp.dot(slip, taxels.tangent2[k]))
        if (d.state.status[w] & IDLE) == 0:
            count = taxels.count[s]
            to = m.sensor.adr[taxels.sensor[s]] + taxels.index[k]
            d.sensor.sensordata[w, to] = deepest
            if taxels.framed[s] != 0:
                d.sensor.sensordata[w, to + count] = slide1
                d.sensor.sensordata[w, to + 2 * count] = slide2

    return read


def taxels_of(m, nworld: int) -> Taxels:
    """The taxels of a model, on the current device."""
    sensors = np.flatnonzero(np.asarray(m.sensor_type) == Sensor.TACTILE)
    columns: dict[str, list] = {name: [] for name in ("owner", "index", "pos", "tangent1", "tangent2")}
    count, framed = [], []
    for s, sensor in enumerate(sensors):
        mesh = int(m.sensor_objid[sensor])
        number, first = int(m.mesh_vertnum[mesh]), int(m.mesh_vertadr[mesh])
        count.append(number)
        framed.append(int(int(m.mesh_normalnum[mesh]) == 3 * number))
        columns["owner"].append(np.full(number, s))
        columns["index"].append(np.arange(number))
        columns["pos"].append(np.asarray(m.mesh_vert)[first : first + number])
        normals = np.zeros((number, 3, 3))
        if framed[-1]:
            begin = int(m.mesh_normaladr[mesh])
            normals = np.asarray(m.mesh_normal)[begin : begin + 3 * number].reshape(number, 3, 3)
        columns["tangent1"].append(normals[:, 1])
        columns["tangent2"].append(normals[:, 2])
    taxels = Taxels()
    taxels.sensor = wp.array(sensors, dtype=int)
    taxels.geom = wp.array(np.asarray(m.sensor_refid)[sensors], dtype=int)
    taxels.count, taxels.framed = wp.array(count, dtype=int), wp.array(framed, dtype=int)
    for name, parts in columns.items():
        kind = int if name in ("owner", "index") else wp.vec3
        setattr(taxels, name, wp.array(np.concatenate(parts), dtype=kind))
    taxels.touched = wp.zeros((nworld, len(sensors), int(m.ngeom)), dtype=int)
    return taxels


def stage(m, device: wp.Device, nworld: int, fields: Fields | None) -> Stage:
    """The readings of all tactile sensors of a model."""
    kernel = read_taxels(no_field if fields is None else fields.distance)
    with wp.ScopedDevice(device):
        taxels = taxels_of(m, nworld)
        one = one_of(taxels, Taxels)
        if device.is_cuda:  # no module may be loaded while a graph is captured
            wp.load_module(__name__, device=device)
            kernel.module.load(device)

    def launch(m: Model, d: Data) -> None:
        wp.launch(find_touched, (nworld, taxels.sensor.shape[0]), [m, d, one], device=device)
        wp.launch(kernel, (nworld, taxels.owner.shape[0]), [m, d, one], device=device)

    return Stage(None, launch=launch, touches=access(find_touched) | access(kernel))
