"""Quadratic programs with bounds, many at once: minimise d'Qd/2 + q'd where low <= d <= high.

Bertsekas' projected Newton method ("Projected Newton methods for optimization problems with simple constraints",
1982), as Tassa, Mansard and Todorov use it for controls (2014). Variables at a bound that the gradient pushes against
are held; the others take a Newton step, cut off at the bounds. All step lengths are looked at at once, and the best is
taken.
"""

from __future__ import annotations

from typing import Any

ROUNDS = 20
LENGTHS = tuple(0.5**k for k in range(10))


def minimise(torch: Any, Q: Any, q: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The minimisers (n, k), and which variables are free there, of n programs; Q is positive definite."""
    lengths = torch.tensor(LENGTHS, dtype=Q.dtype, device=Q.device)[:, None, None]
    newton = -solve_free(torch, Q, torch.ones_like(q, dtype=torch.bool), q[..., None])[..., 0]
    d = torch.clamp(newton, low, high)
    if torch.equal(d, newton):
        return d, torch.ones_like(q, dtype=torch.bool)
    best = _value(torch, Q, q, d)
    for _ in range(ROUNDS):
        gradient = q + (Q @ d[..., None])[..., 0]
        free = ~(((d <= low) & (gradient > 0)) | ((d >= high) & (gradient < 0)))
        step = -solve_free(torch, Q, free, (gradient * free)[..., None])[..., 0]
        trial = torch.clamp(d + lengths * step, low, high)
        values = _value(torch, Q, q, trial)
        least, which = values.min(0)
        better = least < best - 1e-12 * best.abs().clamp(min=1e-12)
        d = torch.where(better[:, None], trial[which, torch.arange(len(d), device=d.device)], d)
        best = torch.where(better, least, best)
        if not better.any():
            break
    gradient = q + (Q @ d[..., None])[..., 0]
    return d, ~(((d <= low) & (gradient > 0)) | ((d >= high) & (gradient < 0)))


def solve_free(torch: Any, Q: Any, free: Any, right: Any) -> Any:
    """Q^-1 right among the free variables; zero in the others."""
    both = free[:, :, None] & free[:, None, :]
    held = torch.diag_embed((~free).to(Q.dtype))
    factor = torch.linalg.cholesky(Q * both + held)
    return torch.cholesky_solve(right * free[..., None], factor)


def _value(torch: Any, Q: Any, q: Any, d: Any) -> Any:
    return 0.5 * torch.einsum("...ni,nij,...nj->...n", d, Q, d) + (q * d).sum(-1)
