"""On a GPU: nothing passes through the host, and worlds do what they do on the CPU."""

import numpy as np
import pytest

import kinema.envs
from kinema.envs import make

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch sees"),
]


@pytest.mark.parametrize("name", ["CartPole", "Reacher", "Quadruped"])
def test_worlds_do_what_they_do_on_the_cpu(name):
    envs = [make(name, 64, backend="torch", device=device, max_episode_steps=7) for device in ("cpu", "cuda:0")]
    seen = [env.reset(seed=0)[0].cpu().numpy() for env in envs]
    np.testing.assert_allclose(seen[1], seen[0], atol=1e-5)
    rng = np.random.default_rng(0)
    for _ in range(16):
        action = torch.as_tensor(rng.uniform(-0.3, 0.3, envs[0].action_space.shape), dtype=torch.float32)
        cpu, gpu = envs[0].step(action), envs[1].step(action.cuda())
        assert gpu[0].is_cuda and gpu[1].is_cuda and gpu[2].is_cuda and gpu[4]["final_obs"].is_cuda
        np.testing.assert_array_equal(gpu[3].cpu().numpy(), cpu[3].numpy())
        np.testing.assert_allclose(gpu[4]["final_obs"].cpu().numpy(), cpu[4]["final_obs"].numpy(), atol=5e-3)
        np.testing.assert_allclose(gpu[1].cpu().numpy(), cpu[1].numpy(), atol=5e-3)


def test_a_step_does_not_wait_for_the_gpu():
    env = make("CartPole", 256, backend="torch", device="cuda:0", max_episode_steps=5)
    action = torch.zeros(256, 1, device="cuda:0")
    env.reset(seed=0)
    for _ in range(6):
        env.step(action)  # everything is loaded and captured
    torch.cuda.set_sync_debug_mode("error")  # torch's own operations that wait raise
    try:
        for _ in range(6):
            env.step(action)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_numpy_is_served_by_copies():
    env = make("CartPole", 8, device="cuda:0", max_episode_steps=5)
    host = make("CartPole", 8, device="cpu", max_episode_steps=5)
    np.testing.assert_allclose(env.reset(seed=0)[0], host.reset(seed=0)[0], atol=1e-6)
    for _ in range(7):
        found, expected = env.step(np.ones((8, 1))), host.step(np.ones((8, 1)))
        np.testing.assert_allclose(found[0], expected[0], atol=1e-4)
        np.testing.assert_array_equal(found[3], expected[3])


CAPTURED = ("CartPole", "Reacher", "Quadruped", "Humanoid", "Ant-v5", "Humanoid-v5", "CartPolePixels")


@pytest.mark.parametrize("name", CAPTURED)
def test_a_step_is_one_graph_that_does_what_its_parts_do(name):
    options = {"backend": "torch", "device": "cuda:0", "max_episode_steps": 5, "seed": 3}
    whole, parts = make(name, 64, **options), make(name, 64, capture=False, **options)
    seen = [env.reset()[0] for env in (whole, parts)]
    assert torch.equal(*seen)
    generator = torch.Generator("cuda:0").manual_seed(0)
    for k in range(14):
        action = torch.rand(whole.action_space.shape, generator=generator, device="cuda:0") * 0.4 - 0.2
        one, two = whole.step(action), parts.step(action)
        assert whole.graph.is_captured == (k >= 2), whole.graph.reason
        for a, b in zip(one[:4], two[:4], strict=True):
            assert torch.equal(a, b)
        assert torch.equal(one[4]["final_obs"], two[4]["final_obs"])
    assert not parts.graph.is_captured


class Waiting(kinema.envs.TASKS["CartPole"]):
    def reward(self, worlds, action):
        return super().reward(worlds, action) + float(worlds.qpos.sum().item() * 0)


def test_a_task_that_waits_says_so_and_runs():
    env = kinema.envs.VectorEnv(Waiting(), 8, backend="torch", device="cuda:0", seed=0)
    env.reset()
    with pytest.warns(RuntimeWarning, match="waits for the GPU"):
        for _ in range(6):
            env.step(torch.zeros(8, 1, device="cuda:0"))
    assert not env.graph.is_captured
