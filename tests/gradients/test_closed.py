"""A and B in closed form: against differences in double precision, and against derivatives of every stage."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.gradients import closed

from ..conformance.dynamics import put_states
from ..conformance.gradients import error, judge
from ..conformance.staged import StagedEngine
from .models import WALKER, settled


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_a_closed_form_agrees_with_differences_in_double_precision(integrator, cone):
    m, states = settled(WALKER.format(integrator=integrator, cone=cone))
    assert not closed.against(m)
    for d in states:  # forces from outside are part of it
        d.xfrc_applied[2, :] = [1.0, -2.0, 0.5, 0.1, 0.2, -0.3]
        d.qfrc_applied[7] = 0.2
    engine = StagedEngine(m, nworld=2)
    put_states(engine, states)
    engine.write("xfrc_applied", np.array([d.xfrc_applied for d in states]))
    engine.write("qfrc_applied", np.array([d.qfrc_applied for d in states]))
    engine.forward()
    nx = 2 * m.nv + m.na
    out = wp.zeros((2, nx, nx + m.nu), dtype=float)
    run = closed.Closed(engine, out)
    found = run.run().numpy().astype(float)
    rows = engine.read("nefc")
    assert rows.min() > 9
    for world, d in enumerate(states):
        A, B, *_ = judge(m, d, 1e-6)
        errors = error(found[world, :, :nx], A), error(found[world, :, nx:], B)
        assert max(errors) < 2e-4, errors
        assert np.linalg.norm(B) > 1e-2
    np.testing.assert_array_equal(run.run().numpy(), found.astype(np.float32))
    along = np.random.default_rng(0).normal(size=(2, nx))
    run.along.assign(along)
    product = np.einsum("wi,wij->wj", along, found)
    np.testing.assert_allclose(run.pull().numpy()[:, 0], product, atol=2e-5 * np.abs(product).max())


def test_what_has_no_closed_form_is_said():
    xml = """<mujoco><option integrator="{}"/><worldbody><body><joint name="a"/><geom size=".1"/>
    <body pos="1 0 0"><joint name="b" type="{}" {}/><geom size=".1"/></body></body></worldbody>{}</mujoco>"""

    def why(integrator="Euler", kind="hinge", joint="", more=""):
        return closed.against(mujoco.MjModel.from_xml_string(xml.format(integrator, kind, joint, more)))

    assert why() == ""
    assert "RK4" in why("RK4")
    assert "ball" in why(kind="ball", joint='range="0 30" limited="true"')
    assert "equalities" in why(more='<equality><joint joint1="a" joint2="b"/></equality>')
    assert "tendons" in why(more='<tendon><fixed name="t"><joint joint="a" coef="1"/></fixed></tendon>')
    assert "fluid" in why(more='<option density="1000"/>')
