"""Contact parameters of a geom pair.

Explicit pairs bring their own. Otherwise the geom of higher priority decides condim, friction, solref, solimp and
adhesion alone; at equal priority condim and friction take the larger value, adhesion the sum, and solref and solimp are
averaged with the weights solmix (element-wise minimum where a solref is not positive, that is in direct format). Margin
and gap are always summed. Friction (slide, spin, roll) becomes (slide, slide, spin, roll, roll).
"""

from typing import NamedTuple

import numpy as np
import warp as wp

from kinema.collide.bundles import GeomParameters, Pairs, vec5
from kinema.mujoco_enums import MINVAL, Enable

MINMU = 1e-5  # mjMINMU, smallest friction coefficient


class PairParameters(NamedTuple):
    """Parameters of npair contacts; leading axis npair."""

    condim: np.ndarray
    margin: np.ndarray
    gap: np.ndarray
    friction: np.ndarray
    solref: np.ndarray
    solreffriction: np.ndarray
    solimp: np.ndarray
    adhesion: np.ndarray


def solver_weight(mix1: np.ndarray, mix2: np.ndarray) -> np.ndarray:
    """Weight of the first geom in averages, from the two solmix; a half each when both vanish."""
    small1, small2 = mix1 < MINVAL, mix2 < MINVAL
    total = np.where(small1 & small2, 1.0, mix1 + mix2)
    return np.select([small1 & small2, small1, small2], [0.5, 0.0, 1.0], mix1 / total)


def mix_parameters(m, geom1: np.ndarray, geom2: np.ndarray) -> PairParameters:
    """Parameters of pairs of geoms, from an object with mjModel's ``geom_`` arrays."""
    g1, g2 = np.asarray(geom1, int), np.asarray(geom2, int)
    first = m.geom_priority[g1] > m.geom_priority[g2]
    second = m.geom_priority[g1] < m.geom_priority[g2]

    def choose(a: np.ndarray, b: np.ndarray, mixed: np.ndarray) -> np.ndarray:
        shape = (-1,) + (1,) * (a.ndim - 1)
        return np.where(first.reshape(shape), a, np.where(second.reshape(shape), b, mixed))

    weight = solver_weight(m.geom_solmix[g1], m.geom_solmix[g2])[:, None]
    ref1, ref2 = m.geom_solref[g1], m.geom_solref[g2]
    imp1, imp2 = m.geom_solimp[g1], m.geom_solimp[g2]
    fri1, fri2 = m.geom_friction[g1], m.geom_friction[g2]
    standard = (ref1[:, :1] > 0) & (ref2[:, :1] > 0)
    mixed_ref = np.where(standard, weight * ref1 + (1 - weight) * ref2, np.minimum(ref1, ref2))
    friction = choose(fri1, fri2, np.maximum(fri1, fri2))
    adhesion = getattr(m, "geom_adhesion", np.zeros(m.ngeom))
    return PairParameters(
        condim=choose(m.geom_condim[g1], m.geom_condim[g2], np.maximum(m.geom_condim[g1], m.geom_condim[g2])),
        margin=m.geom_margin[g1] + m.geom_margin[g2],
        gap=m.geom_gap[g1] + m.geom_gap[g2],
        friction=friction[:, [0, 0, 1, 2, 2]],
        solref=choose(ref1, ref2, mixed_ref),
        solreffriction=np.zeros((len(g1), 2)),
        solimp=choose(imp1, imp2, weight * imp1 + (1 - weight) * imp2),
        adhesion=choose(adhesion[g1], adhesion[g2], adhesion[g1] + adhesion[g2]),
    )


def explicit_parameters(m, pair: np.ndarray) -> PairParameters:
    """Parameters of explicit pairs, which inherit nothing from their geoms."""
    p = np.asarray(pair, int)
    return PairParameters(
        condim=m.pair_dim[p],
        margin=m.pair_margin[p],
        gap=m.pair_gap[p],
        friction=m.pair_friction[p],
        solref=m.pair_solref[p],
        solreffriction=m.pair_solreffriction[p],
        solimp=m.pair_solimp[p],
        adhesion=getattr(m, "pair_adhesion", np.zeros(m.npair))[p],
    )


