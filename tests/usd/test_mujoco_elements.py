"""MuJoCo's actuators and tendons in stages act as the same elements of a document do."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import kinema
from kinema.errors import BuildError
from tests.conformance.staged import StagedEngine

from ..model.newton_arrays import compared_fields, differences, quietly
from .stages import body, collider, joint, world
from .test_usd import finished, stage_of

pytest.importorskip("pxr", reason="stages are read with usd-core")

SITE = (
    'def Sphere "{name}" (prepend apiSchemas = ["MjcSiteAPI"]) {{ double radius = 0.01\n'
    'double3 xformOp:translate = {at}\nuniform token[] xformOpOrder = ["xformOp:translate"] }}'
)
CUBE = collider("Cube", "box", "double size = 0.2")


def arm(*elements: str) -> str:
    """A cart on a rail and a pole on the cart, with sites, and elements of MuJoCo's."""
    return world(
        body("cart", CUBE + SITE.format(name="eye", at=(0.1, 0, 0.2))),
        body("pole", CUBE + SITE.format(name="tip", at=(0, 0, 0.5)), at=(0, 0, 1)),
        'def Xform "post" {' + SITE.format(name="hook", at=(0.5, 0.3, 2.0)) + "}",
        joint("PhysicsPrismaticJoint", "rail", "", "cart", 'uniform token physics:axis = "X"'),
        joint("PhysicsRevoluteJoint", "pin", "cart", "pole", 'uniform token physics:axis = "Y"\n'
              "point3f physics:localPos0 = (0, 0, 0.5)\npoint3f physics:localPos1 = (0, 0, -0.5)"),
        *elements,
    )  # fmt: skip


def document(tendon: str = "", actuator: str = "") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(f"""<mujoco><option timestep="0.004" integrator="implicitfast"/>
      <default><geom contype="0" conaffinity="0"/></default><worldbody><site name="hook" pos="0.5 0.3 2"/>
        <body><joint name="rail" type="slide" axis="1 0 0"/><geom type="box" size="0.1 0.1 0.1"/>
          <site name="eye" pos="0.1 0 0.2"/>
          <body pos="0 0 1"><joint name="pin" axis="0 1 0" pos="0 0 -0.5"/><geom type="box" size="0.1 0.1 0.1"/>
            <site name="tip" pos="0 0 0.5"/></body></body></worldbody>
      <tendon>{tendon}</tendon><actuator>{actuator}</actuator></mujoco>""")


def actuator(name: str, target: str, inside: str) -> str:
    return f'def MjcActuator "{name}" {{ rel mjc:target = </World/{target}>\n{inside} }}'


FIXED = (
    'def MjcTendon "both" { uniform token mjc:type = "fixed"\nrel mjc:path = [</World/rail>, </World/pin>]\n'
    "uniform double[] mjc:path:coef = [2, -0.5]\nuniform double mjc:stiffness = 30\nuniform double mjc:damping = 2\n"
    "uniform double[] mjc:springlength = [0.1, 0.2] }"
)
SPATIAL = (
    'def MjcTendon "rope" { rel mjc:path = [</World/post/hook>, </World/pole/tip>, </World/cart/eye>]\n'
    "uniform int[] mjc:path:segments = [0, 0, 0]\nuniform double[] mjc:path:divisors = [1]\n"
    "uniform double mjc:range:max = 1.2\nuniform double mjc:stiffness = 5 }"
)
MOTOR = "uniform double[] mjc:gear = [20, 0, 0, 0, 0, 0]\nuniform double mjc:ctrlRange:min = -1\n" \
        "uniform double mjc:ctrlRange:max = 1"  # fmt: skip
