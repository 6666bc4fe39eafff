"""Damping from a damping ratio: k_d = 2 ζ √(k_p m), with m the inertia the actuator feels through its transmission."""

from __future__ import annotations

import numpy as np

from kinema.compile.constants.enums import MINVAL, Gain

Array = np.ndarray


def damping_from_ratio(m, rows: Array, inertia: Array) -> Array:
    """actuator_biasprm with positive biasprm[2] of position-like actuators (a ratio) replaced by -damping.

    Args:
        rows: Moment rows at qpos0, (nout, nv).
        inertia: dof_M0, (nv,).
    """
    bias = np.array(m.actuator_biasprm, dtype=float)
    gain = np.asarray(m.actuator_gainprm)
    for i in range(m.nactuator):
        pid = m.actuator_gaintype[i] == Gain.PID
        if bias[i, 2] <= 0 or (not pid and gain[i, 0] != -bias[i, 1]):
            continue
        squared = rows[m.actuator_outadr[i]] ** 2
        felt = squared > MINVAL
        reflected = np.sum(inertia[felt] / squared[felt])
        stiffness = -bias[i, 1] if pid else gain[i, 0]
        bias[i, 2] = -bias[i, 2] * 2.0 * np.sqrt(stiffness * reflected)
    return bias
