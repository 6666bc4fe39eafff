"""The table of contacts: balls at rest push the floor with their weight."""

import numpy as np
import pytest

from kinema.compile import compile_model
from kinema.errors import UnknownKey
from tests.conformance.staged import StagedEngine
from tests.functions.test_against_mujoco import Functions

PILE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="ball" pos="0 0 .099"><freejoint/><geom name="ball" size=".1" mass="1"/></body>
    <body pos="1 0 .099"><freejoint/><geom size=".1" mass="2"/></body>
  </worldbody>
</mujoco>
"""


def test_the_table_of_contacts():
    """Three worlds of balls at rest: each pushes the floor with its weight; one is lifted in one world."""
    engine = StagedEngine(compile_model(PILE), 3, device="cpu")
    sim = Functions(engine)
    engine.step(400)
    engine.write("qpos", [0, 0, 0.5, 1, 0, 0, 0, 1, 0, 0.099, 1, 0, 0, 0], [1])
    engine.forward()
    table = sim.contacts()
    assert len(table) == 5 and table.world.tolist() == [0, 0, 1, 2, 2]
    ball = table.between("ball", "floor")
    assert ball.world.tolist() == [0, 2] and ball.names[0].tolist() == ["floor", "ball"]
    np.testing.assert_allclose(ball.force[:, 0], 9.81, rtol=1e-3)
    np.testing.assert_allclose(ball.world_force[:, 2], 9.81, rtol=1e-3)
    assert table.of_world(0).names[1].tolist() == ["floor", "[2]"]
    np.testing.assert_array_equal(sim.contact_force(0)[0], ball.force[0])
    assert not sim.contact_force(1)[1].any() and sim.contact_force().shape == (3, 2, 6)
    assert "floor ball" in repr(table)
    with pytest.raises(UnknownKey, match="no world has more than 2"):
        sim.contact_force(2)
