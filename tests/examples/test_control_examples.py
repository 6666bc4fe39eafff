"""The examples of planning and learning run in short form, and get where they say."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_poles_are_swung_up(capsys):
    module = example("swing_up")
    plans = module.main(["--small"])
    best = plans["iLQR"]
    assert (module.upright(best.qpos[0, :, 1]) > 2.8).all() and (module.upright(best.qpos[-1, :, 1]) < 0.1).all()
    assert np.abs(best.ctrl).max() == 1.0  # the limits of the motor hold, and are needed
    assert (best.cost < plans["MPPI"].cost).all() and (plans["MPPI"].cost < 0.5 * plans["MPPI"].costs[0]).all()
    assert "pushed on the way, and still upright: 2 of 2" in capsys.readouterr().out


def test_a_quadruped_begins_to_trot():
    module = example("quadruped_ilqr")
    walked = module.main(["--small"])
    assert walked["costs"][0, 1, 0] < 0.5 * walked["costs"][0, 0, 0]  # the first plan, from standing still
    speed = np.diff(walked["trunk"][:, 0, 0]) / 0.01
    assert speed[-10:].mean() > 0.15 and np.abs(walked["trunk"][:, 0, 2] - module.HEIGHT).max() < 0.05
    swung = walked["feet"][5:15, 0].mean(0)  # of a stride of forty steps, the first twenty belong to two of the feet
    assert swung[[0, 3]].min() > 0.015 and swung[[1, 2]].max() < 0.008


def test_a_hopper_is_taught_by_gradients():
    module = example("shac_hopper")
    seen = module.main(["--small"])
    again = module.main(["--small"])
    assert seen == again  # to the bit
    assert np.isfinite(seen["gradient"]).all() and min(seen["gradient"]) > 1e-3
