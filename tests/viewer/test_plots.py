"""Plots of any field by name."""

import numpy as np
import pytest

from kinema import Simulation
from kinema.errors import KinemaError
from kinema.viewer.plots import Trace, channel_of

MODEL = """<mujoco><worldbody>
  <body name="upper"><joint name="a" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/>
  <body name="hand" pos=".4 0 0"><joint name="b" axis="0 1 0"/><geom size=".1"/><site name="tip"/></body></body>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def sim():
    sim = Simulation(MODEL, worlds=2, device="cpu")
    sim.set_state(qvel=[[1.0, 2.0], [3.0, 4.0]])
    sim.forward()
    return sim


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("qvel", lambda d: d.qvel[1]),
        (" qvel[1] ", lambda d: d.qvel[1, 1:]),
        ("qvel[-1]", lambda d: d.qvel[1, 1:]),
        ("qvel[0:1]", lambda d: d.qvel[1, :1]),
        ("xpos[hand]", lambda d: d.xpos[1, 2]),
        ("xpos[1:]", lambda d: d.xpos[1, 1:].reshape(-1)),
        ("site_xpos[tip]", lambda d: d.site_xpos[1, 0]),
        ("xaxis[b]", lambda d: d.xaxis[1, 1]),
        ("time", lambda d: np.atleast_1d(d.time[1])),
    ],
)
def test_a_field_by_name(sim, text, expected):
    channel = channel_of(sim, text)
    np.testing.assert_allclose(channel.read(sim, 1), expected(sim.d))
    trace = Trace(channel)
    assert trace.take(sim, 1) and len(trace.data()) == 1 + channel.count


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("qvell", "did you mean 'qvel'"),
        ("xpos[hnd]", "did you mean 'hand'"),
        ("qvel[7]", "it has 2 rows"),
        ("xmat", "a plot shows 16"),
        ("qvel[1:1]", "nothing to plot"),
        ("a b", "no array named"),
    ],
)
def test_what_cannot_be_plotted(sim, text, said):
    with pytest.raises(KinemaError, match=said):
        channel_of(sim, text)
