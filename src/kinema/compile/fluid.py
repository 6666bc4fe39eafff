"""Coefficients of the ellipsoidal fluid model: added mass and inertia of the ellipsoid of a geom's size.

    κ_x = ∫₀^∞ dx dy dz / √((dx²+λ)³ (dy²+λ) (dz²+λ)) dλ

by 15-point Gauss-Kronrod quadrature after λ = x³/(1−x)².
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kinema.compile.pose import EPS
from kinema.mujoco_enums import Geom

# points x in [0, 1] and weights of the K15 rule; λ and dλ/dx follow from the change of variables
_X = (
    0.00427231443959, 0.02544604382862, 0.06756778832011, 0.12923440720030, 0.20695638226615, 0.29707742431130,
    0.39610752249605, 0.5, 0.60389247750395, 0.70292257568870, 0.79304361773385, 0.87076559279970, 0.93243221167989,
    0.97455395617138, 0.99572768556041,
)  # fmt: skip
_W = (
    0.01146766, 0.03154605, 0.05239501, 0.07032663, 0.08450236, 0.09517529, 0.10221647, 0.10474107, 0.10221647,
    0.09517529, 0.08450236, 0.07032663, 0.05239501, 0.03154605, 0.01146766,
)  # fmt: skip
_LAMBDA = tuple(x**3 / (1 - x) ** 2 for x in _X)
_SLOPE = tuple(x * x * (3 - x) / (1 - x) ** 3 for x in _X)


def fluid_coefficients(kind: int, size: Sequence[float], drag: Sequence[float]) -> list[float]:
    """The 12 numbers of geom_fluid: switch, five drag and lift coefficients, added mass (3), added inertia (3)."""
    if kind == Geom.SPHERE:
        axes = [size[0]] * 3
    elif kind == Geom.CAPSULE:
        axes = [size[0], size[0], size[0] + size[1]]
    elif kind == Geom.CYLINDER:
        axes = [size[0], size[0], size[1]]
    else:
        axes = list(size)
    volume = 4.0 / 3.0 * math.pi * math.prod(axes)
    kappa = [_kappa(axes[k], axes[(k + 1) % 3], axes[(k + 2) % 3]) for k in range(3)]
    mass = [volume * k / max(EPS, 2 - k) for k in kappa]
    inertia = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        difference, total = axes[j] ** 2 - axes[k] ** 2, axes[j] ** 2 + axes[k] ** 2
        below = max(EPS, abs(2 * difference + total * (kappa[j] - kappa[k])))
        inertia.append(volume * difference**2 * abs(kappa[k] - kappa[j]) / below / 5)
    return [1.0, *drag, *mass, *inertia]


def _kappa(dx: float, dy: float, dz: float) -> float:
    inverse = [1.0 / (d * d) for d in (dx, dy, dz)]
    scale = (dx**3 * dy * dz) ** 0.4  # makes the integrand dimensionless
    total = 0.0
    for point, slope, weight in zip(_LAMBDA, _SLOPE, _W, strict=True):
        x, y, z = (1 + scale * point * i for i in inverse)
        total += scale * slope / (x * math.sqrt(x * y * z)) * weight
    return total * inverse[0]
