"""On a GPU: nothing passes through the host, and worlds do what they do on the CPU."""

import numpy as np
import pytest

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