def override_parameters(m, p: PairParameters) -> PairParameters:
    """Replace margin, solref, solimp and friction by the options' values when the override flag is set.

    Friction is bounded from below in any case.
    """
    if not int(m.opt.enableflags) & Enable.OVERRIDE:
        return p._replace(friction=np.maximum(MINMU, p.friction))
    n = len(p.condim)
    return p._replace(
        margin=np.full(n, float(m.opt.o_margin)),
        solref=np.tile(np.asarray(m.opt.o_solref, float), (n, 1)),
        solreffriction=np.tile(np.asarray(m.opt.o_solref, float), (n, 1)),
        solimp=np.tile(np.asarray(m.opt.o_solimp, float), (n, 1)),
        friction=np.maximum(MINMU, np.tile(np.asarray(m.opt.o_friction, float), (n, 1))),
    )


@wp.func
def weight_of_first(mix1: float, mix2: float) -> float:
    """Weight of the first geom in averages, from the two solmix."""
    if mix1 < MINVAL and mix2 < MINVAL:
        return 0.5
    if mix1 < MINVAL:
        return 0.0
    if mix2 < MINVAL:
        return 1.0
    return mix1 / (mix1 + mix2)


@wp.func
def mixed_condim(g: GeomParameters, g1: int, g2: int) -> int:
    """Contact dimension of two geoms."""
    if g.priority[g1] > g.priority[g2]:
        return g.condim[g1]
    if g.priority[g1] < g.priority[g2]:
        return g.condim[g2]
    return wp.max(g.condim[g1], g.condim[g2])


@wp.func
def mixed_parameters(g: GeomParameters, w: int, g1: int, g2: int):
    """Friction, solref, solimp and adhesion of two geoms in world w."""
    fri = g.friction[w, g1]
    ref = g.solref[w, g1]
    imp = g.solimp[w, g1]
    adhesion = g.adhesion[w, g1]
    if g.priority[g1] < g.priority[g2]:
        fri = g.friction[w, g2]
        ref = g.solref[w, g2]
        imp = g.solimp[w, g2]
        adhesion = g.adhesion[w, g2]
    elif g.priority[g1] == g.priority[g2]:
        ref2 = g.solref[w, g2]
        k = weight_of_first(g.solmix[w, g1], g.solmix[w, g2])
        if ref[0] > 0.0 and ref2[0] > 0.0:
            ref = k * ref + (1.0 - k) * ref2
        else:
            ref = wp.min(ref, ref2)
        imp = k * imp + (1.0 - k) * g.solimp[w, g2]
        fri = wp.max(fri, g.friction[w, g2])
        adhesion = adhesion + g.adhesion[w, g2]
    fri = wp.max(fri, wp.vec3(MINMU))
    return vec5(fri[0], fri[0], fri[1], fri[2], fri[2]), ref, imp, adhesion


@wp.kernel(enable_backward=False)
def mix_pairs(g: GeomParameters, implicit: wp.array(dtype=int), pairs: Pairs):
    """Recompute the parameters of the pairs listed in ``implicit`` after geom parameters of some worlds changed."""
    k, w = wp.tid()
    p = implicit[k]
    g1 = pairs.geom[w, p][0]
    g2 = pairs.geom[w, p][1]
    friction, solref, solimp, adhesion = mixed_parameters(g, w, g1, g2)
    pairs.friction[w, p] = friction
    pairs.solref[w, p] = solref
    pairs.solimp[w, p] = solimp
    pairs.adhesion[w, p] = adhesion
    pairs.margin[w, p] = g.margin[w, g1] + g.margin[w, g2]
    pairs.gap[w, p] = g.gap[w, g1] + g.gap[w, g2]
