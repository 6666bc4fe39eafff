"""An engine is a protocol: the same checks hold for Kinema's own and for the bridge's, and nobody looks behind it."""

import ast
import dis
import pathlib
import re

import numpy as np
import pytest
import warp as wp

from kinema.bridge.mjc import MuJoCoEngine
from kinema.compile import compile_model
from kinema.convex.engine import Engine as ConvexEngine
from kinema.engine import Engine
from kinema.errors import BuildError
from tests.simulation.models import ARM

SOURCE = pathlib.Path(__file__).parents[1] / "src" / "kinema"

PUBLIC = {"named", "bundle", "contact_force", "engine", "references", "status"}
"""Modules of convex that other rooms may import: the arrays of any engine, and what speaks of them."""

FORMULAS = {"com", "factor", "flex", "inverse", "jacobian", "kinematics", "velocity"}
"""Modules whose functions over values and arrays kernels of other rooms may call: the maths is written once."""

INSIDE = {"convex", "adapter", "gradients", "plugins"}
"""Rooms that are part of the convex engine, or extend it."""


@pytest.fixture(scope="module", params=[ConvexEngine, MuJoCoEngine], ids=["convex", "mujoco"])
def engine(request):
    return request.param(compile_model(ARM), 3, device="cpu")


def test_it_is_an_engine(engine):
    assert isinstance(engine, Engine)
    assert engine.nworld == 3 and engine.source.nq == 2 and engine.device.is_cpu and engine.threads == 1


def test_no_parents_constructor_is_skipped(engine):
    """Whatever the constructor of any parent sets, the engine has; and neither engine is the other's parent."""
    parents = type(engine).__mro__[1:-1]
    assert not {ConvexEngine, MuJoCoEngine} & set(parents)
    for parent in parents:
        if "__init__" in vars(parent):
            assigned = {s.argval for s in dis.get_instructions(parent.__init__) if s.opname == "STORE_ATTR"}
            assert assigned <= vars(engine).keys(), parent


@pytest.mark.parametrize("name", ["qpos", "xpos", "xfrc_applied", "time", "body_mass", "geom_size", "gravity"])
def test_shapes_are_known_without_reading(engine, name):
    assert engine.shape(name) == engine.read(name).shape == engine.in_use(name).shape


def test_state_is_written_and_read(engine):
    engine.reset()
    engine.write("qpos", [0.1, 0.2])
    engine.write("qpos", [0.5, 0.6], [1])
    engine.write("ctrl", 0.3, np.array([True, False, False]))
    np.testing.assert_allclose(engine.read("qpos"), [[0.1, 0.2], [0.5, 0.6], [0.1, 0.2]])
    np.testing.assert_allclose(engine.read("ctrl").ravel(), [0.3, 0.0, 0.0])
    assert {"qpos", "qvel", "ctrl", "xfrc_applied", "qacc"} <= set(engine.inputs)
    assert not {"xpos", "status", "body_mass", "qfrc_bias"} & set(engine.inputs)


def test_it_runs(engine):
    engine.reset()
    engine.write("qvel", [0.5, -0.5])
    engine.step(4)
    np.testing.assert_allclose(engine.read("time"), 0.04)
    engine.forward()
    moved = np.array(engine.read("xpos"))
    engine.write("qpos", 0.0)
    engine.motion()
    assert np.abs(engine.read("xpos") - moved).max() > 1e-3
    engine.write("qacc", 0.0)
    engine.inverse()
    assert np.abs(engine.read("qfrc_inverse")).max() > 0.1
    engine.reset([0])
    assert engine.read("time")[0] == 0.0 < engine.read("time")[1]


def test_poses_touch_nothing_that_a_step_would_notice(engine):
    engine.reset()
    engine.write("qpos", [0.3, 0.1])
    kept = {name: np.array(engine.read(name)) for name in sorted(engine.inputs)}
    engine.poses()
    assert np.abs(engine.read("geom_xpos")).max() > 0.1
    for name, values in kept.items():
        np.testing.assert_array_equal(engine.read(name), values, err_msg=name)


