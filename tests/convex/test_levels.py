"""Every level of optimisation computes the same bits, so that tests may be compiled quickly (tests/levels.py)."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.convex import parts
from kinema.convex.engine import Engine

from .. import levels
from .test_determinism import SCENE

FIELDS = ("qpos", "qvel", "qacc", "qfrc_constraint", "xpos", "efc_force", "contact_dist")
QUICK, USERS = (0, levels.FLAGS), (None, wp.config.cpu_compiler_flags if levels.AS_USERS_DO is None
                                   else levels.AS_USERS_DO[1])  # fmt: skip


def choose(monkeypatch, choice: tuple[int | None, str | None]) -> None:
    monkeypatch.setattr(wp.config, "optimization_level", choice[0])
    monkeypatch.setattr(wp.config, "cpu_compiler_flags", choice[1])


def rolled(monkeypatch) -> dict[str, bytes]:
    """Worlds of their own velocities, eight of them at once and one alone, after some steps."""
    monkeypatch.setattr(parts, "WIDE_FROM", 8)
    m = mujoco.MjModel.from_xml_string(SCENE)
    engine = Engine(m, nworld=9, device="cpu")
    engine.write("qvel", np.random.default_rng(0).normal(size=(9, m.nv)))
    engine.step(60)
    assert engine.read("ncon").max() > 0 and np.abs(engine.read("qvel")).max() > 0.1
    return {name: np.ascontiguousarray(engine.read(name)).tobytes() for name in FIELDS}


@pytest.mark.slow
def test_the_same_bits(monkeypatch):
    found = []
    for choice in (QUICK, USERS):
        choose(monkeypatch, choice)
        found.append(rolled(monkeypatch))
    assert found[0] == found[1]


def test_kernels_have_names_of_their_own(monkeypatch):
    """What tests compiled is never found by a user's program."""
    part = parts.parts(Engine(mujoco.MjModel.from_xml_string(SCENE), 1, device="cpu").recipes["step"])[0]
    names = set()
    for choice in (QUICK, USERS):
        choose(monkeypatch, choice)
        names.add(parts.known.name_of(part, parts.drive.module.resolve_options(wp.config, 1)))
        names.add(parts.compile_part(part))
    assert None not in names and len(names) == 4


def test_without_the_variable_nothing_is_changed(monkeypatch):
    from warp._src import build

    before = wp.config.optimization_level, wp.config.cpu_compiler_flags, build.build_cuda
    monkeypatch.delenv(levels.VARIABLE, raising=False)
    levels.begin()
    assert before == (wp.config.optimization_level, wp.config.cpu_compiler_flags, build.build_cuda)


@pytest.mark.optimised
def test_marked_tests_are_compiled_as_users_do():
    assert (wp.config.optimization_level, wp.config.cpu_compiler_flags) == USERS
