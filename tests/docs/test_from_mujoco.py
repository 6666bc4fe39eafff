"""The page for people who come from MuJoCo names every function of MuJoCo's, and nothing that is not here."""

import re
from pathlib import Path

import mujoco
import pytest

from kinema import Simulation
from tests.simulation.models import LIMBS

PAGE = (Path(__file__).parents[2] / "docs" / "from-mujoco.md").read_text(encoding="utf-8")
FUNCTIONS = [name for name in dir(mujoco) if name.startswith(("mj_", "mjd_"))]


def test_mujoco_has_functions():
    assert len(FUNCTIONS) > 100


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_in_a_table(name):
    rows = [line for line in PAGE.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1]]
    assert rows, f"docs/from-mujoco.md says nothing of {name}"
    assert all(row.split("|")[2].strip() for row in rows)


def test_groups_of_functions_are_there():
    for prefix in ("mju_", "mjv_", "mjr_", "mjs_", "mjp_"):
        assert f"`{prefix}*`" in PAGE


def test_what_the_page_names_is_there():
    """Methods and fields of a simulation."""
    sim = Simulation(LIMBS, device="cpu", threads=1)
    known = {"d": dir(sim.d), "m": dir(sim.m), "engine": dir(sim.engine)}
    for part, name in set(re.findall(r"\bsim\.(?:(d|m|engine)\.)?([a-z]\w*)", PAGE)):
        there = name in known[part] if part else hasattr(sim, name)
        assert there or (part == "m" and name == "opt"), f"sim.{part + '.' if part else ''}{name}"
