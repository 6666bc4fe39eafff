"""How many items of each kind a world has: what stages may run over.

Kernels read sizes as fields, and a field must be named in the code, so there is a function for each.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model


@wp.func
def _nq(m: Model, d: Data, w: int) -> int:
    return m.size.nq


@wp.func
def _nv(m: Model, d: Data, w: int) -> int:
    return m.size.nv


@wp.func
def _nu(m: Model, d: Data, w: int) -> int:
    return m.size.nu


@wp.func
def _nbody(m: Model, d: Data, w: int) -> int:
    return m.size.nbody


@wp.func
def _njnt(m: Model, d: Data, w: int) -> int:
    return m.size.njnt


@wp.func
def _ngeom(m: Model, d: Data, w: int) -> int:
    return m.size.ngeom


@wp.func
def _nsite(m: Model, d: Data, w: int) -> int:
    return m.size.nsite


@wp.func
def _ncam(m: Model, d: Data, w: int) -> int:
    return m.size.ncam


@wp.func
def _nlight(m: Model, d: Data, w: int) -> int:
    return m.size.nlight


@wp.func
def _ntendon(m: Model, d: Data, w: int) -> int:
    return m.size.ntendon


@wp.func
def _nactuator(m: Model, d: Data, w: int) -> int:
    return m.size.nactuator


@wp.func
def _nout(m: Model, d: Data, w: int) -> int:
    return m.size.nout


@wp.func
def _neq(m: Model, d: Data, w: int) -> int:
    return m.size.neq


@wp.func
def _nflexvert(m: Model, d: Data, w: int) -> int:
    return m.size.nflexvert


@wp.func
def _nflexedge(m: Model, d: Data, w: int) -> int:
    return m.size.nflexedge


@wp.func
def _nflexelem(m: Model, d: Data, w: int) -> int:
    return m.size.nflexelem


@wp.func
def _nflexhinge(m: Model, d: Data, w: int) -> int:
    return m.size.nflexhinge


@wp.func
def _nsensor(m: Model, d: Data, w: int) -> int:
    return m.size.nsensor


@wp.func
def _nplugin(m: Model, d: Data, w: int) -> int:
    return m.size.nplugin


@wp.func
def _ncon(m: Model, d: Data, w: int) -> int:
    return d.con.ncon[w]


@wp.func
def _one(m: Model, d: Data, w: int) -> int:
    return 1


COUNTS = {
    "nq": _nq,
    "nv": _nv,
    "nu": _nu,
    "nbody": _nbody,
    "njnt": _njnt,
    "ngeom": _ngeom,
    "nsite": _nsite,
    "ncam": _ncam,
    "nlight": _nlight,
    "ntendon": _ntendon,
    "nactuator": _nactuator,
    "nout": _nout,
    "neq": _neq,
    "nflexvert": _nflexvert,
    "nflexedge": _nflexedge,
    "nflexelem": _nflexelem,
    "nflexhinge": _nflexhinge,
    "nsensor": _nsensor,
    "nplugin": _nplugin,
    "ncon": _ncon,
    None: _one,
}
"""What item stages may run over: size symbol -> its value in a kernel; None: the world itself."""
