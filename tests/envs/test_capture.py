"""Capture in pieces that need no GPU: when a step is recorded, for how long that holds, and what is said if it is not.

The recorder is replaced by one that repeats Python's work into the same arrays, as a graph would.
"""

import numpy as np
import pytest
import warp as wp

from kinema.convex.engine import Engine
from kinema.envs import make
from kinema.envs.capture import StepGraph, changed, held
from kinema.envs.tasks import CartPole
from kinema.envs.vector_env import VectorEnv

torch = pytest.importorskip("torch")


class Tape:
    """Records by keeping the work, and repeats it into the arrays of the first result."""

    def __init__(self, waits="", breaks=None):
        self.waiting, self.breaks = waits, breaks
        self.recorded = self.replayed = 0

    def waits(self, work):
        return work(), self.waiting

    def record(self, work):
        if self.breaks:
            raise self.breaks
        self.recorded += 1
        kept = {}

        def replay():
            self.replayed += 1
            write(kept, work())

        return replay, kept


def write(kept, told):
    for name, value in told.items():
        if isinstance(value, dict):
            write(kept.setdefault(name, {}), value)
        elif name in kept:
            kept[name][...] = value
        else:
            kept[name] = value.clone()


def taped(env, **options):
    env.graph = StepGraph(env._step, Tape(**options), env._depends)
    return env


def test_a_recorded_environment_does_what_the_other_does():
    plain, env = (make("CartPole", 5, backend="torch", max_episode_steps=6, seed=2) for _ in range(2))
    taped(env)
    plain.reset(), env.reset()
    rng, kept = np.random.default_rng(0), []
    for k in range(20):
        action = torch.as_tensor(rng.uniform(-1, 1, (5, 1)), dtype=torch.float32)
        one, two = plain.step(action), env.step(action)
        for a, b in zip(one[:4], two[:4], strict=True):
            assert torch.equal(a, b)
        assert torch.equal(one[4]["final_obs"], two[4]["final_obs"])
        assert torch.equal(one[4]["episode"]["l"], two[4]["episode"]["l"])
        assert env.graph.is_captured == (k >= 2)
        kept.append((two[0], two[0].clone()))
    assert env.graph.recorder.recorded == 1 and env.graph.recorder.replayed == 18
    assert all(torch.equal(a, b) for a, b in kept)  # what was returned is not written again


def test_without_copies_the_graph_s_own_arrays_are_given():
    env = taped(make("CartPole", 3, backend="torch", seed=0, copy=False))
    env.reset()
    seen = [env.step(torch.zeros(3, 1))[0] for _ in range(5)]
    assert seen[3] is seen[4] and seen[0] is not seen[1]


@pytest.mark.parametrize(
    "change",
    [
        lambda env: setattr(env.task, "gain", 2.0),
        lambda env: setattr(env, "max_episode_steps", 9),
        lambda env: env.sim.expand("dof_damping"),
        lambda env: env.sim.engine.rebuild(),
    ],
    ids=["an attribute of the task", "the length of episodes", "an array that moves", "longer lists"],
)
def test_it_is_recorded_anew_when_what_it_holds_for_changes(change):
    env = taped(VectorEnv(CartPole(), 2, backend="torch", seed=0))
    env.reset()
    for _ in range(4):
        env.step(torch.zeros(2, 1))
    assert env.graph.recorder.recorded == 1
    change(env)
    env.step(torch.zeros(2, 1))
    assert not env.graph.is_captured
    for _ in range(3):
        env.step(torch.zeros(2, 1))
    assert env.graph.is_captured and env.graph.recorder.recorded == 2


class Counting(CartPole):
    """Keeps a number of its own that changes: a graph would not."""

    made = 0

    def reward(self, worlds, action):
        self.made = self.made + 1
        return super().reward(worlds, action)


@pytest.mark.parametrize(
    ("task", "options", "reason"),
    [
        (CartPole, {"waits": "task.py, line 3 waits for the GPU"}, "line 3 waits for the GPU"),
        (CartPole, {"breaks": RuntimeError("operation not permitted")}, "RuntimeError: operation not permitted"),
        (Counting, {}, "task.made changes with every step"),
    ],
)
def test_what_cannot_be_recorded_says_why_once_and_runs(task, options, reason):
    env = taped(VectorEnv(task(), 2, backend="torch", seed=0), **options)
    plain = VectorEnv(CartPole(), 2, backend="torch", seed=0)
    env.reset(), plain.reset()
    with pytest.warns(RuntimeWarning, match=reason) as told:
        seen = [env.step(torch.zeros(2, 1))[0] for _ in range(6)]
    assert len(told) == 1 and not env.graph.is_captured and reason in env.graph.reason
    for observed in seen:
        assert torch.equal(observed, plain.step(torch.zeros(2, 1))[0])


def test_numbers_are_compared_by_value_and_objects_by_identity():
    class Thing:
        pass

    thing = Thing()
    thing.a, thing.b = 1000.5, [1]
    before = held("task", thing)
    thing.a = 1000.0 + 0.5
    assert changed(before, held("task", thing)) == []
    thing.b = [1]
    assert changed(before, held("task", thing)) == ["task.b"]
    thing.c = 0
    assert changed(before, held("task", thing)) == ["task.c"]


def test_room_is_made_for_what_found_none_within_a_graph():
    """Bits of overflow that a step left behind are enough to know how much room there should be."""
    from kinema.compile import compile_model

    balls = "".join(f'<body pos="{0.3 * k} 0 0.09"><freejoint/><geom size="0.1"/></body>' for k in range(3))
    text = f'<mujoco><worldbody><geom type="plane" size="5 5 .1"/>{balls}</worldbody></mujoco>'
    engine = Engine(compile_model(text), 2, device="cpu", nconmax=1, on_overflow="warn")
    with pytest.warns(RuntimeWarning, match="more contacts"):
        engine.step(1)
    before = engine.version
    engine.make_room(1)
    assert engine.capacity.contacts >= 3 and engine.version > before
    engine.step(1)
    assert engine.read("ncon").tolist() == [3, 3] and not engine.read("status").any()


def test_the_kernels_of_a_step_compile_for_cuda(tmp_path):
    from kinema.convex import reset, resting
    from kinema.envs import episodes

    for module in (episodes, reset, resting):
        wp.compile_aot_module(module, arch=90, module_dir=str(tmp_path))
    assert len(list(tmp_path.glob("*.ptx")) + list(tmp_path.glob("*.cubin"))) >= 3
