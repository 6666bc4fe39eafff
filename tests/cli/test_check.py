"""kinema check: agreement is silent, and a change of MuJoCo's model by a percent is found and its place named."""

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

from kinema.cli.differences import DIFFERS, NOT_COMPARED, OK, Beside, Difference, compiled, largest, worst
from kinema.cli.place import place_of
from kinema.compile import compile_model
from kinema.simulation import Simulation

from .conftest import ARM

BALLS = """\
<mujoco model="balls">
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <body name="left" pos="0 0 .1"><freejoint name="left"/><geom name="left" size=".1"/></body>
    <body name="right" pos=".19 0 .1">
      <joint name="right_x" type="slide" axis="1 0 0"/>
      <joint name="right_z" type="slide" axis="0 0 1" damping="1"/>
      <geom name="right" size=".1"/>
      <site name="middle"/>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="right_x" gear="3"/></actuator>
  <sensor><touch name="touch" site="middle"/><jointpos name="where" joint="right_x"/></sensor>
</mujoco>
"""


HUMANOID = Path(__file__).parents[2] / "examples/models/humanoid.xml"  # the demo's, so that they share kernels


@pytest.fixture(scope="module")
def sim():
    return Simulation(compile_model(HUMANOID), 2, "cpu")


@pytest.fixture
def m():
    return mujoco.MjModel.from_xml_path(str(HUMANOID))


@pytest.fixture
def altered(tmp_path):
    """Writes the humanoid with a text replaced by another; the path."""

    def write(old, new):
        text = HUMANOID.read_text()
        assert old in text
        path = tmp_path / "altered.xml"
        path.write_text(text.replace(old, new))
        return str(path)

    return write


def wrong(found):
    return {difference.field: difference for difference in found if difference.verdict == DIFFERS}


# ---------------------------------------------------------------------------------------------- the command


def test_a_model_that_agrees(kinema):
    code, out, _ = kinema("check", HUMANOID, "--steps", 20)
    assert code == 0 and "0 differ" in out
    for field in ("qacc", "contact_pos", "sensor touch", "step 20"):
        assert field in out
    assert "differs" not in out


def test_a_model_that_differs(kinema, monkeypatch, m):
    m.body("torso").mass *= 1.01
    monkeypatch.setattr("kinema.cli.models.mujoco_model", lambda source: m)
    code, out, _ = kinema("check", HUMANOID, "--json", "--steps", 10)
    told = json.loads(out)
    bad = {(row["part"], row["field"]): row for row in told["fields"] if row["verdict"] == "differs"}
    assert code == 1 and told["agrees"] is False
    assert bad["compile", "body_mass"]["where"] == "body 'torso'"
    assert "joint 'root' dof" in bad["forward", "M"]["where"]


def test_models_of_other_sizes_are_not_stepped(kinema, altered, m, monkeypatch):
    monkeypatch.setattr("kinema.cli.models.mujoco_model", lambda source: m)
    code, out, _ = kinema("check", altered('<touch name="touch_right" site="sole_right"/>', ""))
    assert code == 1 and "different sizes" in out and "nsensordata" in out


def test_a_zip_is_checked_too(kinema, tmp_path):
    assert kinema("compose", HUMANOID, "-o", tmp_path / "man.zip")[0] == 0
    code, out, err = kinema("check", tmp_path / "man.zip", "--steps", 5)
    assert code == 0 and "0 differ" in out, err


def test_what_mujoco_refuses(kinema, altered):
    extension = '<extension><plugin plugin="kinema.mlp_actuator"/></extension></mujoco>'
    code, _, err = kinema("check", altered("</mujoco>", extension))
    assert code == 2 and "MuJoCo refuses the model" in err and "mlp_actuator" in err


# ---------------------------------------------------------------------------------------------- checks of the check


def test_states_are_rich_and_agree(sim, m):
    beside = Beside(sim, m)
    found = worst(beside.forward())
    assert wrong(found) == {}
    by_name = {difference.field: difference for difference in found}
    assert by_name["ncon"].theirs >= 2 and by_name["nefc"].theirs > 0
    assert {"xpos", "M", "qacc", "contact_dist", "contact_frame", "sensor touch", "sensor gyro"} <= set(by_name)


def gain(m):
    m.actuator("knee_left").gainprm[0] *= 1.05


def damping(m):
    m.joint("knee_left").damping *= 3


def position(m):
    m.body("forearm_left").pos[2] += 0.002