def test_parameters(engine):
    assert engine.is_parameter("body_mass") and not engine.is_parameter("nq") and not engine.is_parameter("qpos")
    assert "body_mass" in engine.parameters and "timestep64" not in engine.parameters
    built = engine.built("dof_damping")
    engine.set_parameter("dof_damping", 2 * built)
    np.testing.assert_allclose(engine.read("dof_damping"), np.tile(2 * built, (3, 1)))
    engine.expand("dof_damping")
    assert "dof_damping" in engine.expanded
    engine.set_parameter("dof_damping", built)
    engine.reset()
    engine.step()


def test_computed_on_request(engine):
    """cfrc_int, momenta and energy are there when read, the same from both."""
    engine.reset()
    engine.write("qpos", [0.3, -0.4])
    engine.write("qvel", [0.5, 1.0])
    engine.forward()
    wanted = {"cfrc_int": 1.0, "cacc": 1.0, "subtree_linvel": 0.01, "subtree_angmom": 1e-3, "energy": 1.0}
    for name, least in wanted.items():
        assert np.abs(engine.read(name)).max() > least, name


def test_about_itself(engine):
    assert engine.capacity.contacts >= 0 and engine.plugins == ()
    assert engine.initial_state()["qpos"].shape == (2,)
    if isinstance(engine, ConvexEngine):
        shared, each = engine.memory()
        assert shared["model"] > 0 and each["state"] > 0 and engine.last_good() is engine.last_good()
    else:
        assert engine.last_good() is None
        with pytest.raises(BuildError, match="Kinema's own arrays"):
            engine.memory()


# ---------------------------------------------------------------------------------------------- nobody looks behind it


def files() -> list[pathlib.Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] not in INSIDE]


def looks_behind(path: pathlib.Path) -> list[str]:
    """Imports of the engine's own modules, and reaches into an engine's insides."""
    found = []
    room = path.relative_to(SOURCE).parts[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kinema.convex"):
            parts = node.module.split(".")[2:]
            modules = [parts[0]] if parts else [alias.name for alias in node.names]
            found += [f"{path}:{node.lineno}: imports kinema.convex.{m}" for m in modules if m not in PUBLIC | FORMULAS]
        if isinstance(node, ast.Attribute) and room != "bridge":
            owner = ast.unparse(node.value)
            private = node.attr in ("layout", "m", "d", "recipes", "collider", "guard", "extension") or (
                node.attr.startswith("_") and not node.attr.startswith("__")
            )
            if private and re.search(r"(^|\.)engine$", owner):
                found.append(f"{path}:{node.lineno}: {owner}.{node.attr}")
    return found


def test_nobody_looks_behind_the_protocol():
    found = [line for path in files() for line in looks_behind(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text", ["from kinema.convex.layout import Layout", "from kinema.convex import step", "sim.engine.layout.arrays",
             "engine.m", "self.engine._shape(n)"],
)  # fmt: skip
def test_the_rule_itself(text, tmp_path, monkeypatch):
    monkeypatch.setattr("tests.test_engine.SOURCE", tmp_path)
    file = tmp_path / "viewer.py"
    file.write_text(text)
    assert looks_behind(file)


def test_other_worlds_rest(engine):
    """Forward and motion over a mask compute nothing in worlds that are not of it, and leave their status alone."""
    mask = wp.array([0, 1, 0], dtype=int, device=engine.device)
    engine.reset()
    engine.forward()
    for run in (engine.forward, engine.motion):
        before = {name: engine.read(name).copy() for name in ("xpos", "cvel", "qacc", "status")}
        engine.write("qpos", engine.read("qpos") + 0.3)
        engine.write("qvel", engine.read("qvel") + 0.2)
        run(mask)
        for name in ("xpos", "cvel", "qacc", "status"):
            np.testing.assert_array_equal(engine.read(name)[[0, 2]], before[name][[0, 2]], err_msg=name)
        assert np.abs(engine.read("xpos")[1] - before["xpos"][1]).max() > 0.01
    engine.reset()
