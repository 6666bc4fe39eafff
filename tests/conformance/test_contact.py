"""Models of the corpus in contact-rich states, against MuJoCo: contacts, rows, forces, sensors, rollouts.

A sample runs in every test run; survey.py runs the whole corpus, on any device, and writes the page.
"""

from __future__ import annotations

import mujoco
import pytest

from .dynamics import compare
from .models import corpus, in_scope
from .page import summary
from .report import Baseline, print_table
from .scores import BASELINES, STAGED, forward_conforms, is_rollout
from .survey import SAMPLE, work


@pytest.mark.slow
def test_contact_dynamics_conform(capsys):
    """No model of the sample that conformed before may stop conforming."""
    models = [model for model in corpus() if model.name in SAMPLE and in_scope(model)]
    assert len(models) > 5, "the corpus is missing: install the packages of the dev extra"
    scores = {model.name: work(model, device="cpu", fused=False) for model in models}
    with capsys.disabled():
        print_table({name: score.wrong for name, score in scores.items() if score.wrong}, len(scores))
        print("\n".join(summary(STAGED, scores)))
        for name, score in scores.items():
            for field, why in score.unscored.items():
                print(f"  not scored: {name}: {field}: {why}")
    for stage, conforms in BASELINES.items():
        lost = Baseline(stage).lost([name for name, score in scores.items() if conforms(score)], scores)
        assert not lost, f"models that conformed before ({stage}): {lost}"
    scored = sum(len(score.compared) for score in scores.values())
    doubted = sum(len(score.unscored) for score in scores.values())
    assert doubted <= 0.01 * scored, "too little can be scored: look for better states (states.py)"


SPOILT = """
<mujoco>
  <option cone="elliptic" timestep=".002"/>
  <worldbody>
    <geom type="plane" size="9 9 9"/>
    <body pos="0 0 .3"><freejoint/><geom type="box" size=".1 .1 .1"/>
      <body pos=".15 0 0"><joint name="hinge" axis="0 1 0" frictionloss=".2"/>
        <geom type="capsule" fromto="0 0 0 .2 0 0" size=".06"/></body></body>
    <body pos="1 0 .12"><freejoint/><geom type="cylinder" size=".1 .05"/></body>
    <body pos="1 0 .27"><freejoint/><geom type="box" size=".07 .07 .07"/></body>
  </worldbody>
  <actuator><position joint="hinge" kp="2"/></actuator>
</mujoco>
"""


def _gain(m):
    m.actuator_gainprm[:] *= 1.01


def _cone(m):
    m.opt.cone = 0


def _parents(m):
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)


def _friction_loss(m):
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS)


def _multiccd(m):
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MULTICCD)


def test_model_of_the_check_conforms():
    score = compare(mujoco.MjModel.from_xml_string(SPOILT))
    assert not score.wrong and not score.converged and not score.unscored
    assert {"ncon", "contact_pos", "J'DJ", "qacc", "rollout 1", "rollout 10", "same bits twice"} <= score.compared


@pytest.mark.parametrize("spoil", [_gain, _cone, _parents, _friction_loss, _multiccd])
def test_comparison_sees_errors(spoil):
    """The check is checked: a gain off by 1 %, another cone, no parent filter, no friction loss, single contacts."""
    m, wrong = (mujoco.MjModel.from_xml_string(SPOILT) for _ in range(2))
    spoil(wrong)
    assert compare(m, ours=wrong).wrong


def test_few_iterations_are_told_from_convergence():
    """An engine that solves to convergence does not conform to a model that asks for one iteration."""
    m, ours = (mujoco.MjModel.from_xml_string(SPOILT) for _ in range(2))
    m.opt.iterations = 1
    score = compare(m, ours=ours)
    assert {"qacc", "qfrc_constraint"} <= set(score.converged) | set(score.wrong)
    assert not forward_conforms(score) and "qacc" in score.converged
    assert not any(not is_rollout(field) for field in score.wrong)
