"""Cart and pole from pictures: the policy sees what a camera sees, and nothing else.

Pictures are traced in all worlds at once on the simulation's device (kinema.render); with torch they stay there. One
picture shows no velocities: let Gymnasium's FrameStackObservation, or a network with a memory, put several in a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.envs.tasks.cartpole import CartPole


class CartPolePixels(CartPole):
    """Sees (height, width, 3) bytes; earns what CartPole earns.

    Args:
        pixels: Width and height of a picture.
        view: The camera.
    """

    def __init__(self, *, pixels: tuple[int, int] = (64, 32), view: str | int = "side"):
        self.pixels, self.view = pixels, view

    def bind(self, worlds):
        from kinema.render import Renderer  # few tasks draw

        self.renderer = Renderer(worlds.sim, self.view, *self.pixels, shadows=False, reflections=False)

    def observe(self, worlds) -> Any:
        self.renderer.render()
        return worlds.share(self.renderer.rgb)[:, 0]

    def observation_space(self, shape):
        return 0, 255, shape, np.uint8
