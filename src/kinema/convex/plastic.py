"""Springs that yield: stretched beyond `springyield`, they take their rest position along, and keep it.

The rest positions are state, `plastic`: of a hinge or slide a number, of a ball a quaternion, of a tendon two lengths.
"""

import numpy as np
import warp as wp

from kinema.convex.data import Data
from kinema.convex.kinematics import qpos_quat
from kinema.convex.model import Model
from kinema.math.quaternion import integrate, sub_quat
from kinema.mujoco_enums import Joint, Wrap


def initial(m) -> np.ndarray:
    """The rest positions of the model."""
    plastic = np.zeros(m.nplastic)
    for j, adr in enumerate(m.jnt_plasticadr):
        if adr >= 0:
            size = 4 if m.jnt_type[j] == Joint.BALL else 1
            start = m.jnt_qposadr[j]
            plastic[adr : adr + size] = m.qpos_spring[start : start + size]
    for t, adr in enumerate(m.tendon_plasticadr):
        if adr >= 0:
            plastic[adr : adr + 2] = m.tendon_lengthspring[t]
    return plastic


@wp.func
def yield_springs(m: Model, d: Data, w: int):
    """Springs stretched beyond their yield take their rest position along; runs after `advance`."""
    h = m.opt.timestep[w]
    for j in range(m.size.njnt):
        rest = m.jnt.plasticadr[j]
        if rest >= 0:
            limit = wp.max(0.0, m.jnt.springyield[w, j])
            a = m.jnt.qposadr[j]
            if m.jnt.type[j] == Joint.BALL:
                zero = wp.vec4(
                    d.state.plastic[w, rest],
                    d.state.plastic[w, rest + 1],
                    d.state.plastic[w, rest + 2],
                    d.state.plastic[w, rest + 3],
                )
                turn = sub_quat(qpos_quat(d.state.qpos, w, a), zero)
                angle = wp.length(turn)
                if angle > limit:
                    zero = integrate(zero, turn, (angle - limit) / angle)
                    for c in range(4):
                        d.state.plastic[w, rest + c] = zero[c]
            else:
                q = d.state.qpos[w, a]
                d.state.plastic[w, rest] = wp.clamp(d.state.plastic[w, rest], q - limit, q + limit)
    for t in range(m.size.ntendon):
        rest = m.tendon.plasticadr[t]
        if rest >= 0:
            yield_tendon(m, d, w, t, rest, h)


@wp.func
def yield_tendon(m: Model, d: Data, w: int, t: int, rest: int, h: float):
    """The slack range of a tendon's spring follows the length it will have after the step."""
    limit = wp.max(0.0, m.tendon.springyield[w, t])
    first = m.tendon.adr[t]
    length = float(0.0)
    if m.tendon.wrap_type[first] == Wrap.JOINT:
        for k in range(first, first + m.tendon.num[t]):
            length += m.tendon.wrap_prm[w, k] * d.state.qpos[w, m.jnt.qposadr[m.tendon.wrap_objid[k]]]
    else:
        rate = float(0.0)
        row = m.tendon.ten_J_rowadr[t]
        for a in range(row, row + m.tendon.ten_J_rownnz[t]):
            rate += d.ten.J[w, a] * d.state.qvel[w, m.tendon.ten_J_colind[a]]
        length = d.ten.length[w, t] + h * rate
    lower = d.state.plastic[w, rest]
    upper = d.state.plastic[w, rest + 1]
    if length - upper > limit:
        shift = length - upper - limit
        if lower != 0.0 or upper <= 0.0:  # a lower end at zero is none: a cable that only pulls
            d.state.plastic[w, rest] = lower + shift
        d.state.plastic[w, rest + 1] = upper + shift
    elif lower - length > limit:
        shift = lower - length - limit
        d.state.plastic[w, rest] = lower - shift
        d.state.plastic[w, rest + 1] = upper - shift
