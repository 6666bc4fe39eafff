"""Random scenes conform: a fixed few in every run; generated.py does any number of them.

What larger runs found has tests of its own, each where it belongs: adhesion, actuators switched off, short line
searches, islands of projected Gauss-Seidel, static bodies in a fluid, trees kept awake by actuators between sites.
"""

import mujoco
import pytest

from kinema.compile import compile_model
from kinema.errors import KinemaError
from tests.compile.oracle import agree

from . import flex_scenes
from .by_table import scene_by_table, tries
from .generated import examine
from .scenes import draw, scene

SEEDS = (*range(21), 22, 23, 28)
"""Scenes of all integrators, cones and solvers, and of no dofs at all."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_scene_conforms(seed):
    score = examine(scene(seed), quick=True)
    assert not score.wrong and len(score.compared) > 10, score.wrong


def test_a_seed_is_a_scene():
    assert scene(3) == scene(3) != scene(4)
    assert scene_by_table(3) == scene_by_table(3) != scene(3)


@pytest.mark.parametrize("seed", range(5))
def test_what_the_table_adds_is_compiled_or_refused_as_mujoco_does(seed):
    """One attribute or element of the schema after another, whatever it is."""
    taken_of = {True: 0, False: 0}
    for text, taken in tries(scene(seed), seed):
        taken_of[taken] += 1
        if taken:
            agree(text)
        else:
            with pytest.raises(KinemaError):
                compile_model(text)
    assert taken_of[True] > 15 and taken_of[False] > 3


@pytest.mark.parametrize("seed", range(0, 40))
def test_a_scene_with_flexes_compiles(seed):
    agree(flex_scenes.scene(seed))


@pytest.mark.parametrize(("drawn", "fewest", "most"), [(draw, 5, 30), (flex_scenes.draw, 15, 45)])
def test_what_mujoco_refuses_is_refused(drawn, fewest, most):
    """And nothing else: whatever was drawn, both compile it, or neither does."""
    refused = 0
    for seed in range(60):
        text = drawn(seed)
        try:
            mujoco.MjModel.from_xml_string(text)
        except ValueError:
            refused += 1
            with pytest.raises(KinemaError):
                compile_model(text)
            continue
        compile_model(text)
    assert fewest < refused < most
