"""Positions as tensors, on the manifold of ball and free joints: how far apart they are, and what a small motion does.

    difference    d = q1 (-) q0    nv numbers; of a quaternion, the rotation vector that turns q0 into q1, in q0's frame
    moved         q (+) d           differentiable at d = 0, where derivatives of costs are taken
    pulled        dc/dd             of a gradient dc/dq by coordinates; pushed: the other way

These are the coordinates of `sim.linearize()`. Tensors are [..., nq] and [..., nv].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.errors import need
from kinema.mujoco_enums import Joint


class Manifold:
    """The positions of a model.

    Args:
        model: Any object with mjModel's attributes.
        device: torch device of index tensors.
    """

    def __init__(self, model: Any, device: Any = "cpu"):
        self.torch: Any = need("torch", "torch", "Optimal control")
        plain: list[tuple[int, int]] = []  # coordinate and dof of what adds up
        turning: list[tuple[int, int]] = []  # first coordinate and first dof of quaternions
        columns = (np.asarray(getattr(model, f"jnt_{name}")).tolist() for name in ("type", "qposadr", "dofadr"))
        for kind, q, v in zip(*columns, strict=True):
            if kind == Joint.FREE:
                plain += [(q + c, v + c) for c in range(3)]
                turning.append((q + 3, v + 3))
            elif kind == Joint.BALL:
                turning.append((q, v))
            else:
                plain.append((q, v))
        index = lambda pairs, side: self.torch.tensor([p[side] for p in pairs], dtype=self.torch.long, device=device)  # noqa: E731
        self.nv = int(model.nv)
        self.plain_q, self.plain_v = index(plain, 0), index(plain, 1)
        self.quat_q, self.quat_v = index(turning, 0), index(turning, 1)

    def difference(self, end: Any, start: Any) -> Any:
        """What leads from one position to another, [..., nv]."""
        torch = self.torch
        end, start = torch.broadcast_tensors(end, start)
        found = torch.empty(*end.shape[:-1], self.nv, dtype=end.dtype, device=end.device)
        found[..., self.plain_v] = end[..., self.plain_q] - start[..., self.plain_q]
        if len(self.quat_q):
            a, b = (self._quaternions(q) for q in (start, end))
            turn = product(torch, torch.cat([a[..., :1], -a[..., 1:]], -1), b)
            turn = torch.where(turn[..., :1] < 0, -turn, turn)
            sine = turn[..., 1:].norm(dim=-1, keepdim=True)
            angle = 2 * torch.atan2(sine, turn[..., :1])
            small = sine < 1e-9
            axis = turn[..., 1:] * torch.where(small, 2.0, angle / torch.where(small, 1.0, sine))
            for c in range(3):
                found[..., self.quat_v + c] = axis[..., c]
        return found

    def moved(self, qpos: Any, by: Any) -> Any:
        """A position after a small motion; exact to second order in it."""
        torch = self.torch
        found = qpos.clone()
        found[..., self.plain_q] = qpos[..., self.plain_q] + by[..., self.plain_v]
        if len(self.quat_q):
            half = 0.5 * torch.stack([by[..., self.quat_v + c] for c in range(3)], -1)
            turn = torch.cat([1 - 0.5 * (half * half).sum(-1, keepdim=True), half], -1)
            quat = product(torch, self._quaternions(qpos), turn)
            for c in range(4):
                found[..., self.quat_q + c] = quat[..., c]
        return found

    def pulled(self, qpos: Any, gradient: Any) -> Any:
        """A gradient by coordinates, [..., nq], in the tangent space at qpos, [..., nv]."""
        found = self.torch.empty(*gradient.shape[:-1], self.nv, dtype=gradient.dtype, device=gradient.device)
        found[..., self.plain_v] = gradient[..., self.plain_q]
        if len(self.quat_q):
            q = self._quaternions(qpos)
            by = self.torch.stack([gradient[..., self.quat_q + c] for c in range(4)], -1)
            turn = product(self.torch, self.torch.cat([q[..., :1], -q[..., 1:]], -1), by)
            for c in range(3):
                found[..., self.quat_v + c] = 0.5 * turn[..., 1 + c]
        return found

    def pushed(self, qpos: Any, gradient: Any) -> Any:
        """A gradient in the tangent space at qpos, [..., nv], by coordinates; none of it stretches quaternions."""
        found = self.torch.zeros_like(qpos)
        found[..., self.plain_q] = gradient[..., self.plain_v]
        if len(self.quat_q):
            turn = self.torch.stack([gradient[..., self.quat_v + c] for c in range(3)], -1)
            none = self.torch.zeros_like(turn[..., :1])
            by = 2 * product(self.torch, self._quaternions(qpos), self.torch.cat([none, turn], -1))
            for c in range(4):
                found[..., self.quat_q + c] = by[..., c]
        return found

    def _quaternions(self, qpos: Any) -> Any:
        """Unit quaternions, [..., joint, 4]."""
        found = self.torch.stack([qpos[..., self.quat_q + c] for c in range(4)], -1)
        return found / found.norm(dim=-1, keepdim=True)


def product(torch: Any, a: Any, b: Any) -> Any:
    """Quaternions a b, [..., 4]."""
    w = a[..., :1] * b[..., :1] - (a[..., 1:] * b[..., 1:]).sum(-1, keepdim=True)
    v = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + torch.linalg.cross(a[..., 1:], b[..., 1:])
    return torch.cat([w, v], -1)
