"""Costs to second order along a path: what dynamic programming needs of them.

With z = (dx, u, y), a point as a function of a small motion dx of its state, its controls and its sensors, and sensors
that follow the state to first order, dy = C dx + D du, a cost l(z) becomes

    l + g'(dx, du) + (dx, du)' H (dx, du) / 2,        g = S' l_z,   H = S' l_zz S,    S = [1 0; 0 1; C D]

Of residuals l_z = J'r and l_zz = J'J. Of other costs l_zz comes from torch, and its negative curvature is cut off, so
that H is never negative: the model of the cost has a minimum.
"""

from __future__ import annotations

from typing import Any

from kinema.control.problem import Cost, Point, is_residual

SMALLEST = 0.0
"""Curvature that negative curvature is replaced by."""


class Quadratic:
    """Gradients and Hessians of a cost at points: g (n, nx + nu) and H (n, nx + nu, nx + nu), in double precision."""

    def __init__(self, g: Any, H: Any):
        self.g, self.H = g, H


def expand(torch: Any, manifold: Any, cost: Cost, point: Point, C: Any = None, D: Any = None) -> Quadratic:
    """A cost to second order at points.

    Args:
        torch: The package.
        manifold: The positions of the model.
        cost: The cost, or residuals.
        point: The points, n of them.
        C, D: How sensors depend on state and controls, (n, ny, nx) and (n, ny, nu); None: they do not.
    """
    nv, na, nu = manifold.nv, point.act.shape[1], point.ctrl.shape[1]
    ny = 0 if C is None else C.shape[1]
    count, nx = len(point.step), 2 * nv + na
    z = torch.zeros(count, nx + nu + ny, dtype=torch.float32, device=point.qpos.device, requires_grad=True)
    with torch.enable_grad():
        dq, dv, da, du, dy = z.split([nv, nv, na, nu, ny], 1)
        sensors = point.sensordata + dy if ny else point.sensordata
        found = cost(
            Point(
                manifold.moved(point.qpos, dq), point.qvel + dv, point.act + da, point.ctrl + du, sensors,
                point.step, point.world,
            )
        )  # fmt: skip
        if is_residual(found, count):
            J = _jacobian(torch, found, z)
            r = found.detach().double()
            g, H = torch.einsum("nm,nmz->nz", r, J), torch.einsum("nmy,nmz->nyz", J, J)
        else:
            first = _gradient(torch, found.sum(), z, create_graph=True)
            H = _jacobian(torch, first, z)
            H = _curved(torch, 0.5 * (H + H.transpose(1, 2)))
            g = first.detach().double()
    if ny:
        S = torch.zeros(count, nx + nu + ny, nx + nu, dtype=torch.float64, device=z.device)
        S[:, : nx + nu] = torch.eye(nx + nu, dtype=torch.float64, device=z.device)
        S[:, nx + nu :, :nx], S[:, nx + nu :, nx:] = C, D
        g, H = torch.einsum("nzk,nz->nk", S, g), S.transpose(1, 2) @ H @ S
    return Quadratic(g, H)


def _gradient(torch: Any, value: Any, z: Any, *, create_graph: bool) -> Any:
    if not value.requires_grad:
        return torch.zeros_like(z)
    found = torch.autograd.grad(value, z, retain_graph=True, create_graph=create_graph, allow_unused=True)[0]
    return torch.zeros_like(z) if found is None else found


def _jacobian(torch: Any, values: Any, z: Any) -> Any:
    """Derivatives of each column of values, (n, m), a row of which depends on the row of z alone: (n, m, nz)."""
    rows = [_gradient(torch, values[:, k].sum(), z, create_graph=False) for k in range(values.shape[1])]
    return torch.stack(rows, 1).detach().double() if rows else z.new_zeros(len(z), 0, z.shape[1]).double()


def _curved(torch: Any, H: Any) -> Any:
    """A symmetric matrix without its negative curvature."""
    values, vectors = torch.linalg.eigh(H)
    return (vectors * values.clamp(min=SMALLEST)[:, None, :]) @ vectors.transpose(1, 2)
