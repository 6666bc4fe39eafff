"""Pictures drawn on a GPU are those of the CPU, also from a captured graph; skipped where there is none."""

import numpy as np
import pytest
import warp as wp

from kinema.render import Renderer
from kinema.simulation import Simulation

from .test_renderer import SCENE
from .test_skin import sleeve
from .test_trace import shapes

KINDS = ("rgb", "depth", "segmentation")
TEXTS = {"scene": SCENE, "shapes": shapes(), "skin": sleeve(0.02)}

pytestmark = pytest.mark.gpu


def drawn(text: str, device: str, qpos: np.ndarray | None, *, graph: bool = False) -> dict[str, np.ndarray]:
    sim = Simulation(text, worlds=4, device=device)
    renderer = Renderer(sim, 0, 70, 50, kinds=KINDS, antialias=True)
    renderer.render()  # loads kernels and builds trees at another state than the one compared
    if qpos is not None:
        sim.set_state(qpos=qpos)
    if graph:
        with wp.ScopedCapture(device=device) as capture:
            renderer.render()
        for kind in KINDS:
            getattr(renderer, kind).zero_()
        wp.capture_launch(capture.graph)
    else:
        renderer.render()
    return {kind: getattr(renderer, kind).numpy() for kind in KINDS}


@pytest.mark.parametrize("graph", [False, True], ids=["launched", "captured"])
@pytest.mark.parametrize("name", TEXTS)
def test_gpu_draws_what_the_cpu_draws(name, graph):
    states = np.random.default_rng(0).uniform(-0.6, 0.6, (4, 2)) if name != "shapes" else None
    ours = drawn(TEXTS[name], "cpu", states)
    theirs = drawn(TEXTS[name], "cuda:0", states, graph=graph)
    same = (ours["segmentation"] == theirs["segmentation"]).all(axis=-1)
    assert np.mean(~same) < 0.002
    np.testing.assert_allclose(theirs["depth"][same], ours["depth"][same], rtol=1e-3)
    apart = np.abs(theirs["rgb"].astype(int) - ours["rgb"]).max(axis=-1)
    assert np.mean(apart > 3) < 0.01 and ours["rgb"].std() > 5
