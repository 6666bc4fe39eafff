"""What a kernel of detection is compiled for.

A kernel knows the pair functions that its model needs and no others, and has room for the largest polygon and the
longest EPA of its model. Sizes are rounded up, so that models share kernels.
"""

from typing import NamedTuple

import numpy as np
import warp as wp

from kinema.collide.sdf import Fields
from kinema.collide.table import FAMILIES, PairFunction, function_mask, uses_native
from kinema.collide.workspace import ASK, LENT, Sizes, fits


def family_mask(name: str) -> int:
    """Bits of all functions of a family."""
    return function_mask(np.array([int(f) for f in FAMILIES[name]]))


PRIMITIVES = family_mask("primitive")
CONVEX = family_mask("convex")
HFIELD = family_mask("hfield")
FIELD = 1 << PairFunction.SDF_DESCENT
FIELD_MESH = 1 << PairFunction.SDF_MESH


def bucket(n: int, least: int) -> int:
    """The next power of two, from `least` on."""
    return max(least, 1 << (int(n) - 1).bit_length())


def epa_room(m) -> int:
    """Iterations of EPA there must be room for, whatever pairs of the model are looked at."""
    return 36 if m.opt.ccd_iterations <= 36 else bucket(m.opt.ccd_iterations, 64)


class Build(NamedTuple):
    """What a kernel is compiled for: the key of all factories here."""

    mask: int  # bits of the pair functions
    epa: int  # iterations of EPA there is room for; or where else room is found (workspace.py)
    polygon: int  # vertices of the largest polygon of a mesh
    degree: int  # polygons at one vertex of a mesh
    sweep: bool  # whether the pairs of a world are found by sweeping
    distance: "wp.Function | None" = None  # of the signed distance fields
    gradient: "wp.Function | None" = None  # of the same
    portal: bool = False  # whether convex shapes meet as without nativeccd
    sleeps: bool = False  # whether bodies may sleep (asleep.py)
    ahead: bool = False  # whether contacts are made ahead of impact (speculative.py)

    @staticmethod
    def of(m, mask: int, sweep: bool = False, fields: Fields | None = None, ahead: bool = False) -> "Build":
        """The build for a model, sizes rounded up so that models share kernels."""
        if not mask & ~PRIMITIVES and not ahead:
            return Build(mask, 0, 0, 0, sweep)
        polygon, degree = int(np.max(m.mesh_polyvertnum, initial=0)), int(np.max(m.mesh_polymapnum, initial=0))
        epa = epa_room(m)
        distance, gradient = (fields.distance, fields.gradient) if fields else (None, None)
        portal = not uses_native(m)
        sizes = bucket(polygon, 16), bucket(degree, 8)
        return Build(mask, epa, *sizes, sweep, distance, gradient, portal, ahead=ahead)

    @property
    def listed(self) -> bool:
        """Whether pairs are listed once for all worlds, and looked at in their order: cells cull them (cull.py)."""
        return not self.sweep and not self.ahead

    @property
    def scratch(self) -> Sizes | None:
        """The scratch that pairs need, if it is more than registers hold."""
        needed = (self.mask & (CONVEX | HFIELD) and not self.portal) or (self.ahead and self.polygon)
        return Sizes.of(self.epa, self.polygon, self.degree) if needed else None

    def lending(self) -> "Build":
        """The same with scratch that is lent: its sizes do not matter then."""
        epa, polygons = fits(self.scratch) if self.scratch else (LENT, LENT)
        return self._replace(epa=epa, polygon=polygons, degree=polygons)

    def asking(self) -> "Build":
        """The same without scratch, if any is needed; it is asked for."""
        return self._replace(epa=ASK, polygon=0, degree=0) if self.scratch else self

    def only(self, mask: int) -> "Build":
        """The same for some of the functions."""
        mask &= self.mask
        return (
            self._replace(mask=mask)
            if mask & ~PRIMITIVES
            else Build(mask, 0, 0, 0, self.sweep, sleeps=self.sleeps, ahead=self.ahead)
        )
