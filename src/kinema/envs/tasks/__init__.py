"""Tasks that come with Kinema, one a file; Gymnasium's own in one."""

from kinema.envs.tasks.cartpole import CartPole
from kinema.envs.tasks.cartpole_pixels import CartPolePixels
from kinema.envs.tasks.hopper import Hopper
from kinema.envs.tasks.humanoid import Humanoid
from kinema.envs.tasks.quadruped import Quadruped
from kinema.envs.tasks.reacher import Reacher

__all__ = ["CartPole", "CartPolePixels", "Hopper", "Humanoid", "Quadruped", "Reacher"]
