"""qDeriv += d qfrc_actuator / d qvel: an actuator whose force has slope b against its velocity adds b J^T J.

The slopes are computed with the actuators (actuation.slope_stages): those of forces held at a limit are 0.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model


@wp.func
def actuator_derivative(m: Model, d: Data, w: int):
    """qDeriv += the slopes of actuator forces, row by row of their moments (mjd_actuator_vel)."""
    for i in range(m.size.nactuator):
        slope = d.act.slope[w, i]
        if slope != 0.0:
            first = m.actuator.outadr[i]
            for out in range(first, first + m.actuator.outnum[i]):
                add_moment(m, d, w, d.act.moment_rowadr[w, out], d.act.moment_rownnz[w, out], slope)


@wp.func
def add_moment(m: Model, d: Data, w: int, first: int, nnz: int, slope: float):
    """qDeriv += slope J^T J for one row of the moment; pairs of unrelated dofs are left out, as in MuJoCo."""
    end = first + nnz
    for r in range(first, end):
        i = d.act.moment_colind[w, r]
        value = slope * d.act.moment[w, r]
        c = int(first)
        for a in range(m.dof.D_rowadr[i], m.dof.D_rowadr[i] + m.dof.D_rownnz[i]):
            while c < end and d.act.moment_colind[w, c] < m.dof.D_colind[a]:
                c += 1
            if c < end and d.act.moment_colind[w, c] == m.dof.D_colind[a]:
                d.inertia.qDeriv[w, a] = d.inertia.qDeriv[w, a] + value * d.act.moment[w, c]
