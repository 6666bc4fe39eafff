"""The large form: plugins that launch their own kernels, many worlds, and plugins that break their promises."""

import numpy as np
import pytest
import warp as wp

from kinema import ModelBuilder, Simulation, resources
from kinema.adapter.solver import SolverConvex
from kinema.compile import compile_model
from kinema.convex.engine import Engine
from kinema.errors import CompileError, PluginError
from kinema.plugins import ActuatorInput, SensorInput, plugin
from tests.plugins import greedy, samples  # noqa: F401 (registers plugins)
from tests.plugins.scenes import network, robot


def test_network_actuator():
    layers, resources.memory["net.npz"] = network()
    values = dict(weights="memory:net.npz", motors=2, history=2, force_scale=3, velocity_scale=0.5)
    sim = Simulation(robot("kinema.mlp_actuator", **values), worlds=3, device="cpu")
    assert sim.model.npluginstate == 4
    rng = np.random.default_rng(5)
    sim.d.ctrl = rng.normal(size=(3, 2))
    past = np.zeros((3, 2, 2))
    for k in range(12):
        sim.step()
        now = np.stack([sim.d.ctrl - sim.d.actuator_length, 0.5 * sim.d.actuator_velocity], axis=-1)
        x = np.concatenate([now, past], axis=-1)
        hidden = np.tanh(x @ layers["W0"].T + layers["b0"])
        expected = 3 * (hidden @ layers["W1"].T + layers["b1"])[..., 0]
        np.testing.assert_allclose(sim.d.actuator_force, expected, rtol=2e-5, atol=1e-5)
        past = now
        if k == 5:
            saved = sim.get_state()
    after = sim.get_state()
    sim.set_state(**saved)
    sim.step(6)
    assert all(np.array_equal(value, after[name]) for name, value in sim.get_state().items())


@pytest.mark.parametrize(
    ("sizes", "motors", "reason"), [((3, 1), 2, "layer 0"), ((4, 2), 2, "2 outputs"), ((4, 1), 1, "motors=1")]
)
def test_network_of_the_wrong_shape(sizes, motors, reason):
    resources.memory["bad.npz"] = network(sizes)[1]
    xml = robot("kinema.mlp_actuator", weights="memory:bad.npz", motors=motors, history=2)
    with pytest.raises(PluginError, match=f"kinema.mlp_actuator.*{reason}"):
        Engine(compile_model(xml), device="cpu")


def test_weights_are_found_beside_the_model(tmp_path):
    (tmp_path / "net.npz").write_bytes(network()[1])
    (tmp_path / "robot.xml").write_text(robot("kinema.mlp_actuator", weights="net.npz", motors=2, history=2))
    engine = Engine(compile_model(tmp_path / "robot.xml"), 1, device="cpu")
    assert engine.extension.instances[0].config.weights == str(tmp_path / "net.npz")


def test_many_worlds_equal_single_runs():
    """4096 motors of different voltage, together and one by one: the same bits."""
    xml = robot("kinema.dcmotor", constant=0.5, heat_capacity=0.5)
    many = Engine(compile_model(xml), 4096, device="cpu", threads=2)
    single = Engine(many.source, 1, device="cpu")
    volts = np.random.default_rng(6).normal(size=(4096, 2)).astype(np.float32) * 10
    many.write("ctrl", volts)
    many.step(20)
    together = np.concatenate([many.read("qpos"), many.read("qvel"), many.read("plugin_state")], axis=1)
    for w in range(4096):
        single.reset()
        single.write("ctrl", volts[w])
        single.step(20)
        alone = np.concatenate([single.read("qpos")[0], single.read("qvel")[0], single.read("plugin_state")[0]])
        assert np.array_equal(together[w], alone)
    assert together[:, -1].min() > 25.0


def test_states_of_plugins_are_part_of_the_state():
    """Two worlds of a finalized model, the second from a saved state: the motors' temperatures come along."""
    xml = robot("kinema.dcmotor", constant=0.5, heat_capacity=0.5)
    builder = ModelBuilder()
    builder.replicate(_one_world(xml), 2)
    model = builder.finalize(device="cpu")
    solver = SolverConvex(model)
    state, control = model.state(), model.control()
    assert state.mujoco.plugin_state.numpy().tolist() == [25.0, 25.0]
    control.mujoco.ctrl.assign(np.array([5.0, 1.0, 2.0, 0.0], np.float32))
    for _ in range(10):
        solver.step(state, state, control, None, 0.005)
    warm = state.mujoco.plugin_state.numpy()
    engine = Engine(compile_model(xml), 2, device="cpu")
    engine.write("ctrl", [[5.0, 1.0], [2.0, 0.0]])
    engine.step(10)
    np.testing.assert_allclose(warm, engine.read("plugin_state")[:, 0], rtol=1e-6)
    assert warm[0] > warm[1] > 25.0


def _one_world(xml: str) -> ModelBuilder:
    builder = ModelBuilder()
    builder.add_mjcf(xml)
    return builder


# ---------------------------------------------------------------------------------------------- broken plugins


def build(name: str):
    return Engine(compile_model(robot(name)), 2, device="cpu")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("test.raises_in_init", "init failed: KeyError"),
        ("test.bad_body", "actuator"),
        ("test.greedy", "kernel twice takes 6.* CUDA hands a kernel 32700 at most"),
    ],
)
def test_broken_when_built(name, reason):
    with pytest.raises(PluginError, match=f"plugin {name}.*{reason}"):
        build(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("test.raises_in_compute", "ZeroDivisionError: half way"), ("test.returns_something", "returned int")],
)
def test_broken_while_running(name, reason):
    engine = build(name)
    engine.write("qpos", [0.3, -0.2])
    before = {field: engine.read(field).copy() for field in ("qpos", "qvel", "time", "plugin_state")}
    with pytest.raises(PluginError, match=f"plugin {name}.*{reason}"):
        engine.step()
    for field, value in before.items():
        assert np.array_equal(engine.read(field), value), field


@pytest.mark.parametrize(("name", "reason"), [("test.bad_outputs", "'three'"), ("test.bad_initial", "'high'")])
def test_broken_when_compiled(name, reason):
    xml = f"""<mujoco><extension><plugin plugin="{name}"/></extension><worldbody/>
        <sensor><plugin plugin="{name}"/></sensor></mujoco>"""
    with pytest.raises((PluginError, CompileError), match=f"plugin {name}.*{reason}"):
        compile_model(xml)


class WrongReturn:
    @wp.func
    def actuator(x: ActuatorInput) -> wp.vec3:
        return wp.vec3(x.ctrl)


class UnknownArgument:
    @wp.func
    def sensor(x: SensorInput, mass: float, k: int) -> float:
        return mass


class NotDevice:
    def sensor(self, x, k):
        return 0.0


class Nothing:
    gain: float = 1.0


class BadStage:
    needstage = "later"

    @wp.func
    def actuator(x: ActuatorInput) -> float:
        return x.ctrl


class BadCapability:
    capabilities = ("actuators",)


@pytest.mark.parametrize(
    ("cls", "reason"),
    [
        (WrongReturn, "actuator returns vec3.*expected float"),
        (UnknownArgument, "cannot be given: mass"),
        (NotDevice, "decorate it with @wp.func"),
        (Nothing, "no capability"),
        (BadStage, "needstage 'later'"),
        (BadCapability, "did you mean 'actuator'"),
    ],
)
def test_broken_when_registered(cls, reason):
    with pytest.raises(PluginError, match=f"plugin test.broken: .*{reason}"):
        plugin("test.broken")(cls)
