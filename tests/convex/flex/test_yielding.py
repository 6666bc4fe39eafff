"""Flexes that yield: what elements and hinges keep of a strain, as MuJoCo has it."""

import mujoco
import numpy as np
import pytest

from .scenes import disturbed, engine_at, model, off, scene

YIELDING = {
    "plate": (2, '<elasticity young="3e4" poisson=".2" damping=".001" thickness=".02" elastic2d="both" yield=".003"/>'),
    "stretch": (2, '<elasticity young="3e4" poisson=".3" thickness=".02" elastic2d="stretch" yield=".0001 0"/>'),
    "fold": (2, '<edge equality="true"/><elasticity young="3e4" poisson=".2" damping=".001" thickness=".02" '
                'elastic2d="bend" yield="0 .002"/>'),
    "clay": (3, '<elasticity young="2e3" poisson=".3" damping=".002" yield=".004"/>'),
}  # fmt: skip


@pytest.mark.parametrize("option", ['integrator="Euler"', 'integrator="discrete"'])
@pytest.mark.parametrize("name", YIELDING)
def test_forces_and_rollouts(name, option):
    """Shaken beyond its yield, a flex pulls and keeps as MuJoCo's does, after 1, 10 and 100 steps."""
    dim, inside = YIELDING[name]
    m = model(scene(dim, inside=inside + '<pin id="0 1"/>', option=f'{option} solver="Newton" tolerance="1e-10"'))
    d = disturbed(m, 20, 0.1)
    assert np.abs(d.plastic).max() > 1e-5  # it has yielded
    engine = engine_at(m, d)
    for field, limit in {"qfrc_spring": 3e-4, "qacc_smooth": 5e-4}.items():
        assert off(engine.read(field)[0], getattr(d, field)) < limit, field
    before, done = d.plastic.copy(), 0
    for steps in (1, 10, 100):
        engine.step(steps - done)
        for _ in range(steps - done):
            mujoco.mj_step(m, d)
        done = steps
        assert off(engine.read("plastic")[0], d.plastic) < 1e-3, steps
        assert np.abs(engine.read("qpos")[0] - d.qpos).max() < 1e-3 * np.abs(d.qpos).max(), steps
    assert np.abs(d.plastic - before).max() > 1e-5
