"""Every model of the corpus, without contacts and constraints: all fields at three random states, and rollouts."""

from __future__ import annotations

import os

import mujoco
import pytest

from kinema.errors import KinemaError

from .models import LARGEST, SHARED, corpus, unsupported
from .report import Baseline, is_refused, print_table, section, write_section
from .rollout import disagreements, smooth

GOAL = 0.95


@pytest.mark.slow
def test_smooth_dynamics_conform(capsys):
    """No model that conformed before may stop conforming, and at least 95 % conform on all fields."""
    failing: dict[str, dict[str, str]] = {}
    conforming: list[str] = []
    unscored: dict[str, dict[str, str]] = {}
    for model in corpus():
        m = mujoco.MjModel.from_xml_path(str(model.path))
        if m.nv == 0 or m.nv > LARGEST:
            continue
        reason = unsupported(m)
        try:
            doubted = unscored.setdefault(model.name, {})
            found = {"refused": reason} if reason else disagreements(smooth(m), unscored=doubted)
        except KinemaError as error:
            found = {"refused": str(error).split("\n")[0]}
        except Exception as error:  # one model that breaks must not hide how the others fare
            found = {"broken": f"{type(error).__name__}: {error}".split("\n")[0]}
        if found:
            failing[model.name] = found
        else:
            conforming.append(model.name)
    total = len(conforming) + len(failing)
    with capsys.disabled():
        print_table(failing, total)
        print(doubts := _not_scored(unscored))
    baseline = Baseline("smooth")
    if os.environ.get("KINEMA_UPDATE_BASELINE"):  # and with it the page, which describes the whole corpus
        assert SHARED.is_dir(), "the page describes the whole corpus: give ../shared/models"
        baseline.extend(conforming)
        write_section("smooth", section("Smooth dynamics", failing, total, notes=f"{_NOTES.strip()}\n\n{doubts}"))
    lost = baseline.lost(conforming, [*conforming, *failing])
    assert not lost, f"models that conformed before: {lost}"
    assert len(conforming) >= GOAL * (total - sum(map(is_refused, failing.values())))


def _not_scored(unscored: dict[str, dict[str, str]]) -> str:
    told = [f"{name} ({label}: {why})" for name, labels in sorted(unscored.items()) for label, why in labels.items()]
    return f"Not scored in any of the three states, rollouts of: {'; '.join(told) or 'none'}."


_NOTES = """
Contacts and constraints switched off; three random states a model. Compared with MuJoCo (float64): kinematics, com,
cameras, tendons, transmissions, velocities to 1e-4 of the field's scale; mass matrix, forces, sensors to 1e-3;
qacc_smooth to 2e-3; positions, velocities and activations after 1, 10, 100 steps to 1e-4, 1e-3, 1e-2. To each is added
three times what 1e-6 of noise in the state does to MuJoCo itself, and to fields what float32's rounding of the model
does to them.
"""


@pytest.mark.parametrize("spoil", ["gain", "damping", "mass"])
def test_comparison_sees_small_errors(spoil):
    """The check is checked: one percent in a gain, a damper or a mass is found."""
    model = next(m for m in corpus() if m.name.endswith("suite/cheetah.xml"))
    m, wrong = (smooth(mujoco.MjModel.from_xml_path(str(model.path))) for _ in range(2))
    field = {"gain": wrong.actuator_gear, "damping": wrong.dof_damping, "mass": wrong.body_mass}[spoil]
    field[:] *= 1.01
    assert not disagreements(m)
    assert disagreements(m, ours=wrong)
