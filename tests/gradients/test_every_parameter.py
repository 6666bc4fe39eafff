"""The gradient by every parameter that can be written, against differences of MuJoCo in double precision.

The models give most parameters their neutral values, where much of a step is left out: that the number is 0 does not
mean that its slope is. Where a number can only grow from there, the slope is that of growing.
"""

import warnings

import mujoco
import numpy as np
import pytest

from kinema import Simulation
from kinema.errors import KernelsRebuilt
from kinema.gradients.rollout import rollout
from tests.convex import test_writes as writes

torch = pytest.importorskip("torch")
STEPS = 3
APART = {
    "body_mass": "weights of subtrees do not follow it, which free bodies of MuJoCo mind: test_rollout.py has masses",
    "body_subtreemass": "the same",
    "sensor_cutoff": "0 is none at all, and what is above it cuts everything off",
    "sensor_delay": "0 is none at all, and readings jump from sample to sample",
    "dof_frictionloss": "0 has no constraint row",
    "tendon_frictionloss": "0 has no constraint row",
    "tendon_armature": "MuJoCo has none for tendons that wrap",
}
"""Parameters that differences of MuJoCo cannot judge here, and why."""

ASLEEP = {
    "implicitfast": "body_gravcomp actuator_armature viscosity body_ipos body_iquat",
    "pyramids": "body_gravcomp geom_surfacevel geom_adhesion geom_solmix geom_size pair_friction pair_adhesion "
                "pair_solref dof_damping viscosity",
}  # fmt: skip
"""Some that must count, though the step was built without what they do."""


class Judge:
    """A number of what MuJoCo's model does in a few steps."""

    def __init__(self, xml: str):
        self.m = writes.oracle(xml)
        self.m.opt.tolerance, self.m.opt.iterations = 0.0, 200
        self.start = writes.start_of(self.m)
        self.qpos = mujoco.MjData(self.m).qpos.copy()
        rng, m = np.random.default_rng(3), self.m
        sizes = {"qpos": m.nq, "qvel": m.nv, "act": m.na, "sensordata": m.nsensordata}
        self.weights = {name: rng.normal(size=size) for name, size in sizes.items()}

    def cost(self) -> float:
        d = mujoco.MjData(self.m)
        d.qpos[:] = self.qpos
        for name, value in self.start.items():
            getattr(d, name)[:] = value
        sum = 0.0
        for _ in range(STEPS):
            mujoco.mj_step(self.m, d)
            sum += 0.1 * self.weights["sensordata"] @ d.sensordata
        return sum + sum_of({name: self.weights[name] @ getattr(d, name) for name in ("qpos", "qvel", "act")})

    def slopes(self, name: str) -> np.ndarray:
        """By every number of a parameter."""
        old = np.array(getattr(writes.owner_of(self.m, name), name), float)
        found = np.zeros(old.size)
        for k in range(old.size):
            eps, ends = 1e-6 * max(1.0, abs(old.ravel()[k])), []
            sides = (eps, 0.0) if name in ("density", "viscosity", "dof_damping") else (eps, -eps)
            for side in sides:
                new = old.ravel().copy()
                new[k] += side
                writes.put(self.m, name, new.reshape(old.shape))
                ends.append(self.cost())
            found[k] = (ends[0] - ends[1]) / (sides[0] - sides[1])
        writes.put(self.m, name, old)
        return found


def sum_of(parts: dict[str, float]) -> float:
    return float(np.sum(list(parts.values())))


def ours(sim: Simulation, judge: Judge, name: str) -> np.ndarray:
    sim.reset()
    begin = {n: torch.tensor(np.tile(v, (2, 1)), dtype=torch.float32) for n, v in judge.start.items()}
    begin["qpos"] = torch.tensor(np.tile(judge.qpos, (2, 1)), dtype=torch.float32)
    number = torch.tensor(np.float32(np.array(sim.engine.read(name)[0])), requires_grad=True)
    ctrl = begin.pop("ctrl")[None].repeat(STEPS, 1, 1)
    path = rollout(sim, ctrl, **begin, parameters={name: number}, sensors=True)
    weights = {n: torch.tensor(w, dtype=torch.float32) for n, w in judge.weights.items()}
    cost = sum((getattr(path, n)[-1, 0] * weights[n]).sum() for n in ("qpos", "qvel", "act"))
    (cost + 0.1 * (path.sensordata[:, 0] * weights["sensordata"]).sum()).backward()
    return number.grad.numpy().astype(float).ravel()


@pytest.mark.parametrize("which", ["implicitfast", "pyramids"])
def test_every_parameter_has_its_gradient(which):
    judge = Judge(writes.MODELS[which])
    sim = Simulation(writes.MODELS[which].replace("<option ", '<option tolerance="0" iterations="100" '), worlds=2)
    wrong, moved = {}, set()
    for name in writes.parameters(sim.engine):
        if name in APART or not hasattr(writes.owner_of(judge.m, name), name):
            continue
        expected = judge.slopes(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KernelsRebuilt)
            found = ours(sim, judge, name)
            sim.engine.set_parameter(name, sim.engine.built(name))
        scale = max(np.abs(expected).max(initial=0.0), 1e-3)
        moved |= {name} if np.abs(expected).max(initial=0.0) > 1e-4 else set()
        off = np.abs(expected - found).max(initial=0.0)
        if not off < 0.005 * scale:
            wrong[name] = (off, scale)
    assert not wrong, wrong
    assert set(ASLEEP[which].split()) <= moved


def test_a_derivative_keeps_what_it_woke():
    xml = '<mujoco><worldbody><body><freejoint/><geom type="box" size=".1 .2 .3"/></body></worldbody></mujoco>'
    sim = Simulation(xml)
    calm = Simulation(xml)
    number = torch.tensor(np.float32(sim.m.body_gravcomp), requires_grad=True)
    with pytest.warns(KernelsRebuilt, match="derivative by body_gravcomp woke gravity_compensation"):
        path = rollout(sim, torch.zeros(4, 1, 0), parameters={"body_gravcomp": number})
    path.qvel[-1, 0, 2].backward()
    h = float(sim.m.opt.timestep)
    np.testing.assert_allclose(number.grad.numpy(), [0, 4 * 9.81 * h], rtol=1e-5)
    calm.step(4)
    np.testing.assert_array_equal(sim.d.qpos, calm.d.qpos)
