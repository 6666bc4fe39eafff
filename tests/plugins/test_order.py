"""The order in which plugins are called, for every integrator and flag (facts/plugins.md 2.2).

The engine's own kernels are left out: what is tested is when host functions of a plugin are called, and where in the
recipe the device functions stand.
"""

import gc

import pytest

from kinema.compile import compile_model
from kinema.convex.engine import Engine
from tests.plugins.samples import calls

XML = """
<mujoco>
  <option integrator="{integrator}"><flag {flags}/></option>
  <extension><plugin plugin="{plugin}"><instance name="i"/></plugin></extension>
  <worldbody>
    <body><joint name="j" axis="0 1 0"/><geom size=".1"/><plugin instance="i"/></body>
  </worldbody>
  <actuator><plugin joint="j" instance="i" dyntype="integrator"/></actuator>
  <sensor><plugin instance="i"/></sensor>
</mujoco>
"""

STEP = ["passive", "act_dot", "actuator", "sensor", "advance"]


@pytest.fixture
def engine(monkeypatch):
    """Makes engines that call plugins and nothing else."""
    monkeypatch.setattr(Engine, "_launch_worlds", lambda *args: None)

    def make(plugin: str = "test.recorder", integrator: str = "Euler", flags: str = "") -> Engine:
        made = Engine(compile_model(XML.format(plugin=plugin, integrator=integrator, flags=flags)), 2, device="cpu")
        calls.clear()
        return made

    return make


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "implicit"])
def test_step(engine, integrator):
    e = engine(integrator=integrator)
    e.step(2)
    assert calls == STEP + STEP


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        ("test.recorder.none", ["sensor", "passive", "act_dot", "actuator", "advance"]),
        ("test.recorder.pos", ["sensor", "passive", "act_dot", "actuator", "advance"]),
        ("test.recorder.vel", ["passive", "sensor", "act_dot", "actuator", "advance"]),
        ("test.recorder", STEP),
    ],
)
def test_needstage(engine, plugin, expected):
    e = engine(plugin)
    e.step()
    assert calls == expected


@pytest.mark.parametrize("plugin", ["test.recorder", "test.recorder.pos"])
def test_runge_kutta(engine, plugin):
    e = engine(plugin, "RK4")
    e.step()
    evaluation = ["passive", "act_dot", "actuator"]
    first = [*evaluation, "sensor"] if plugin == "test.recorder" else ["sensor", *evaluation]
    assert calls == [*first, *evaluation, *evaluation, *evaluation, "advance"]


def test_forward_and_inverse(engine):
    e = engine()
    e.forward()
    assert calls == STEP[:-1]
    calls.clear()
    e.inverse()
    assert calls == ["passive", "sensor"]


@pytest.mark.parametrize(
    ("flags", "left_out"),
    [
        ('actuation="disable"', {"act_dot", "actuator"}),
        ('sensor="disable"', {"sensor"}),
        ('spring="disable"', set()),
        ('damper="disable"', set()),
        ('spring="disable" damper="disable"', {"passive"}),
    ],
)
def test_disable_flags(engine, flags, left_out):
    e = engine(flags=flags)
    e.step()
    assert calls == [name for name in STEP if name not in left_out]


def test_actuator_groups_do_not_stop_plugins(engine):
    model = compile_model(XML.format(plugin="test.recorder", integrator="Euler", flags="").replace(
        "integrator=", 'actuatorgroupdisable="0" integrator=', 1))  # fmt: skip
    e = Engine(model, 1, device="cpu")
    calls.clear()
    e.step()
    assert calls == STEP


def test_life(engine):
    gc.collect()  # engines of other tests
    e = engine()
    calls.clear()
    second = Engine(e.source, 1, device="cpu")
    assert calls == ["init"]
    del second, e
    gc.collect()
    assert calls == ["init", "destroy", "destroy"]


DEVICE = """
<mujoco>
  <extension><plugin plugin="test.drag"/><plugin plugin="test.stepper"/><plugin plugin="test.speedometer"/></extension>
  <worldbody>
    <body><joint name="j" axis="0 1 0"/><geom size=".1"/><site name="s"/><plugin plugin="test.drag"/></body>
  </worldbody>
  <actuator><plugin joint="j" plugin="test.stepper" actdim="1" forcerange="-1 1"/></actuator>
  <sensor><plugin plugin="test.speedometer" objtype="site" objname="s" cutoff="1"/></sensor>
</mujoco>
"""


def test_device_functions_stand_where_mujoco_calls_them():
    e = Engine(compile_model(DEVICE), 1, device="cpu")
    names = [name for stage in e.recipes["step"] for name in stage.func.key.split("_then_")]
    order = [
        "passive_total", "test_drag_passive_0", "test_speedometer_sensor_2", "simple_actuator",
        "dyntype_rates", "test_stepper_act_dot_1", "test_stepper_actuator_1", "limit_force", "joint_force", "cut_off",
        "advance_activations", "advance_joint", "advance_time", "test_drag_advance_0", "test_stepper_advance_act_1",
    ]  # fmt: skip
    assert [name for name in names if name in order] == order
