"""Every field of mjModel and mjData, by the engine's doors: read, written, or refused with a reason."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from kinema.errors import BuildError, UnknownKey
from kinema.model.mujoco_fields import data_fields, model_fields
from tests.conformance.staged import StagedEngine

PLAIN = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 1"><freejoint/><geom size=".1"/>
  <body><joint/><geom size=".1" pos=".3 0 0"/></body></body></worldbody></mujoco>"""
PAIR = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body pos="0 0 .099"><freejoint/>
  <geom name="ball" size=".1" contype="0" conaffinity="0"/></body></worldbody>
  <contact><pair geom1="floor" geom2="ball"/></contact></mujoco>"""


@pytest.fixture(scope="module")
def engine():
    return StagedEngine(mujoco.MjModel.from_xml_string(PLAIN), nworld=2)


@pytest.mark.parametrize("table", [model_fields(), data_fields()], ids=["m", "d"])
def test_fields_are_read_or_refused(engine, table):
    refused = []
    for name, field in table.items():
        if field.group == "size":
            continue
        try:
            values = engine.read(name)
        except UnknownKey as error:
            assert name in str(error) and "not held" in str(error)
            refused.append(name)
            continue
        assert values.shape == engine.shape(name) and values.shape[0] == 2, name
    assert 0 < len(refused) < len(table)


def test_fields_are_written_or_refused(engine):
    written = []
    for name, field in model_fields().items():
        if field.group == "size":
            continue
        try:
            engine.write(name, engine.read(name))
        except UnknownKey as error:
            assert name in str(error) and ("cannot be written" in str(error) or "not held" in str(error))
        else:
            written.append(name)
    assert set(written) == {name for name in model_fields() if engine.is_parameter(name)}
    assert {"geom_adhesion", "pair_friction", "geom_friction", "body_mass"} <= set(written)


def test_a_name_that_is_nobodys_is_told_what_was_meant(engine):
    with pytest.raises(UnknownKey, match="no array 'qpso'; did you mean 'qpos'"):
        engine.write("qpso", 0.0)


BALL = PAIR.replace(' contype="0" conaffinity="0"', "").replace('<pair geom1="floor" geom2="ball"/>', "")
WRITTEN = {
    "pair_adhesion": (PAIR, 60.0, ('geom2="ball"', 'geom2="ball" adhesion="60"')),
    "pair_solref": (PAIR, (0.1, 0.5), ('geom2="ball"', 'geom2="ball" solref=".1 .5"')),
    "pair_margin": (PAIR, 0.05, ('geom2="ball"', 'geom2="ball" margin=".05"')),
    "geom_adhesion": (BALL, 30.0, ("<geom ", '<geom adhesion="30" ')),
}
"""A document, a value for a field of it, and what to change in the document to say the same."""


@pytest.mark.filterwarnings("ignore::kinema.errors.KernelsRebuilt")
@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_acts_as_if_the_document_said_it(name):
    xml, value, change = WRITTEN[name]
    m = mujoco.MjModel.from_xml_string(xml)
    engine = StagedEngine(m, nworld=2)
    engine.write(name, value)
    push = [0, 0, 0.2] + [0] * (m.nv - 3)
    engine.write("qvel", push)
    engine.step(20)
    ends = []
    for text in (xml, xml.replace(*change)):
        m = mujoco.MjModel.from_xml_string(text)
        d = mujoco.MjData(m)
        d.qvel[:] = push
        mujoco.mj_step(m, d, 20)
        ends.append(d.qpos)
    np.testing.assert_allclose(engine.read("qpos"), np.tile(ends[1], (2, 1)), atol=2e-6)
    assert np.abs(ends[1] - ends[0]).max() > 1e-4


def test_worlds_that_are_given_other_numbers_differ():
    engine = StagedEngine(mujoco.MjModel.from_xml_string(PLAIN), nworld=2)
    engine.write("geom_friction", [0.3, 0.005, 0.0001])
    assert "geom_friction" not in engine.expanded
    engine.write("geom_friction", [0.7, 0.005, 0.0001], worlds=[1])
    np.testing.assert_allclose(engine.read("geom_friction")[:, 0, 0], [0.3, 0.7])
    mixed = engine.collider.detector.pairs.friction.numpy()[:, :, 0]
    np.testing.assert_allclose(mixed, [[0.3] * mixed.shape[1], [0.7] * mixed.shape[1]])
    with pytest.raises(BuildError, match="pair_friction cannot differ per world"):
        StagedEngine(mujoco.MjModel.from_xml_string(PAIR), nworld=2).write("pair_friction", 0.5, worlds=[0])
