"""A small model, policies and initial states that worker processes can import."""

import os
from dataclasses import dataclass

import numpy as np

PENDULUM = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body pos="0 0 1">
      <joint name="hinge" axis="0 1 0" damping="0.05"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.5" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <actuator>
    <motor joint="hinge" gear="2" ctrlrange="-1 1" ctrllimited="true"/>
  </actuator>
</mujoco>
"""


def scattered(batch):
    """Initial states drawn for each world."""
    return {"qpos": batch.draws.uniform(-2.0, 2.0, 1), "qvel": batch.draws.normal(0.0, 0.5, 1)}


def damp(batch):
    """A policy with noise."""
    return -0.3 * batch.qvel + 0.1 * batch.draws.normal(shape=1)


@dataclass
class Murderous:
    """A policy that kills its process, once, in the middle of a chunk."""

    marker: str
    step: int
    world: int

    def __call__(self, batch):
        if batch.step == self.step and self.world in batch.world and not os.path.exists(self.marker):
            with open(self.marker, "w") as file:
                file.write(str(os.getpid()))
            os.kill(os.getpid(), 9)
        return damp(batch)


def broken(batch):
    """A policy with a mistake in it."""
    return np.zeros((len(batch), 3))
