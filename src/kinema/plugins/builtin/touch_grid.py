"""mujoco.sensor.touch_grid: contact forces on the body of a site, binned by the direction they are seen in from it.

A contact at p in the site's frame has azimuth atan2(x, -z) and elevation atan2(y, |(x, z)|). Bins are (low, high], with
edges (gamma t^5 + (1 - gamma) t) fov, t from -1 to 1: finer in the middle for gamma > 0. Channels are normal and two
tangential forces, then the torques about the same axes, all in the site's frame: z, x, y. Values lie channel by
channel, then row by row (elevation).
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.loads import contact_force
from kinema.convex.model import Model
from kinema.errors import PluginError
from kinema.mujoco_enums import Obj
from kinema.plugins import P, field, plugin


@wp.func
def edge(k: int, n: int, fov: float, gamma: float) -> float:
    """Angle of edge k of n bins."""
    t = -1.0 + 2.0 * float(k) / float(n)
    return (gamma * t * t * t * t * t + (1.0 - gamma) * t) * fov


@wp.func
def bin_of(value: float, n: int, fov: float, gamma: float) -> int:
    """The bin a value lies in; -1: none."""
    found = int(-1)
    if value > -fov:
        k = int(1)
        while k <= n and found < 0:
            if value <= edge(k, n, fov, gamma):
                found = k - 1
            k += 1
    return found


@plugin("mujoco.sensor.touch_grid")
class TouchGrid:
    """Channels, bins across and up, half angles of the field of view in degrees, and how much finer the middle is."""

    nchannel: int = field(1, min=0, max=6)
    size: tuple[int, int] = field(required=True, min=1)
    fov: tuple[float, float] = field(required=True, above=0.0, max=180.0)
    gamma: float = field(0.0, min=0.0, max=1.0)

    needstage = "acc"
    needs_owner = True
    needs_loads = False

    def check(self) -> str | None:
        return "fov must be at most 90 degrees vertically" if self.fov[1] > 90 else None

    def nsensordata(self) -> int:
        return (self.nchannel or 1) * self.size[0] * self.size[1]

    def init(self, model, instance) -> None:
        for sensor in instance.sensors:
            if model.sensor_objtype[sensor] != Obj.SITE:
                raise PluginError(f"plugin mujoco.sensor.touch_grid: sensor {sensor} must be attached to a site")

    @wp.func
    def compute_sensor(m: Model, d: Data, w: int, instance: int, p: P):
        i = m.plugin.sensorid[m.plugin.sensoradr[instance]]
        if m.plugin.sensornum[instance] > 0:  # an instance serves the first sensor that refers to it
            adr = m.sensor.adr[i]
            for k in range(m.sensor.dim[i]):
                d.sensor.sensordata[w, adr + k] = 0.0
            site = m.sensor.objid[i]
            weld = m.body.weldid[m.site.bodyid[site]]  # what the site is part of, however many bodies that is
            pos = d.pose.site_xpos[w, site]
            to_site = wp.transpose(d.pose.site_xmat[w, site])
            nx = p.size[0]
            ny = p.size[1]
            fov_x = wp.radians(p.fov[0])
            fov_y = wp.radians(p.fov[1])
            for c in range(d.con.ncon[w]):
                geoms = d.con.geom[w, c]
                body1 = m.geom.bodyid[wp.max(geoms[0], 0)]
                body2 = m.geom.bodyid[wp.max(geoms[1], 0)]
                if wp.min(geoms) < 0:  # a side is of a flex
                    continue
                if m.body.weldid[body1] == weld or m.body.weldid[body2] == weld:
                    at = to_site * (d.con.pos[w, c] - pos)
                    column = bin_of(wp.atan2(at[0], -at[2]), nx, fov_x, p.gamma)
                    row = bin_of(wp.atan2(at[1], wp.sqrt(at[0] * at[0] + at[2] * at[2])), ny, fov_y, p.gamma)
                    if column >= 0 and row >= 0:
                        local = contact_force(
                            d.efc.force, w, d.crow.address[w, c], d.con.dim[w, c], m.opt.cone, d.con.friction[w, c],
                            d.con.adhesion[w, c],
                        )  # fmt: skip
                        turn = to_site * wp.transpose(d.con.frame[w, c])
                        if m.body.weldid[body1] == weld:  # forces are those on the second
                            turn = -1.0 * turn
                        force = turn * wp.vec3(local[0], local[1], local[2])
                        torque = turn * wp.vec3(local[3], local[4], local[5])
                        for channel in range(wp.max(p.nchannel, 1)):
                            axis = (channel + 2) % 3
                            value = force[axis]
                            if channel >= 3:
                                value = torque[axis]
                            to = adr + (channel * ny + row) * nx + column
                            d.sensor.sensordata[w, to] = d.sensor.sensordata[w, to] + value
