"""Integrators against MuJoCo."""

import mujoco
import pytest

from . import mechanisms

INTEGRATORS = {"Euler": 0, "RK4": 1, "implicit": 2, "implicitfast": 3}
SUITE = ["fish", "humanoid", "quadruped"]


def load(name, assets):
    if name.isupper():
        text = getattr(mechanisms, name)
        return mujoco.MjModel.from_xml_string(text.format(integrator="Euler") if "{integrator}" in text else text)
    return mujoco.MjModel.from_xml_path(str(assets / "suite" / f"{name}.xml"))


@pytest.mark.parametrize("integrator", ["RK4", "implicit", "implicitfast"])
@pytest.mark.parametrize("name", ["SPRINGS", "FLUID", *SUITE])
def test_steps_agree_with_mujoco(name, integrator, dm_control_assets, random_state, twin, agree, free_motion):
    m = free_motion(load(name, dm_control_assets))
    m.opt.integrator = INTEGRATORS[integrator]
    d = mujoco.MjData(m)
    random_state(m, d, scale=0.5)
    engine = twin(m, d)
    mujoco.mj_step(m, d)
    engine.step()
    agree(engine, d, ("qpos", "qvel", "act", "time"), 1e-5)
    agree(engine, d, ("qacc", "qacc_warmstart"), 1e-3)
    if integrator.startswith("implicit"):
        agree(engine, d, ("qDeriv",), 1e-4)
    if (name, integrator) == ("quadruped", "RK4"):
        return  # its stiff dampers make an explicit integrator diverge, in MuJoCo too
    for steps, rtol in ((9, 1e-4), (90, 1e-3)):
        mujoco.mj_step(m, d, nstep=steps)
        engine.step(steps)
        agree(engine, d, ("qpos", "qvel", "act", "time"), rtol)