CASES = {
    "motor": (actuator("m", "rail", MOTOR), "", '<motor joint="rail" gear="20" ctrlrange="-1 1"/>'),
    "filter": (
        actuator("m", "pin", 'uniform token mjc:dynType = "filterexact"\nuniform double[] mjc:dynPrm = [0.1]\n'
                 "uniform double[] mjc:gainPrm = [15]"),
        "", '<general joint="pin" dyntype="filterexact" dynprm="0.1" gainprm="15"/>',
    ),
    "site": (
        actuator("m", "pole/tip", "uniform double[] mjc:gear = [3, 0, 4, 0, 2, 0]"), "",
        '<motor site="tip" gear="3 0 4 0 2 0"/>',
    ),
    "fixed tendon": (
        FIXED + actuator("m", "both", "uniform double[] mjc:gear = [7, 0, 0, 0, 0, 0]"),
        '<fixed name="both" stiffness="30" damping="2" springlength="0.1 0.2"><joint joint="rail" coef="2"/>'
        '<joint joint="pin" coef="-0.5"/></fixed>', '<motor tendon="both" gear="7"/>',
    ),
    "spatial tendon": (
        SPATIAL + actuator("m", "rope", "uniform double[] mjc:gear = [-9, 0, 0, 0, 0, 0]"),
        '<spatial name="rope" range="0 1.2" stiffness="5"><site site="hook"/><site site="tip"/><site site="eye"/>'
        "</spatial>", '<motor tendon="rope" gear="-9"/>',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_elements_move_as_a_document_does(monkeypatch, name):
    monkeypatch.setattr("kinema.adapter.solver.Engine", StagedEngine)
    stage, tendon, act = CASES[name]
    one = kinema.ModelBuilder()
    quietly(lambda: one.add_usd(stage_of(arm(stage))))
    builder = kinema.ModelBuilder()
    builder.replicate(one, 2)
    model = builder.finalize("cpu")
    solver, state, control = kinema.SolverConvex(model), model.state(), model.control()
    assert control.mujoco.ctrl.shape == (2,)
    wanted = np.array([0.7, -2.0], dtype=np.float32)
    control.mujoco.ctrl.assign(wanted)
    for _ in range(60):
        solver.step(state, state, control, None, 0.004)
    found = state.joint_q.numpy().reshape(2, 2)
    m = document(tendon, act)
    for w in range(2):
        d = mujoco.MjData(m)
        d.ctrl[:] = wanted[w]
        for _ in range(60):
            mujoco.mj_step(m, d)
        assert np.abs(d.qpos).max() > 0.02
        np.testing.assert_allclose(found[w], d.qpos, atol=3e-4)


def test_servos_become_drives_as_in_newton():
    newton = pytest.importorskip("newton", reason="the newton package is the oracle of this test")
    pytest.importorskip("newton_usd_schemas", reason="Newton reads stages with its schemas")
    affine = 'uniform token mjc:biasType = "affine"\n'

    def servo(gain, bias):
        gains, biases = ([*values, *[0] * (10 - len(values))] for values in (gain, bias))
        return f"{affine}uniform double[] mjc:gainPrm = {gains}\nuniform double[] mjc:biasPrm = {biases}"

    text = arm(
        actuator("p", "pin", servo([40], [0, -40, -3])), actuator("v", "rail", servo([6], [0, 0, -6])),
    )  # fmt: skip
    builder = newton.ModelBuilder()
    newton.solvers.SolverMuJoCo.register_custom_attributes(builder)
    quietly(lambda: builder.add_usd(stage_of(text)))
    theirs, ours = quietly(lambda: builder.finalize("cpu")), finished(kinema, text)
    assert not differences(theirs, ours, compared_fields("joint_"))
    assert ours.joint_target_ke.numpy().tolist() == [0.0, 40.0] and ours.joint_target_kd.numpy().tolist() == [6.0, 3.0]


def test_what_is_wrong_names_the_prim():
    cases = {
        actuator("m", "nowhere", ""): r"/World/m: mjc:target names /World/nowhere, which is no joint",
        actuator("m", "pole/tip", "rel mjc:refSite = </World/pole/box>"): "/World/pole/box is no site",
        FIXED.replace("</World/pin>", "</World/pole>"): "/World/both: mjc:path names /World/pole, which is no hinge",
        SPATIAL.replace("[0, 0, 0]", "[0, 1, 1]"): "no divisor above zero for segment 1",
        FIXED.replace('"fixed"', '"loose"'): "'loose' is neither 'fixed' nor 'spatial'",
    }
    for text, message in cases.items():
        builder = kinema.ModelBuilder()
        with pytest.raises(BuildError, match=message):
            quietly(lambda b=builder, t=text: b.add_usd(stage_of(arm(t))))
        assert builder.body_count == 0
