"""Constraints of what nothing moves: MuJoCo gives them no rows, by a rule for dense and one for sparse Jacobians."""

import mujoco
import pytest

from kinema.convex.constraint import assemble
from tests.convex.stage_harness import Harness

SCENE = """
<mujoco><option jacobian="{jacobian}"/>
  <worldbody><site name="world"/>
    <body name="post" pos="0 0 1"><site name="post"/><geom size=".01"/></body>
    <body name="puppet" mocap="true" pos="0 5 0"><site name="puppet"/><geom size=".1"/></body>
    <body name="cart" pos="0 1 0"><joint name="cart" type="slide" axis="1 0 0"/><geom size=".1"/>
      <site name="left"/><site name="right" pos=".3 0 0"/>
      <body name="box" pos="0 .3 0"><geom size=".1"/><site name="box"/></body>
      <body name="arm" pos="0 0 .5"><joint axis="0 1 0"/><geom size=".1"/><site name="arm" pos=".1 0 0"/>
        <site name="hand" pos=".2 .1 0"/></body></body>
  </worldbody>{rest}</mujoco>
"""
STRING = '<tendon><spatial name="t" {0}><site site="{1}"/><site site="{2}"/></spatial>{3}</tendon>'
NO_COEF = '<tendon><fixed {0}><joint joint="cart" coef="0"/></fixed></tendon>'
LIMIT, LOSS = 'limited="true" range="0 .05"', 'frictionloss="1"'
CART = '<fixed name="u"><joint joint="cart" coef="1"/></fixed>'
ENDS = [("world", "post"), ("puppet", "post"), ("left", "right"), ("left", "box"), ("left", "arm"), ("post", "left")]
CASES = [
    *(STRING.format(what, *ends, "") for what in (LIMIT, LOSS) for ends in ENDS),
    *(STRING.format("", *ends, "") + '<equality><tendon tendon1="t"/></equality>' for ends in ENDS),
    NO_COEF.format('limited="true" range=".1 .2"'),
    NO_COEF.format(LOSS),
    *(
        STRING.format("", "left", "right", CART)
        + f'<equality><tendon tendon1="t" tendon2="u" polycoef="0 {slope} 0 0 0"/></equality>'
        for slope in (0, 1)
    ),
    *(
        f'<equality><{kind} body1="{one}" body2="{two}"{anchor}/></equality>'
        for kind, anchor in (("connect", ' anchor=".1 .2 .3"'), ("weld", ""))
        for one, two in (("post", "world"), ("puppet", "post"), ("box", "arm"), ("cart", "world"))
    ),
    *(
        f'<equality><{kind} site1="{one}" site2="{two}"/></equality>'
        for kind in ("connect", "weld")
        for one, two in (("arm", "hand"), ("left", "right"), ("left", "box"))
    ),
]


@pytest.mark.parametrize("jacobian", ["dense", "sparse", "auto"])
def test_what_nothing_moves_has_no_rows(jacobian):
    seen = set()
    for rest in CASES:
        m = mujoco.MjModel.from_xml_string(SCENE.format(jacobian=jacobian, rest=rest))
        d = mujoco.MjData(m)
        d.qpos[:] = 0.1, 0.3
        mujoco.mj_forward(m, d)
        harness = Harness(m)
        harness.inject(d)
        harness.run(*assemble.stages(m)[0])
        ours = tuple(int(harness.read(name)) for name in ("ne", "nf", "nl", "nefc"))
        theirs = d.ne, d.nf, d.nl, d.nefc
        assert ours == theirs, rest
        seen.add(theirs)
    assert {(0, 0, 0, 0), (6, 0, 0, 6), (3, 0, 0, 3), (1, 0, 0, 1), (0, 1, 0, 1), (0, 0, 1, 1)} <= seen
