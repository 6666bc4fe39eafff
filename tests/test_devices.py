"""A device that is not there: the same words, which the documentation explains, at every door."""

import pathlib
import re

import pytest
import warp as wp

import kinema
from kinema.compile import compile_model
from kinema.convex.engine import Engine
from kinema.devices import device_named
from kinema.errors import BuildError

ROOT = pathlib.Path(__file__).parents[1]
MODEL = '<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>'
ABSENT = "cuda:99"


def builder():
    made = kinema.ModelBuilder()
    made.add_mjcf(MODEL)
    return made


DOORS = {
    "Simulation": lambda: kinema.Simulation(MODEL, device=ABSENT),
    "mujoco": lambda: kinema.Simulation(MODEL, device=ABSENT, solver="mujoco"),
    "Engine": lambda: Engine(compile_model(MODEL), device=ABSENT),
    "finalize": lambda: builder().finalize(device=ABSENT),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_says_it(door):
    with pytest.raises(BuildError, match=r"there is no device 'cuda:99'.*; this machine has cpu"):
        DOORS[door]()


def test_without_cuda_it_says_why(monkeypatch):
    monkeypatch.setattr(wp, "is_cuda_available", lambda: False)
    with pytest.raises(BuildError, match="CUDA is not available: NVIDIA's driver is not installed"):
        device_named(ABSENT)


def test_a_misspelt_one_is_suggested():
    with pytest.raises(BuildError, match="did you mean 'cpu'"):
        device_named("cpuu")
    assert device_named("cpu") is device_named(wp.get_device("cpu"))


def test_nobody_asks_warp_directly():
    """Warp's own error says neither what there is nor why."""
    asking = [path for path in (ROOT / "src").rglob("*.py") if re.search(r"\bwp\.get_device\(", path.read_text())]
    assert asking == [ROOT / "src/kinema/devices.py"]
