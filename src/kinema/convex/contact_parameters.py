"""Friction, softness and margins of geoms while a model runs, and per world.

Collision detection reads parameters per pair of geoms, mixed when the model was uploaded and stored once for all
worlds. Once a geom's parameters are changed the pairs get rows of their own for every world, and one kernel mixes them
again on the device; explicit pairs keep theirs. Models with very many geoms, whose pairs a broad phase finds, mix as
they go along: there a change is seen at once, but it is the same in all worlds.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from kinema.arrays import flat, per_world
from kinema.collide.bundles import GeomParameters, Pairs, vec5
from kinema.collide.detect import Detector
from kinema.collide.parameters import mix_pairs
from kinema.collide.upload import PAIR_DTYPE
from kinema.convex.bundle import Field
from kinema.convex.layout import Layout
from kinema.errors import BuildError
from kinema.mujoco_enums import Enable

MIXED: dict[str, type] = {
    "geom_friction": wp.vec3, "geom_solref": wp.vec2, "geom_solimp": vec5, "geom_solmix": float, "geom_margin": float,
    "geom_gap": float, "geom_adhesion": float,
}  # fmt: skip
"""Fields of the model that parameters of pairs are mixed from."""

PAIRED: dict[str, type] = {
    "pair_friction": vec5, "pair_solref": wp.vec2, "pair_solreffriction": wp.vec2, "pair_solimp": vec5,
    "pair_margin": float, "pair_gap": float, "pair_adhesion": float,
}  # fmt: skip
"""Parameters of explicit pairs, the same in all worlds: a write is uploaded with detection made anew."""

PER_PAIR = ("friction", "solref", "solimp", "adhesion", "margin", "gap")
BOUNDS = ("geom_margin", "geom_gap")
"""What the broad phase has its cells from."""


def declare(layout: Layout) -> None:
    """Make the arrays of these fields, as parameters like any other."""
    for names, count in ((MIXED, "ngeom"), (PAIRED, "npair")):
        for name, dtype in names.items():
            layout.array(Field("param", dtype, (count,), False, name))


def check_expandable(name: str, detector: Detector, flexes: bool = False) -> None:
    """Raise where a field cannot differ per world."""
    if name in PAIRED:
        raise BuildError(f"{name} cannot differ per world: parameters of explicit pairs are uploaded once for all")
    if name in MIXED and flexes:
        raise BuildError(f"{name} cannot differ per world: parameters of contacts with flexes are mixed once for all")
    if (name in MIXED or name == "geom_size") and detector.build.sweep:
        raise BuildError(f"{name} cannot differ per world: the model has so many geoms that a broad phase pairs them")


def is_changed(layout: Layout) -> bool:
    """Whether any of the fields is not the compiled model's any more."""
    for name in MIXED:
        if name in layout.expanded:
            return True
        now = layout.arrays[name].stored.numpy()
        if not np.array_equal(now.ravel(), np.asarray(layout.host(name)).astype(now.dtype).ravel()):
            return True
    return False


def mix(detector: Detector, layout: Layout) -> bool:
    """Mix the parameters of pairs again; returns whether they moved, so that whoever holds them must be told."""
    m = layout.source
    if int(m.opt.enableflags) & Enable.OVERRIDE or not len(detector.slots):
        return False  # the options' values hold for all pairs
    geoms = _geoms(layout, detector)
    if detector.build.sweep:
        sweep = detector.sweep
        sweep.parameters = geoms
        _launch(geoms, sweep.special, detector, worlds=1)
        detector.set_sweep(sweep)
        return True
    shared = detector.pairs.friction.strides[0] == 0
    moved = shared and layout.nworld > 1 and not layout.expanded.keys().isdisjoint(MIXED)
    if moved:
        detector.pairs = _per_world(detector, layout.nworld)
    _launch(geoms, detector.pairs, detector, worlds=1 if shared and not moved else layout.nworld)
    return moved


def _geoms(layout: Layout, detector: Detector) -> GeomParameters:
    m = layout.source
    geoms = GeomParameters()
    geoms.condim, geoms.priority = (flat(values, device=detector.device) for values in (m.geom_condim, m.geom_priority))
    for name in MIXED:
        setattr(geoms, name.removeprefix("geom_"), layout.arrays[name])
    return geoms


def _per_world(detector: Detector, nworld: int) -> Pairs:
    """The same pairs with rows of their own for every world."""
    old, new = detector.pairs, Pairs()
    for name in Pairs.vars:
        setattr(new, name, getattr(old, name))
    for name in PER_PAIR:
        setattr(new, name, per_world(getattr(old, name).numpy(), PAIR_DTYPE[name], detector.device))
    return new


def _launch(geoms: GeomParameters, pairs: Pairs, detector: Detector, *, worlds: int) -> None:
    implicit = _implicit(detector)
    if implicit.size:
        wp.launch(mix_pairs, dim=(implicit.size, worlds), inputs=[geoms, implicit, pairs], device=detector.device)


def _implicit(detector: Detector) -> wp.array:
    """Pairs that are not explicit, and so take their parameters from geoms."""
    found = np.flatnonzero(detector.host.explicit < 0).astype(np.int32)
    return wp.array(found, dtype=int, device=detector.device)


class Mixing:
    """Mixing again what differs per world, with everything at hand: nothing passes through the host.

    Args:
        detector: The detector, whose pairs have rows of their own for every world.
        layout: Where the parameters of geoms are.
    """

    def __init__(self, detector: Detector, layout: Layout):
        self.off = bool(int(layout.source.opt.enableflags) & Enable.OVERRIDE) or not len(detector.slots)
        self.pairs, self.device = detector.pairs, detector.device
        self.geoms, self.implicit = _geoms(layout, detector), _implicit(detector)
        self.worlds = layout.nworld if self.pairs.friction.strides[0] != 0 else 1

    def launch(self) -> None:
        """Mix."""
        if not self.off and self.implicit.size:
            dim = (self.implicit.size, self.worlds)
            wp.launch(mix_pairs, dim=dim, inputs=[self.geoms, self.implicit, self.pairs], device=self.device)
