"""qDeriv += d qfrc_actuator / d qvel: an actuator whose force has slope b against its velocity adds b J^T J.

The slopes are computed with the actuators (actuation.slope_stages): those of forces held at a limit are 0.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model


@wp.func
def actuator_derivative(m: Model, d: Data, w: int, i: int):
    """Row i of qDeriv += the slopes of the forces of actuators on dof i (mjd_actuator_vel).

    Pairs of unrelated dofs are left out, as in MuJoCo.
    """
    row = m.dof.D_rowadr[i]
    end = row + m.dof.D_rownnz[i]
    adr = m.dof.momentadr[i]
    for k in range(adr, adr + m.dof.momentnum[i]):
        slope = d.act.slope[w, m.dof.momentactuator[k]]
        if slope != 0.0:
            value = slope * d.act.moment[w, m.dof.momententry[k]]
            c = d.act.moment_rowadr[w, m.dof.momentout[k]]
            last = c + d.act.moment_rownnz[w, m.dof.momentout[k]]
            for a in range(row, end):
                while c < last and d.act.moment_colind[w, c] < m.dof.D_colind[a]:
                    c += 1
                if c < last and d.act.moment_colind[w, c] == m.dof.D_colind[a]:
                    d.inertia.qDeriv[w, a] = d.inertia.qDeriv[w, a] + value * d.act.moment[w, c]


@wp.func
def actuator_diagonal(m: Model, d: Data, w: int, i: int):
    """The same where actuators drive one dof each."""
    a = m.dof.D_rowadr[i] + m.dof.D_diag[i]
    sum = d.inertia.qDeriv[w, a]
    for k in range(m.dof.momentadr[i], m.dof.momentadr[i] + m.dof.momentnum[i]):
        moment = d.act.moment[w, m.dof.momententry[k]]
        sum += d.act.slope[w, m.dof.momentactuator[k]] * moment * moment
    d.inertia.qDeriv[w, a] = sum
