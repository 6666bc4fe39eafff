"""What elastic bodies do by theory, whatever MuJoCo does: cantilevers, energy."""

import mujoco
import numpy as np
import pytest

from .scenes import disturbed, engine_at, model, scene

YOUNG, HIGH, GRAVITY = 1e6, 0.1, 0.05


def cantilever(cells: int, width: int, wide: float) -> str:
    """A beam or plate of quadratic cells, one end held, 1 m long."""
    count = 2 * cells + 1, 2 * width + 1, 3
    spacing = 1 / (count[0] - 1), wide / (count[1] - 1), HIGH / (count[2] - 1)
    held = " ".join(str(k) for k in range(count[1] * count[2]))
    return f"""<mujoco><option timestep=".04" integrator="discrete" gravity="0 0 -{GRAVITY}"/><worldbody>
      <flexcomp name="beam" type="grid" dim="3" count="{count[0]} {count[1]} {count[2]}" mass="1" radius=".001"
        spacing="{spacing[0]} {spacing[1]} {spacing[2]}" dof="quadratic" cellcount="{cells} {width} 1">
        <elasticity young="{YOUNG}" poisson="0" damping=".3"/><contact contype="0" conaffinity="0" selfcollide="none"/>
        <pin id="{held}"/></flexcomp></worldbody></mujoco>"""


@pytest.mark.parametrize(("width", "wide"), [(1, 0.1), (2, 0.6)])
def test_a_cantilever_bends_as_beams_do(width, wide):
    """Timoshenko's beam under the weights of its nodes: sum of P a^2 (3 L - a) / 6 E I + P a / (5/6 G A)."""
    m = model(cantilever(4, width, wide))
    engine = engine_at(m, mujoco.MjData(m))
    start = engine.read("flexvert_xpos")[0].astype(float)
    engine.step(150)
    assert np.abs(engine.read("qvel")).max() < 1e-5
    end = start[:, 0] > start[:, 0].max() - 1e-6
    fall = -(engine.read("flexvert_xpos")[0].astype(float) - start)[end, 2].mean()
    body = np.asarray(m.flex_nodebodyid)
    load = GRAVITY * np.asarray(m.body_mass)[body] * (np.asarray(m.body_dofnum)[body] == 3)
    a = np.asarray(m.flex_node0)[:, 0] - np.asarray(m.flex_node0)[:, 0].min()
    area, second = wide * HIGH, wide * HIGH**3 / 12
    theory = np.sum(load * a**2 * (3 - a)) / (6 * YOUNG * second) + np.sum(load * a) / (5 / 6 * YOUNG / 2 * area)
    assert fall == pytest.approx(theory, rel=0.02)


def energy(m: mujoco.MjModel, qpos: np.ndarray, qvel: np.ndarray) -> float:
    """Kinetic energy, and that of stretched tetrahedra: (s - S)' K (s - S) / 4."""
    d = mujoco.MjData(m)
    d.qpos, d.qvel = qpos, qvel
    mujoco.mj_forward(m, d)
    change = np.asarray(d.flexedge_length) ** 2 - np.asarray(m.flexedge_length0) ** 2
    total = 0.5 * float(np.sum(np.asarray(m.dof_M0) * np.asarray(qvel, float) ** 2))
    upper = np.triu_indices(6)
    for e in range(m.nflexelem):
        k = np.zeros((6, 6))
        k[upper] = np.asarray(m.flex_stiffness)[24 * e : 24 * e + 21]
        s = change[np.asarray(m.flex_elemedge)[6 * e : 6 * e + 6]]
        total += float(s @ (k + np.triu(k, 1).T) @ s) / 4
    return total


def test_the_energy_of_an_undamped_block_does_not_grow():
    """A block that was struck, free of gravity and of anything to touch, under the discrete integrator."""
    inside = '<elasticity young="2e3" poisson=".2"/>'
    text = scene(3, inside=inside, option='integrator="discrete" gravity="0 0 0"').replace("0.002", "0.0005")
    m = model(text)
    d = disturbed(m, 0, 0.05)
    engine = engine_at(m, d)
    found = []
    for _ in range(20):
        found.append(energy(m, engine.read("qpos")[0], engine.read("qvel")[0]))
        engine.step(5)
    assert found[0] > 1e-4 and np.all(np.diff(found) <= 1e-5 * found[0])
    assert found[-1] > 0.2 * found[0], "what does not grow should not vanish either"
