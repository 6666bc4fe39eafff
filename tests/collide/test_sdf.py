"""Signed distance fields against MuJoCo's torus and bowl plugins."""

import mujoco
import numpy as np
import pytest
import warp as wp
from oracle import match_contacts
from shapes import GEOM

from kinema.collide.detect import Detector
from kinema.collide.sdf import Fields
from kinema.errors import BuildError

TORUS = 0
BOWL = 1


@wp.func
def distance(kind: int, p: wp.vec3d, q: wp.array(dtype=float)) -> wp.float64:
    """A torus (radii) and a bowl (height, radius, thickness)."""
    r = wp.sqrt(p[0] * p[0] + p[1] * p[1])
    zero = wp.float64(0.0)
    if kind == TORUS:
        return wp.length(wp.vec2d(r - wp.float64(q[0]), p[2])) - wp.float64(q[1])
    height = wp.float64(q[0])
    radius = wp.float64(q[1])
    width = wp.sqrt(radius * radius - height * height)
    d = wp.abs(wp.length(p) - radius)
    if height * r < width * p[2]:
        d = wp.length(wp.vec2d(r - width, p[2] - height))
    return d - wp.float64(q[2]) + zero


def model(other: str, field: str, option: str = "") -> mujoco.MjModel:
    def body(geom: str) -> str:
        return f"<body><freejoint/>{geom}</body>"

    sdf = f'<geom type="sdf" mesh="m"><plugin instance="{field}"/></geom>'
    first = sdf if other == "sdf" else f"<geom {GEOM[other]}/>"
    return mujoco.MjModel.from_xml_string(f"""<mujoco>
      <option {option}/>
      <extension>
        <plugin plugin="mujoco.sdf.torus"><instance name="torus"/></plugin>
        <plugin plugin="mujoco.sdf.bowl"><instance name="bowl"/></plugin>
      </extension>
      <asset><mesh name="m"><plugin instance="{field}"/></mesh></asset>
      <worldbody>{body(first)}{body(sdf)}</worldbody></mujoco>""")


def fields(m: mujoco.MjModel, name: str) -> Fields:
    is_sdf = m.geom_type == 8
    kind = np.where(is_sdf, TORUS if name == "torus" else BOWL, -1).astype(np.int32)
    parameters = [0.35, 0.15, 0.0] if name == "torus" else [0.4, 1.0, 0.02]
    return Fields(distance, kind, np.tile(parameters, (m.ngeom, 1)))


@pytest.mark.parametrize("field", ["torus", "bowl"])
@pytest.mark.parametrize("other", ["sphere", "capsule", "ellipsoid", "cylinder", "box", "sdf"])
def test_descent(other, field):
    m = model(other, field)
    reach = 0.3 if field == "torus" else 0.6
    match_contacts(m, 25, reach, at_least=100, fields=fields(m, field))


@pytest.mark.parametrize("option", ['sdf_iterations="6"', 'sdf_initpoints="25"'])
def test_length_and_number_of_descents(option):
    m = model("sphere", "torus", option)
    match_contacts(m, 25, 0.3, at_least=50, fields=fields(m, "torus"))


def test_models_without_functions_are_refused():
    with pytest.raises(BuildError, match="fields"):
        Detector(model("sphere", "torus"), 1, device="cpu")
