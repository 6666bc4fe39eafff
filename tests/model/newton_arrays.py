"""Arrays of two models, Newton's and ours, side by side."""

from __future__ import annotations

import warnings

import numpy as np
import warp as wp

from kinema.model import FIELDS

NEVER_FILLED = {
    "body_colors", "particle_colors", "joint_twist_lower", "joint_twist_upper", "shape_filter", "shape_source",
    "spring_constraint_lambdas", "edge_constraint_lambdas",
}  # fmt: skip
"""Arrays that Newton leaves uninitialised or out, and geometry, which is compared by its sizes."""


def compared_fields(*prefixes: str) -> list[str]:
    """Names of the core's arrays, of some kinds of things."""
    rows = (key for key, f in FIELDS.items() if not (f.hidden or f.runtime or f.namespace or key in NEVER_FILLED))
    return [key for key in rows if not prefixes or key.startswith(prefixes)]


def differences(theirs, ours, names, *, rtol=2e-5, atol=2e-6) -> dict[str, str]:
    """What is not equal, by name, with the largest difference."""
    found = {}
    for name in names:
        a, b = getattr(theirs, name, None), getattr(ours, name)
        a, b = (x.numpy() if isinstance(x, wp.array) else x for x in (a, b))
        if a is None or len(a) == 0:
            if len(b):
                found[name] = f"{len(b)} rows where Newton has none"
        elif not isinstance(a, np.ndarray):
            wrong = [(x, y) for x, y in zip(a, b, strict=False) if x != y]
            if wrong or len(a) != len(b):
                found[name] = f"{len(a)} and {len(b)} rows, first {wrong[:1]}"
        elif a.shape != b.shape or a.dtype != b.dtype:
            found[name] = f"{a.shape} {a.dtype} and {b.shape} {b.dtype}"
        else:
            x, y = (v.astype(float) for v in same_sign(name, a, b))
            close = np.isclose(x, y, rtol=rtol, atol=atol * max(1.0, np.abs(x[np.isfinite(x)]).max(initial=0.0)))
            if not close.all():
                row = int(np.argwhere(~close)[0, 0])
                found[name] = f"row {row}: {a[row].tolist()} and {b[row].tolist()}"
    return found


POSES = ("body_q", "joint_X_p", "joint_X_c", "shape_transform")


def same_sign(name: str, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A quaternion and its negative are one rotation: ours with the sign of theirs."""
    if name not in POSES:
        return a, b
    sign = np.where(np.sum(a[:, 3:] * b[:, 3:], axis=1) < 0.0, -1.0, 1.0)
    return a, np.concatenate([b[:, :3], b[:, 3:] * sign[:, None]], axis=1)


def quietly(make):
    """The result of a call, its warnings left aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()
