"""Suggestions of error messages make sense."""

import pytest

import kinema
from kinema.errors import Hint, KinemaError, did_you_mean


def test_the_nearest_name():
    assert did_you_mean("dampin", ["damping", "stiffness"]) == "; did you mean 'damping'?"
    assert did_you_mean("zzz", ["damping"]) == "" and did_you_mean("damping", []) == ""


def test_case_is_no_difference():
    assert did_you_mean("QPOS", ["qpos", "qvel"]) == "; did you mean 'qpos'?"
    assert did_you_mean("knee", ["Knee", "kneel"]) == "; did you mean 'Knee'?"


@pytest.mark.parametrize("known", [["elbow"], ["elbow", "elbow2"], iter(["elbows", "elbow"])])
def test_never_the_same_name_nor_a_neighbour_of_one_that_is_known(known):
    assert did_you_mean("elbow", known) == ""


def test_a_hint_is_made_when_it_is_read():
    assert str(Hint("no 'qps'", "qps", ["qpos"])) == "no 'qps'; did you mean 'qpos'?"


def test_a_structural_field_is_not_suggested_for_itself():
    sim = kinema.Simulation('<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>')
    for name in ("nq", "body_parentid", "jnt_type"):
        with pytest.raises(KinemaError) as error:
            setattr(sim.m, name, 1)
        assert f"did you mean '{name}'" not in str(error.value)
