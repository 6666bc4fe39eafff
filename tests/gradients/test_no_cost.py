"""Who does not ask for derivatives pays nothing for them."""

import subprocess
import sys

import numpy as np

from kinema.gradients.linearize import linearizer
from kinema.simulation import Simulation

from .test_linearize import PENDULUM

WITHOUT = """
import sys
from kinema import Simulation
sim = Simulation({xml!r}, worlds=2)
sim.step(3)
assert not [name for name in sys.modules if name.startswith("kinema.gradients")], "gradients were loaded"
"""


def test_steps_load_nothing_of_it():
    xml = PENDULUM.format("Euler")
    subprocess.run([sys.executable, "-c", WITHOUT.format(xml=xml)], check=True, timeout=300)


def test_a_linearization_leaves_the_engine_as_it_was():
    """The same stages, the same arrays in the same places, and the same steps to the bit."""
    plain, asked = (Simulation(PENDULUM.format("Euler"), worlds=2) for _ in range(2))
    engine = asked.engine
    recipes = {name: tuple(stages) for name, stages in engine.recipes.items()}
    places = {name: (array.ptr, array.capacity) for name, array in engine.layout.arrays.items()}
    version = engine.version
    for sim in (plain, asked):
        sim.set_state(qpos=[[0.3], [1.0]], qvel=0.5, ctrl=0.1)
    for _ in range(3):
        asked.linearize()
        plain.step()
        asked.step()
    assert {name: tuple(stages) for name, stages in engine.recipes.items()} == recipes
    assert {name: (array.ptr, array.capacity) for name, array in engine.layout.arrays.items()} == places
    assert engine.version == version
    assert plain.engine.recipes.keys() == engine.recipes.keys()
    for name in ("qpos", "qvel", "qacc", "qacc_warmstart"):
        np.testing.assert_array_equal(plain.engine.read(name), engine.read(name))


def test_nothing_is_allocated_when_it_is_asked_again():
    sim = Simulation(PENDULUM.format("Euler"), worlds=2)
    sim.reset()
    one = linearizer(sim.engine)
    first, runs, memory = one(), one.runs(), one.memory
    again = one()
    assert again.ptr == first.ptr and one.runs() is runs and one.memory == memory > 0
