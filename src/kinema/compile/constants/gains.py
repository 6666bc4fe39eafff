"""Damping from a damping ratio: k_d = 2 ζ √(k_p m), with m = (J M⁻¹ Jᵀ)⁻¹ the inertia felt through the transmission."""

from __future__ import annotations

import numpy as np

from kinema.mujoco_enums import MINVAL, Gain

Array = np.ndarray


def damping_from_ratio(m, inverse_weight: Array) -> Array:
    """actuator_biasprm with positive biasprm[2] of position-like actuators (a ratio) replaced by -damping.

    Args:
        inverse_weight: J M⁻¹ Jᵀ of each output at qpos0, (nout,); averaged over the outputs of one actuator.
    """
    bias = np.array(m.actuator_biasprm, dtype=float)
    gain = np.asarray(m.actuator_gainprm)
    for i in range(m.nactuator):
        pid = m.actuator_gaintype[i] == Gain.PID
        if bias[i, 2] <= 0 or (not pid and gain[i, 0] != -bias[i, 1]):
            continue
        adr = int(m.actuator_outadr[i])
        weight = inverse_weight[adr : adr + int(m.actuator_outnum[i])].mean()
        reflected = 1.0 / weight if weight > MINVAL else 0.0
        stiffness = -bias[i, 1] if pid else gain[i, 0]
        with np.errstate(invalid="ignore"):  # a negative stiffness gives no number, as in MuJoCo
            bias[i, 2] = -bias[i, 2] * 2.0 * np.sqrt(stiffness * reflected)
    return bias
