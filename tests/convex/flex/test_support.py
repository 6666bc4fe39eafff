"""A switch that asks for what is not simulated is refused, and stays as it was."""

import mujoco
import pytest

from kinema.convex.engine import Engine
from kinema.errors import BuildError
from kinema.mujoco_enums import Solver

SHEET = """
<mujoco>
  <option integrator="discrete"/>
  <worldbody>
    <flexcomp name="sheet" type="grid" dim="2" count="3 3 1" spacing=".1 .1 .1" radius=".01" mass="1">
      <elasticity young="1e3" thickness=".01" elastic2d="both"/><contact selfcollide="none"/></flexcomp>
  </worldbody>
</mujoco>"""


def test_a_switch_that_is_refused_stays():
    m = mujoco.MjModel.from_xml_string(SHEET)
    engine = Engine(m, 1, device="cpu")
    with pytest.raises(BuildError, match="Newton"):
        engine.set_option("solver", int(Solver.PGS))
    assert engine.present.to("test").opt.solver == Solver.NEWTON
    engine.step()
    assert engine.read("time")[0] > 0
    m.opt.solver = int(Solver.PGS)
    with pytest.raises(mujoco.FatalError):  # nor does MuJoCo step it
        mujoco.mj_step(m, mujoco.MjData(m))
