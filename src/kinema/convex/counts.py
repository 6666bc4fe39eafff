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
def _nflexcrease(m: Model, d: Data, w: int) -> int:
    return m.size.nflexcrease


@wp.func
def _nflexcell(m: Model, d: Data, w: int) -> int:
    return m.size.nflexcell


@wp.func
def _nflexcellnode(m: Model, d: Data, w: int) -> int:
    return m.size.nflexcellnode


@wp.func
def _nflexnode(m: Model, d: Data, w: int) -> int:
    return m.size.nflexpoint - m.size.nflexvert


@wp.func
def _nflexrod(m: Model, d: Data, w: int) -> int:
    return m.size.nflexrod


@wp.func
def _nflexsegment(m: Model, d: Data, w: int) -> int:
    return m.size.nflexsegment


@wp.func
def _nflexbend(m: Model, d: Data, w: int) -> int:
    return m.size.nflexbend


@wp.func
def _nflexpoint(m: Model, d: Data, w: int) -> int:
    return m.size.nflexpoint


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
def _ntree(m: Model, d: Data, w: int) -> int:
    return m.size.ntree


@wp.func
def _nlist(m: Model, d: Data, w: int) -> int:
    return 6


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
    "nflexcrease": _nflexcrease,
    "nflexcell": _nflexcell,
    "nflexcellnode": _nflexcellnode,
    "nflexnode": _nflexnode,
    "nflexrod": _nflexrod,
    "nflexsegment": _nflexsegment,
    "nflexbend": _nflexbend,
    "nflexpoint": _nflexpoint,
    "nsensor": _nsensor,
    "nplugin": _nplugin,
    "ncon": _ncon,
    "ntree": _ntree,
    "nlist": _nlist,
    None: _one,
}
"""What item stages may run over: size symbol -> its value in a kernel; None: the world itself."""


@wp.func
def is_quiet(m: Model, d: Data, w: int) -> bool:
    """Does nothing move in a world? Then what is static need not be looked at either."""
    return d.sleep.ntree_awake[w] == 0 and d.sleep.settled[w] != 0 and m.size.nmocap == 0


@wp.func
def _bodies_awake(m: Model, d: Data, w: int) -> int:
    return wp.where(is_quiet(m, d, w), 0, d.sleep.nbody_awake[w])


@wp.func
def _dofs_awake(m: Model, d: Data, w: int) -> int:
    return d.sleep.nv_awake[w]


@wp.func
def _joints_awake(m: Model, d: Data, w: int) -> int:
    return d.sleep.joint_count[w]


@wp.func
def _geoms_awake(m: Model, d: Data, w: int) -> int:
    return wp.where(is_quiet(m, d, w), 0, d.sleep.geom_count[w])


@wp.func
def _sites_awake(m: Model, d: Data, w: int) -> int:
    return wp.where(is_quiet(m, d, w), 0, d.sleep.site_count[w])


@wp.func
def _body_awake(d: Data, w: int, k: int) -> int:
    return d.sleep.body_awake_ind[w, k]


@wp.func
def _dof_awake(d: Data, w: int, k: int) -> int:
    return d.sleep.dof_awake_ind[w, k]


@wp.func
def _joint_awake(d: Data, w: int, k: int) -> int:
    return d.sleep.joints[w, k]


@wp.func
def _geom_awake(d: Data, w: int, k: int) -> int:
    return d.sleep.geoms[w, k]


@wp.func
def _site_awake(d: Data, w: int, k: int) -> int:
    return d.sleep.sites[w, k]


AWAKE_COUNTS = {
    "nbody": _bodies_awake, "nv": _dofs_awake, "njnt": _joints_awake, "ngeom": _geoms_awake, "nsite": _sites_awake,
}  # fmt: skip
"""Of what a list says who is awake (sleep/): how many they are."""

AWAKE_ITEMS = {
    "nbody": _body_awake, "nv": _dof_awake, "njnt": _joint_awake, "ngeom": _geom_awake, "nsite": _site_awake,
}  # fmt: skip
"""And which is the k-th of them."""

AWAKE_READS = frozenset({
    "ntree_awake", "nbody_awake", "nv_awake", "sleep_joint_count", "sleep_geom_count", "sleep_site_count", "body_awake",
    "body_awake_ind", "dof_awake_ind", "sleep_joints", "sleep_geoms", "sleep_sites", "sleep_settled",
})  # fmt: skip
"""The arrays that whoever runs over what is awake reads."""
