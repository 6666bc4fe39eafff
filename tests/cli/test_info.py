"""kinema info: what it says about a model is what MuJoCo finds in it."""

import json

import mujoco
import pytest

from kinema.errors import BuildError
from kinema.simulation import Simulation

from .conftest import ARM


def test_tree_sizes_and_features(kinema, arm):
    code, out, _ = kinema("info", arm)
    assert code == 0
    assert "    upper, hinge shoulder, capsule\n      lower, hinge elbow, capsule\n" in out
    for words in ("2 hinge", "Euler, time step 0.01 s", "Newton, 100 iterations, pyramidal cone", "1 motor", "up"):
        assert words in out
    assert "none: no two geoms can touch" in out and "a world" in out


def test_depth(kinema, arm):
    _, out, _ = kinema("info", arm, "--depth", 1)
    assert "upper, hinge" in out and "lower, hinge" not in out


def test_json_against_mujoco(kinema, arm):
    _, out, _ = kinema("info", arm, "--json", "--worlds", 10)
    told = json.loads(out)
    m = mujoco.MjModel.from_xml_string(ARM)
    for name, value in told["sizes"].items():
        assert value == getattr(m, name), name
    assert told["mass"] == pytest.approx(m.body_mass.sum())
    assert told["unsupported"] == [] and told["plugins"] == []
    memory = Simulation.estimate(arm, 10, "cpu")
    assert told["memory"]["total"] == memory.total > 10 * told["memory"]["a world"] > 1000


def test_what_cannot_be_simulated_is_named(kinema, arm, monkeypatch):
    def refuse(*args, **options):
        raise BuildError("springs of glass are not simulated")

    monkeypatch.setattr(Simulation, "estimate", refuse)
    code, out, _ = kinema("info", arm)
    assert code == 1 and "cannot be simulated" in out and "springs of glass" in out and "hinge elbow" in out


def test_plugins_are_named(kinema, tmp_path):
    path = tmp_path / "pid.xml"
    plugin = '<actuator><plugin joint="elbow" plugin="mujoco.pid"><config key="kp" value="3"/></plugin>'
    extension = '<extension><plugin plugin="mujoco.pid"/></extension><worldbody>'
    path.write_text(ARM.replace("<actuator>", plugin).replace("<worldbody>", extension))
    code, out, err = kinema("info", path, "--json")
    assert code == 0, err
    assert json.loads(out)["plugins"] == ["mujoco.pid"]


def test_a_urdf_and_a_zip(kinema, arm, tmp_path):
    urdf = tmp_path / "robot.urdf"
    urdf.write_text("""<robot name="r"><link name="base"/><link name="tip"><inertial><mass value="2"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="turn" type="continuous"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/></joint>
        </robot>""")
    assert json.loads(kinema("info", urdf, "--json")[1])["features"]["joints"] == "1 hinge"
    assert kinema("compose", arm, "-o", tmp_path / "arm.zip")[0] == 0
    assert json.loads(kinema("info", tmp_path / "arm.zip", "--json")[1])["features"]["joints"] == "2 hinge"


SOFT = """<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
  <flexcomp name="towel" type="grid" dim="2" count="3 3 1" spacing=".1 .1 .1" pos="0 0 1"><edge equality="true"/>
    <contact selfcollide="auto"/><pin id="0"/></flexcomp>
  <flexcomp name="jelly" type="grid" dim="3" count="3 3 3" spacing=".1 .1 .1" pos="0 0 2" dof="trilinear">
    <elasticity young="1e4" poisson=".1"/><contact selfcollide="none"/></flexcomp></worldbody>
  <option integrator="discrete"/></mujoco>"""


def test_flexes_are_told_of_and_their_bodies_share_a_line(kinema, tmp_path):
    file = tmp_path / "soft.xml"
    file.write_text(SOFT)
    code, out, _ = kinema("info", file)
    assert code == 0
    assert "towel_1 to towel_8: 8 bodies of towel\n" in out and "towel_2," not in out
    assert "8 bodies of jelly" in out and "nflex 2, nflexnode 8, nflexvert 36" in out
    assert "towel (dim 2, 9 vertices, 8 elements, edges or strain kept)" in out
    assert "jelly (dim 3, 27 vertices, 48 elements, trilinear, 8 nodes, elastic)" in out
    assert "2 pairs of a flex and a geom; 1 pairs of flexes; 1 flexes with themselves" in out
    assert "no two geoms can touch" not in out
