"""MuJoCo's steps in double precision, and differences of whatever follows from them: what gradients are judged by."""

from collections.abc import Callable

import mujoco
import numpy as np


def stepped(m: mujoco.MjModel, d: mujoco.MjData, ctrl: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities after every step with these controls, [step, ...]; the state moves along."""
    positions, velocities = [], []
    for action in ctrl:
        d.ctrl[:] = action
        mujoco.mj_step(m, d)
        positions.append(d.qpos.copy())
        velocities.append(d.qvel.copy())
    return np.array(positions), np.array(velocities)


def differences(f: Callable[[np.ndarray], float], x: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    """The gradient of f at x, by centered differences."""
    found = np.zeros(x.shape)
    for k in np.ndindex(x.shape):
        up, down = x.astype(float), x.astype(float)
        up[k] += eps
        down[k] -= eps
        found[k] = (f(up) - f(down)) / (2 * eps)
    return found
