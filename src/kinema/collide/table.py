"""The pair table: which function handles which pair of geom types, and how many contacts it may give.

Geom types are MuJoCo's (mjtGeom), in its order; a pair is always stored with the lower type first.
"""

from enum import IntEnum

import numpy as np

from kinema.mujoco_enums import Disable, Geom


class PairFunction(IntEnum):
    """Functions of the narrow phase. The value is the bit that selects it when kernels are built."""

    NONE = 0
    PLANE_SPHERE = 1
    PLANE_CAPSULE = 2
    PLANE_ELLIPSOID = 3
    PLANE_CYLINDER = 4
    PLANE_BOX = 5
    PLANE_MESH = 6
    SPHERE_SPHERE = 7
    SPHERE_CAPSULE = 8
    SPHERE_CYLINDER = 9
    SPHERE_BOX = 10
    CAPSULE_CAPSULE = 11
    CAPSULE_BOX = 12
    BOX_BOX = 13
    CONVEX = 14
    HFIELD_CONVEX = 15
    SDF_DESCENT = 16
    SDF_MESH = 17


_F = PairFunction
_0, _CX, _HF, _SD = _F.NONE, _F.CONVEX, _F.HFIELD_CONVEX, _F.SDF_DESCENT
_PS, _PC, _PE = _F.PLANE_SPHERE, _F.PLANE_CAPSULE, _F.PLANE_ELLIPSOID
_PY, _PB, _PM = _F.PLANE_CYLINDER, _F.PLANE_BOX, _F.PLANE_MESH
_SS, _SC, _SY, _SB = _F.SPHERE_SPHERE, _F.SPHERE_CAPSULE, _F.SPHERE_CYLINDER, _F.SPHERE_BOX
_CC, _CB, _BB, _SM = _F.CAPSULE_CAPSULE, _F.CAPSULE_BOX, _F.BOX_BOX, _F.SDF_MESH

# fmt: off
PAIR_FUNCTION = np.array([
    #              plane hfield sphere capsule ellipsoid cylinder box  mesh  sdf
    [_0,  _0,  _PS, _PC, _PE, _PY, _PB, _PM, _PM],  # plane
    [_0,  _0,  _HF, _HF, _HF, _HF, _HF, _HF, _0 ],  # hfield
    [_0,  _0,  _SS, _SC, _CX, _SY, _SB, _CX, _SD],  # sphere
    [_0,  _0,  _0,  _CC, _CX, _CX, _CB, _CX, _SD],  # capsule
    [_0,  _0,  _0,  _0,  _CX, _CX, _CX, _CX, _SD],  # ellipsoid
    [_0,  _0,  _0,  _0,  _0,  _CX, _CX, _CX, _SD],  # cylinder
    [_0,  _0,  _0,  _0,  _0,  _0,  _BB, _CX, _SD],  # box
    [_0,  _0,  _0,  _0,  _0,  _0,  _0,  _CX, _SM],  # mesh
    [_0,  _0,  _0,  _0,  _0,  _0,  _0,  _0,  _SD],  # sdf
], dtype=np.int32)
# fmt: on

# functions compiled and launched together: small analytic ones, and each large iterative one by itself
FAMILIES = {
    "primitive": range(_F.PLANE_SPHERE, _F.CONVEX),
    "convex": (_F.CONVEX,),
    "hfield": (_F.HFIELD_CONVEX,),
    "sdf": (_F.SDF_DESCENT, _F.SDF_MESH),
}

# contacts a function may give, apart from those of the convex family
MAX_CONTACTS = {
    _F.NONE: 0,
    _F.PLANE_SPHERE: 1,
    _F.PLANE_CAPSULE: 2,
    _F.PLANE_ELLIPSOID: 1,
    _F.PLANE_CYLINDER: 4,
    _F.PLANE_BOX: 4,
    _F.PLANE_MESH: 4,
    _F.SPHERE_SPHERE: 1,
    _F.SPHERE_CAPSULE: 1,
    _F.SPHERE_CYLINDER: 1,
    _F.SPHERE_BOX: 1,
    _F.CAPSULE_CAPSULE: 2,
    _F.CAPSULE_BOX: 2,
    _F.BOX_BOX: 8,
    _F.HFIELD_CONVEX: 50,  # mjMAXCONPAIR
    _F.SDF_MESH: 50,
}


def uses_native(m) -> bool:
    """Whether MuJoCo's own convex collision detection is on, rather than the portals of libccd."""
    return not int(m.opt.disableflags) & Disable.NATIVECCD


def max_contacts(m, type1: int, type2: int) -> int:
    """Largest number of contacts of a pair, ``type1 <= type2``, under the options of a model."""
    function = PairFunction(int(PAIR_FUNCTION[type1, type2]))
    if function == _F.SDF_DESCENT:
        return int(m.opt.sdf_initpoints)
    if function != _F.CONVEX:
        return MAX_CONTACTS[function]
    types = {type1, type2}
    if int(m.opt.disableflags) & Disable.MULTICCD or types & {Geom.SPHERE, Geom.ELLIPSOID}:
        return 1
    if not uses_native(m):
        return 5
    return 1 if types == {Geom.CAPSULE} else 4


def function_mask(functions: np.ndarray) -> int:
    """Bit mask of the functions that occur, the key of kernel factories."""
    return sum(1 << int(f) for f in np.unique(functions) if f)
