"""Efforts of drives by networks are Newton's, and where Newton reads other files, the network's own."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import warp as wp

import kinema
from kinema import actuators
from kinema.errors import BuildError

from .test_actuators import LINKS, arm, efforts

torch = pytest.importorskip("torch", reason="networks are run by PyTorch")
DOFS = 2 * LINKS


class Lstm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = torch.nn.LSTM(2, 4, num_layers=2, batch_first=True), torch.nn.Linear(4, 1)

    def forward(self, x, memory):
        y, memory = self.lstm(x, memory)
        return self.head(y[:, -1]), memory


class Gru(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.gru, self.head = torch.nn.GRU(columns, 4, num_layers=1), torch.nn.Linear(4, 1)

    def forward(self, x, hidden):
        y, hidden = self.gru(x, hidden)
        return self.head(y[-1]), hidden


def saved(path, network, inputs, **metadata):
    """A file of a network for so many dofs."""
    with warnings.catch_warnings():  # export looks at how PyTorch keeps weights of recurrent networks
        warnings.simplefilter("ignore")
        program = torch.export.export(network.eval(), inputs)
    torch.export.save(program, path, extra_files={"metadata.json": json.dumps(metadata)})
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("networks")
    torch.manual_seed(0)
    mlp = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    memory = tuple(torch.zeros(2, DOFS, 4) for _ in range(2))
    columns = ["position_error", "velocity", "target_velocity"]
    numbers = {"mean": dict.fromkeys(columns, 0.1), "std": dict.fromkeys(columns, 0.5)}
    gru = Gru(3)
    return {
        "mlp": saved(folder / "mlp.pt2", mlp, (torch.zeros(DOFS, 6),), model_type="mlp", input_idx=[0, 1, 3],
                     input_order="vel_pos", pos_scale=2.0, vel_scale=0.5, torque_scale=30.0),
        "lstm": saved(folder / "lstm.pt", Lstm(), (torch.zeros(DOFS, 1, 2), memory), model_type="lstm", num_layers=2,
                      hidden_size=4, pos_scale=3.0, effort_scale=20.0),
        "gru": saved(folder / "gru.pt2", gru, (torch.zeros(1, DOFS, 3), torch.zeros(1, DOFS, 4)), model_type="gru",
                     num_layers=1, hidden_size=4, input_columns=columns, sample_dt_s=0.01,
                     normalization={"inputs": numbers, "targets": {"mean": {"torque": 0.2}, "std": {"torque": 5.0}}}),
        "network": gru, "folder": folder,
    }  # fmt: skip


def driven(files, kind):
    name = f"DriveNeural{kind.upper()}"
    return lambda module, dof: [{"drive_class": getattr(module, name), "model_path": files[kind]}]


@pytest.mark.parametrize("kind", ["mlp", "lstm"])
def test_efforts_are_newtons(files, kind):
    newton = pytest.importorskip("newton", reason="the newton package is the oracle of these tests")
    theirs, ours = (efforts(arm(library, parts=driven(files, kind)), reset_at=3) for library in (newton, kinema))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    assert np.ptp(ours) > 0.1


def test_a_gru_is_its_network(files):
    model = arm(kinema, parts=driven(files, "gru"))
    (actuator,) = model.actuators
    state, control = model.state(), model.control()
    rng = np.random.default_rng(1)
    memory, hidden = (actuator.state(), actuator.state()), torch.zeros(1, DOFS, 4)
    for _ in range(3):
        q, v, to_q, to_v = rng.normal(size=(4, DOFS)).astype(np.float32)
        for array, values in ((state.joint_q, q), (state.joint_qd, v), (control.joint_target_q, to_q),
                              (control.joint_target_qd, to_v)):  # fmt: skip
            array.assign(values)
        control.joint_f.zero_()
        actuator.step(state, control, *memory, dt=0.01)
        memory = memory[::-1]
        shown = torch.tensor(np.stack([(x - 0.1) / 0.5 for x in (to_q - q, v, to_v)], axis=1))[None]
        with torch.no_grad():
            effort, hidden = files["network"](shown, hidden)
        np.testing.assert_allclose(control.joint_f.numpy(), 5.0 * effort.numpy()[:, 0] + 0.2, rtol=1e-5, atol=1e-5)
    with pytest.raises(BuildError, match="steps of 0.01 s, not 0.02 s"):
        actuator.step(state, control, *memory, dt=0.02)


def test_memory_of_some_dofs_is_forgotten(files):
    drive = actuators.DriveNeuralLSTM(files["lstm"])
    drive.finalize(wp.get_device("cpu"), DOFS)
    state = drive.state(DOFS, "cpu")
    for tensor in state.tensors():
        tensor.fill_(1.0)
    state.reset(wp.array([True] + [False] * (DOFS - 1), dtype=wp.bool, device="cpu"))
    assert not state.hidden[:, 0].any() and not state.cell[:, 0].any() and state.hidden[:, 1:].all()


def test_what_is_wrong_is_said(files, tmp_path):
    for path, words in ((tmp_path / "none.pt2", "no such file"), (tmp_path / "net.onnx", "torch.export.save"),
                        (tmp_path / "text.pt", "no archive of torch.export.save")):  # fmt: skip
        if path.name == "text.pt":
            path.write_text("no network")
        with pytest.raises(BuildError, match=words):
            actuators.DriveNeuralMLP(str(path))
    with pytest.raises(BuildError, match="has to say num_layers"):
        actuators.DriveNeuralLSTM(files["mlp"])
    with pytest.raises(BuildError, match="needs model_path"):
        actuators.DriveNeuralMLP.resolve_arguments({})


def test_a_stage_names_a_network(files, tmp_path):
    usd = pytest.importorskip("pxr", reason="stages are read with usd-core").Usd
    stage = usd.Stage.CreateInMemory()
    stage.GetRootLayer().ImportFromString(f"""#usda 1.0
        def Xform "a" (prepend apiSchemas = ["PhysicsArticulationRootAPI"]) {{
            def Cube "link" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {{}}
            def PhysicsRevoluteJoint "hinge" {{
                uniform token physics:axis = "Y"
                rel physics:body1 = </a/link>
            }}
            def NewtonActuator "drive" (prepend apiSchemas = ["NewtonNeuralControlAPI"]) {{
                rel newton:targets = </a/hinge>
                asset newton:modelPath = @{files["lstm"]}@
            }}
        }}""")
    with pytest.raises(BuildError, match="allow_unsafe_torch_checkpoints=True"):
        kinema.ModelBuilder().add_usd(stage)
    builder = kinema.ModelBuilder()
    builder.add_usd(stage, allow_unsafe_torch_checkpoints=True)
    (actuator,) = builder.finalize("cpu").actuators
    assert isinstance(actuator.drive, actuators.DriveNeuralLSTM)
