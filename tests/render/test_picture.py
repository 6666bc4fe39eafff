"""`render`: what it is asked for reaches the renderer, and what is wrong is said."""

import inspect

import pytest

from kinema import ModelBuilder, Simulation
from kinema.errors import BuildError
from kinema.render import picture

BALL = '<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>'


def test_all_that_is_asked_of_a_picture_of_a_model_is_handed_on(monkeypatch):
    builder = ModelBuilder()
    builder.add_mjcf(BALL)
    monkeypatch.setattr(picture, "_of_model", lambda model, state, worlds, draw: draw)
    options = inspect.signature(picture.render).parameters
    asked = {name: object() for name in options if name not in ("sim", "worlds", "state")}
    assert picture.render(builder.finalize(device="cpu"), **asked).keywords == asked


@pytest.mark.parametrize(
    "options, said",
    [({"width": 10.5}, "whole numbers"), ({"height": 0}, "at least 1"), ({"geom_groups": 1}, r"groups 1: .*\(1,\)")],
)
def test_mistakes_are_explained(options, said):
    with pytest.raises(BuildError, match=said):
        Simulation(BALL).render(**options)
