"""The acceptance criteria of model fidelity: default classes (twelve) and contact pairs and excludes (four).

Where the document they come from chose otherwise, MuJoCo's behaviour is the rule: an unknown class is an error, an
actuator's default is written under its own tag, sensors have no defaults, and a pair takes nothing from its geoms.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from kinema.compile import compile_model
from kinema.errors import KinemaError
from tests.conformance.compare import differences
from tests.conformance.models import corpus

from .oracle import agree, both_refuse

TREE = """<worldbody><body name="b"><joint name="j"{joint}/><geom name="g" size=".1"{geom}/></body>
  <body name="c" pos="1 0 0"><joint name="k"/><geom name="h" size=".1"/></body></worldbody>"""


def model(defaults: str = "", joint: str = "", geom: str = "", more: str = ""):
    tree = TREE.format(joint=joint, geom=geom)
    return agree(f"<mujoco><default>{defaults}</default>{tree}{more}</mujoco>")[0]


# ---- default classes


def test_1_a_default_reaches_elements_that_do_not_set_it():
    assert model('<joint damping=".5"/>').dof_damping.tolist() == [0.5, 0.5]


def test_2_the_element_overrides_its_class():
    ours = model('<default class="heavy"><joint damping=".5"/></default>', joint=' class="heavy" damping="1"')
    assert ours.dof_damping[0] == 1.0


def test_2_an_explicit_value_equal_to_the_builtin_default_still_wins():
    ours = model('<joint damping="5"/><geom density="500"/>', joint=' damping="0"', geom=' density="1000"')
    assert ours.dof_damping.tolist() == [0.0, 5.0]
    assert ours.body_mass[1] == pytest.approx(2 * ours.body_mass[2])


def test_3_classes_inherit_from_the_class_around_them():
    classes = '<joint damping=".1"/><default class="robot"><joint damping=".5"/><default class="arm">'
    ours = model(f'{classes}<joint armature=".01"/></default></default>', joint=' class="arm"')
    assert ours.dof_damping.tolist() == [0.5, 0.1] and ours.dof_armature.tolist() == [0.01, 0.0]


def test_4_geoms():
    assert model('<geom friction=".8 .01 .001"/>').geom_friction.tolist() == [[0.8, 0.01, 0.001]] * 2


def test_5_actuators():
    ours = model('<motor gear="100"/>', more='<actuator><motor joint="j"/><motor joint="k" gear="3"/></actuator>')
    assert ours.actuator_gear[:, 0].tolist() == [100.0, 3.0]


def test_6_tendons():
    fixed = '<tendon><fixed><joint joint="j" coef="1"/></fixed></tendon>'
    assert model('<tendon stiffness="1000"/>', more=fixed).tendon_stiffness.tolist() == [1000.0]


def test_7_sensors_have_no_defaults_in_mujoco():
    both_refuse('<mujoco><default><sensor noise=".01"/></default></mujoco>')
    assert model(more='<sensor><jointpos joint="j" noise=".01"/></sensor>').sensor_noise.tolist() == [0.01]


def test_8_inertia_comes_from_the_density_of_the_class():
    assert model('<geom density="500"/>').body_mass[1] == pytest.approx(500 * 4 / 3 * math.pi * 0.1**3)


def test_9_elements_without_a_class_take_the_top_level_defaults():
    ours = model('<geom condim="4"/><default class="other"><geom condim="6"/></default>')
    assert ours.geom_condim.tolist() == [4, 4]


def test_10_an_unknown_class_is_an_error_that_says_where():
    tree = TREE.format(joint=' class="hevy"', geom="")
    error = both_refuse(f'<mujoco><default><default class="heavy"/></default>\n{tree}</mujoco>')
    assert "hevy" in str(error) and "did you mean 'heavy'" in str(error) and error.line == 2


def test_11_a_model_without_defaults_has_the_builtin_ones():
    ours = agree(f"<mujoco>{TREE.format(joint='', geom='')}</mujoco>")[0]
    assert ours.geom_friction[0].tolist() == [1, 0.005, 0.0001] and ours.dof_damping.tolist() == [0, 0]


def test_12_models_that_use_no_classes_conform():
    plain = [m for m in corpus() if m.path.stat().st_size < 4000 and "class=" not in m.path.read_text()][:15]
    assert len(plain) == 15
    for file in plain:
        try:
            ours = compile_model(file.path)
        except KinemaError as error:
            assert "not supported yet" in str(error)
            continue
        assert differences(ours, file.load()) == {}, file.name


# ---- pairs and excludes

APART = ' contype="1" conaffinity="0"'


def test_pair_1_excluded_bodies_are_stored_by_signature():
    ours = model(more='<contact><exclude body1="c" body2="b"/></contact>')
    assert ours.exclude_signature.tolist() == [(1 << 16) + 2]


def test_pair_2_a_pair_stands_whatever_the_masks_say():
    ours = model(f"<geom{APART}/>", more='<contact><pair geom1="h" geom2="g"/></contact>')
    assert (ours.pair_geom1[0], ours.pair_geom2[0]) == (0, 1) and not ours.geom_conaffinity.any()


def test_pair_3_a_pair_has_its_own_parameters_and_none_of_its_geoms():
    pair = '<contact><pair geom1="g" geom2="h" condim="6" friction="2 3" solref=".1" margin=".2"/></contact>'
    ours = model('<geom condim="1" friction="9" solref=".5 .5" margin="1"/>', more=pair)
    assert ours.pair_dim[0] == 6 and ours.pair_margin[0] == 0.2
    assert ours.pair_friction[0].tolist() == [2, 3, 0.005, 0.0001, 0.0001]
    assert ours.pair_solref[0].tolist() == [0.1, 1.0]
    bare = model('<geom condim="1" friction="9"/>', more='<contact><pair geom1="g" geom2="h"/></contact>')
    assert bare.pair_dim[0] == 3 and bare.pair_friction[0, 0] == 1.0


def test_pair_4_masks_of_other_geoms_are_unchanged():
    alone, paired = (
        model(f"<geom{APART}/>"),
        model(f"<geom{APART}/>", more='<contact><pair geom1="g" geom2="h"/></contact>'),
    )
    for name in ("geom_contype", "geom_conaffinity", "body_contype", "body_conaffinity"):
        assert np.array_equal(getattr(alone, name), getattr(paired, name))
