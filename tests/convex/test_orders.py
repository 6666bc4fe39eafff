"""CUDA's recipe, phase by phase on the CPU, with its threads in two orders: both are legal, so both give the same bits.

Compiled is one kernel a stage, shared by all models (tests/conformance/staged.py). The corpus: test_corpus_on_cuda.py.
"""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from kinema.convex.schedule import phases, races
from kinema.convex.stage import Stage
from tests.conformance.staged import OrderedEngine
from tests.convex.recipes import cohorts

FREE = '<option><flag contact="disable" constraint="disable"/></option>'
PENDULUM = f"""<mujoco>{FREE}<worldbody><body pos="0 0 1"><joint axis="0 1 0" stiffness="5" damping="0.5"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".05"/></body></worldbody></mujoco>"""
THRUSTER = f"""<mujoco>{FREE}<worldbody><body pos="0 0 1"><freejoint/><geom type="box" size=".2 .2 .05"/>
    <site name="s" pos=".2 .1 0"/></body></worldbody>
    <actuator><general site="s" gear="0 0 1 0 0 .1"/></actuator></mujoco>"""
SMALL = {"pendulum": PENDULUM, "thruster": THRUSTER}


def load(name: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(SMALL[name])


def disturb(m: mujoco.MjModel, engine: OrderedEngine) -> None:
    """Put a world at a state where everything moves."""
    rng = np.random.default_rng(7)
    d = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    qpos = d.qpos.copy()
    mujoco.mj_integratePos(m, qpos, rng.uniform(-1, 1, m.nv), 0.1)
    start = {
        "qpos": qpos, "qvel": rng.uniform(-0.3, 0.3, m.nv), "act": rng.uniform(0, 0.5, m.na),
        "ctrl": rng.uniform(-0.5, 0.5, m.nu), "xfrc_applied": rng.uniform(-0.1, 0.1, (m.nbody, 6)),
    }  # fmt: skip
    for name, value in start.items():
        if value.size:
            engine.write(name, value)


class Watched(OrderedEngine):
    """Looks after each stage at what it has changed."""

    def _launch(self, stage: Stage, advancing: bool, *items: int) -> None:
        before = self.bytes()
        super()._launch(stage, advancing, *items)
        changed = {name for name, value in self.bytes().items() if value != before[name]}
        assert changed <= stage.access.writes, f"{stage.func.key} writes {changed - stage.access.writes} unseen"

    def bytes(self) -> dict[str, bytes]:
        return {name: array.numpy().tobytes() for name, array in self.layout.arrays.items() if array.size}


def run(m: mujoco.MjModel, backward: bool, groups=phases, steps: int = 2, kind=OrderedEngine) -> OrderedEngine:
    engine = kind(m, 1, device="cpu", backward=backward, groups=groups)
    disturb(m, engine)
    engine.step(steps)
    return engine


def different(m: mujoco.MjModel, groups=phases, steps: int = 2) -> list[str]:
    """Arrays that depend on the order of threads."""
    ends = [run(m, backward, groups, steps).layout.arrays for backward in (False, True)]
    return [
        name for name, array in ends[0].items()
        if array.size and array.numpy().tobytes() != ends[1][name].numpy().tobytes()
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------- small models


@pytest.mark.parametrize("name", SMALL)
def test_orders_of_threads_do_not_matter(name):
    assert different(load(name), steps=5) == []


@pytest.mark.parametrize("name", SMALL)
def test_stages_write_what_their_source_says(name):
    assert np.isfinite(run(load(name), False, kind=Watched).read("qvel")).all()


def without_barrier(before: str, after: str):
    """The phases, but for the barrier between two stages."""

    def groups(stages):
        made = phases(stages)
        for k in range(len(made) - 1):
            names = [{stage.func.key for stage in phase} for phase in made[k : k + 2]]
            if before in names[0] and after in names[1]:
                return [*made[:k], made[k] + made[k + 1], *made[k + 2 :]]
        return made

    return groups


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [("pendulum", "subtree_centre", "body_inertia"), ("thruster", "joint_axes", "site_transmission")],
)
def test_a_missing_barrier_shows(name, before, after):
    m = load(name)
    assert different(m, without_barrier(before, after), steps=5)


@pytest.mark.parametrize("name", SMALL)
def test_every_barrier_is_needed(name):
    """Two neighbouring phases of one kind clash, or they would be one; and the reader names the clash."""
    count = 0
    for kernel in cohorts(load(name)):
        for first, second in zip(kernel[:-1], kernel[1:], strict=True):
            if first[0].sweep == second[0].sweep:
                assert races(first + second), [stage.func.key for stage in first + second]
                count += 1
    assert count > 2


def test_stages_that_follow_may_not_run_beside():
    for kernel in cohorts(load("pendulum")):
        for phase in kernel:
            if any(stage.follows for stage in phase):
                loose = [replace(stage, follows=False) for stage in phase]
                assert races(loose)