def stiffness(m):
    m.geom_solref[:, 0] = 0.03


def filtering(m):
    m.geom("sole_in_left").contype[:] = m.geom("sole_in_left").conaffinity[:] = 0


def friction(m):
    m.geom_friction[:, 0] = 0.5


@pytest.mark.parametrize(
    ("change", "field", "where"),
    [
        (gain, "actuator_force", "actuator 'knee_left'"),
        (damping, "qfrc_passive", "joint 'knee_left'"),
        (position, "geom_xpos", "_left'"),
        (stiffness, "qacc", "joint"),
        (filtering, "ncon", "geom 'floor' and geom 'sole_in_left'"),
        (friction, "contact_friction", "geom 'floor' and geom"),
    ],
)
def test_a_small_change_of_mujocos_model_is_noticed(sim, m, change, field, where):
    change(m)
    found = wrong(worst(Beside(sim, m).forward()))
    assert field in found and where in found[field].where


def test_steps_are_compared(sim, m):
    beside = Beside(sim, m)
    found = list(beside.rollout(30))
    assert {d.part for d in found} == {"step 1", "step 10", "step 30"}
    assert not wrong(found) and any(d.verdict == OK for d in found)
    m.joint("waist_turn").damping *= 2
    assert "qvel" in wrong(beside.rollout(30))


def test_chance_is_not_compared():
    """An arm held upright by nothing: noise decides where it falls."""
    m = mujoco.MjModel.from_xml_string(ARM)
    beside = Beside(Simulation(compile_model(ARM), 1, "cpu"), m)
    for state in beside.states:
        state.qpos[:], state.qvel[:], state.ctrl[:] = np.float32([-np.pi / 2, 0]), 0, 0
    last = [d for d in beside.rollout(900) if d.part == "step 900"]
    assert [d.verdict for d in last] == [NOT_COMPARED] * 2


def test_compiled_models():
    m = mujoco.MjModel.from_xml_string(BALLS)
    ours = compile_model(BALLS)
    assert wrong(compiled(ours, m)) == {}
    m.geom_friction[1, 0] *= 1.001
    m.jnt_limited[1] = 1
    found = wrong(compiled(ours, m))
    assert set(found) == {"geom_friction", "jnt_limited"}
    assert found["geom_friction"].where == "geom 'left' [0]" and found["jnt_limited"].where == "joint 'right_x'"


# ---------------------------------------------------------------------------------------------- parts


def test_largest_difference():
    where = lambda at: str(list(map(int, at)))  # noqa: E731
    found = largest("p", "f", [[1.0, 2.0], [3.0, 4.5]], [[1.0, 2.1], [3.0, 4.0]], allowed=0.2, where=where)
    assert (found.error, found.ours, found.theirs, found.where, found.verdict) == (0.5, 4.5, 4.0, "[1, 1]", DIFFERS)
    assert largest("p", "f", [np.nan], [1.0], allowed=1.0, where=where).verdict == DIFFERS
    assert largest("p", "f", [np.nan, np.inf], [np.nan, np.inf], allowed=0.0, where=where).verdict == OK
    assert largest("p", "f", [1, 2], [1, 2, 3], allowed=9.0, where=where).verdict == DIFFERS
    assert largest("p", "f", [], [], allowed=0.0, where=where) is None


def test_the_worst_world_is_kept():
    rows = [Difference("p", "f", error, 1.0, 0, 0, f"world {k}") for k, error in enumerate((0.1, 0.9, 0.5))]
    assert [d.where for d in worst(iter(rows))] == ["world 1"]


@pytest.mark.parametrize(
    ("field", "index", "place"),
    [
        ("xpos", (2, 1), "body 'right' [1]"),
        ("qvel", (0,), "joint 'left' dof 0"),
        ("qvel", (7,), "joint 'right_z'"),
        ("qpos", (3,), "joint 'left' [3]"),
        ("qpos", (8,), "joint 'right_z'"),
        ("ctrl", (0,), "actuator 'push'"),
        ("actuator_force", (0,), "actuator 'push'"),
        ("sensordata", (1,), "sensor 'where'"),
        ("geom_size", (1, 0), "geom 'left' [0]"),
        ("M", (0,), "joint 'left' dof 0 and joint 'left' dof 0"),
        ("nq", (), ""),
    ],
)
def test_places(field, index, place):
    assert place_of(compile_model(BALLS), field, index) == place
