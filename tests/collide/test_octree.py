"""Signed distance fields of meshes, and meshes against them, beside MuJoCo."""

import mujoco
import pytest
from oracle import match_contacts
from shapes import ASSET, GEOM

ROCK = '<mesh name="ball" builtin="sphere" params="1" scale=".25 .25 .2"/>'


def model(other: str) -> mujoco.MjModel:
    """A mesh as a distance field (geom 2), and another geom."""
    field = '<geom type="sdf" mesh="ball"/>'
    first = field if other == "sdf" else f"<geom {GEOM[other]}/>"
    bodies = "".join(f"<body><freejoint/>{geom}</body>" for geom in (first, field))
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><asset>{ASSET}{ROCK}</asset><worldbody>{bodies}</worldbody></mujoco>"
    )


@pytest.mark.parametrize("other", ["sphere", "capsule", "box", "sdf", "cube", "rock"])
def test_contacts(other):
    """Descent and face search are chaotic for some starts, so contacts are matched by place."""
    match_contacts(model(other), 25, 0.2, at_least=30)
