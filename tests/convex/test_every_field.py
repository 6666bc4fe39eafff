"""Every field of mjModel and mjData, by the engine's doors: read, written, or refused with a reason."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from kinema.errors import BuildError, KernelsRebuilt, UnknownKey
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


def _steps(xml, changes, steps=20):
    """qpos after some steps, the engine's and MuJoCo's, with fields changed after compilation."""
    engine = StagedEngine(mujoco.MjModel.from_xml_string(xml), nworld=2)
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    for name, value in changes.items():
        with pytest.warns(KernelsRebuilt) if "adhesion" in name else _nothing():
            engine.write(name, value)
        getattr(m, name)[:] = value
    engine.write("qvel", [0, 0, 0.2] + [0] * (m.nv - 3))
    d.qvel[2] = 0.2
    engine.step(steps)
    mujoco.mj_step(m, d, steps)
    return engine.read("qpos"), d.qpos


class _nothing:
    def __enter__(self): ...
    def __exit__(self, *args): ...


@pytest.mark.parametrize("xml, changes", [
    (PAIR, {"pair_adhesion": 60.0}), (PAIR, {"pair_solref": (0.1, 0.5)}), (PAIR, {"pair_margin": 0.05}),
    (PAIR.replace(' contype="0" conaffinity="0"', "").replace('<pair geom1="floor" geom2="ball"/>', ""),
     {"geom_adhesion": 30.0}),
], ids=lambda value: next(iter(value)) if isinstance(value, dict) else "")  # fmt: skip
def test_what_is_written_acts(xml, changes):
    ours, theirs = _steps(xml, changes)
    np.testing.assert_allclose(ours, np.tile(theirs, (2, 1)), atol=2e-6)
    assert np.abs(theirs - _steps(xml, {})[1]).max() > 1e-4


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
