"""Curves and dynamics of muscles against MuJoCo's functions."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.convex.bundle import vec10
from kinema.convex.muscle import muscle_bias, muscle_gain, muscle_gain_slope, muscle_rate

PRM = np.array([0.75, 1.05, -1, 200, 0.5, 1.6, 1.5, 1.3, 1.2, 0])
STRONG = np.array([0.6, 1.3, 700, 200, 0.4, 1.8, 2.5, 1.1, 1.6, 0])
RANGE = np.array([0.3, 0.9])


@wp.kernel(enable_backward=False)
def curves(x: wp.array(dtype=wp.vec2), prm: vec10, lengthrange: wp.vec2, out: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    gain = muscle_gain(x[i][0], x[i][1], lengthrange, 0.7, prm)
    slope = muscle_gain_slope(x[i][0], x[i][1], lengthrange, 0.7, prm)
    out[i] = wp.vec4(gain, muscle_bias(x[i][0], lengthrange, 0.7, prm), slope, muscle_rate(x[i][0], x[i][1], prm))


def evaluate(points, prm) -> np.ndarray:
    out = wp.zeros(len(points), dtype=wp.vec4, device="cpu")
    inputs = [wp.array(points, dtype=wp.vec2, device="cpu"), vec10(*prm), wp.vec2(*RANGE)]
    wp.launch(curves, dim=len(points), inputs=inputs, outputs=[out], device="cpu")
    return out.numpy()


@pytest.mark.parametrize("prm", [PRM, STRONG], ids=["scaled", "given"])
def test_force_length_velocity_agrees_with_mujoco(prm):
    grid = np.array([(a, b) for a in np.linspace(-0.2, 1.6, 61) for b in np.linspace(-2, 2, 41)])
    ours = evaluate(grid, prm)
    peak = prm[2] if prm[2] >= 0 else prm[3] / 0.7
    gain = [mujoco.mju_muscleGain(a, b, RANGE, 0.7, prm[:9]) for a, b in grid]
    bias = [mujoco.mju_muscleBias(a, RANGE, 0.7, prm[:9]) for a, b in grid]
    np.testing.assert_allclose(ours[:, 0], gain, atol=3e-6 * peak)
    np.testing.assert_allclose(ours[:, 1], bias, atol=1e-5 * peak)
    assert np.min(gain) < -0.9 * peak and np.min(bias) < -0.1 * peak


def test_the_slope_by_velocity_is_the_derivative_of_the_gain():
    grid = np.array([(a, b) for a in np.linspace(0.3, 1.2, 10) for b in np.linspace(-2.03, 2.02, 28)])
    h = 1e-4
    high = np.array([mujoco.mju_muscleGain(a, b + h, RANGE, 0.7, PRM[:9]) for a, b in grid])
    low = np.array([mujoco.mju_muscleGain(a, b - h, RANGE, 0.7, PRM[:9]) for a, b in grid])
    slope = (high - low) / (2 * h)
    np.testing.assert_allclose(evaluate(grid, PRM)[:, 2], slope, atol=1e-3 * np.abs(slope).max())


@pytest.mark.parametrize("width", [0.0, 0.2])
def test_activation_dynamics_agrees_with_mujoco(width):
    prm = np.array([0.01, 0.04, width, *np.zeros(7)])
    grid = np.array([(u, a) for u in np.linspace(-0.3, 1.3, 33) for a in np.linspace(-0.1, 1.1, 25)])
    theirs = np.array([mujoco.mju_muscleDynamics(u, a, prm[:3]) for u, a in grid])
    keep = np.abs(np.clip(grid[:, 0], 0, 1) - grid[:, 1]) > 1e-6 if width == 0 else slice(None)
    np.testing.assert_allclose(evaluate(grid, prm)[keep, 3], theirs[keep], atol=1e-5 * np.abs(theirs).max())
