"""What cannot be scored is said so, and states are found in which it can."""

from dataclasses import replace

import mujoco
import numpy as np

from kinema.cli.oracle import forward, restored

from .dynamics import Score
from .questions import COME_AND_GO, Question, forward_questions, reached, rollout_questions
from .states import find_case

GRAZING = """
<mujoco>
  <worldbody>
    <geom type="plane" size="9 9 9"/>
    <body pos="0 0 .1"><freejoint/><geom size=".1"/></body>
    <body pos="1 0 .1"><freejoint/><geom size=".1"/></body>
    <body pos="2 0 .1"><freejoint/><geom size=".1"/></body>
    <body pos="3 0 .099"><freejoint/><geom size=".1"/></body>
  </worldbody>
</mujoco>
"""
UPRIGHT = """
<mujoco>
  <worldbody><body pos="0 0 1"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .3" size=".02"/></body>
  </worldbody>
</mujoco>
"""


def asked(m, d):
    return {question.name: question for question in forward_questions(m, forward(m, d))}


def test_contacts_that_come_and_go_are_not_scored():
    """Spheres that just touch: noise decides, so neither one contact nor two may be called right or wrong."""
    m = mujoco.MjModel.from_xml_string(GRAZING)
    found = asked(m, restored(m))
    assert found["ncon"].doubt == COME_AND_GO and found["contact_pos"].doubt == COME_AND_GO
    assert found["nefc"].doubt and found["J'DJ"].doubt and not found["xpos"].doubt
    score = Score()
    score.ask(found["ncon"], lambda name: np.array(1.0))
    assert score.unscored == {"ncon": COME_AND_GO} and not score.compared and not score.wrong


def test_better_states_are_found():
    """The same model a little later rests on all spheres, and everything can be scored."""
    m = mujoco.MjModel.from_xml_string(GRAZING)
    case = find_case(m)
    assert len(case.forward) == len(case.rollout) == 3
    for state in case.forward:
        found = asked(m, restored(m, state))
        assert not any(question.doubt for question in found.values()) and found["ncon"].theirs == 4
    assert all(reached(rollout_questions(m, restored(m, state), 100)) >= 10 for state in case.rollout)


def test_no_slack_is_infinite():
    """Whatever the state, a question that is not in doubt allows at most a few tolerances."""
    m = mujoco.MjModel.from_xml_string(GRAZING)
    for seed in range(5):
        d = restored(m)
        d.qpos[2::7] = np.random.default_rng(seed).uniform(0.099999, 0.100001, 4)
        for question in asked(m, d).values():
            assert np.isfinite(question.slack) and np.isfinite(question.tolerance)
            far = question.theirs + 100 * question.tolerance + 1.0
            assert not question.theirs.size or question.doubt or question.problem(far)


def test_rollouts_that_chance_decides_are_not_scored():
    """An arm on its head: the longer the run, the more the noise decides, and what follows is in doubt too."""
    m = mujoco.MjModel.from_xml_string(UPRIGHT)
    m.opt.timestep = 0.02
    questions = rollout_questions(m, restored(m), 100)
    assert reached(questions) < 100
    assert [q.doubt is not None for q in questions] == sorted(q.doubt is not None for q in questions)


def test_a_field_is_scored_where_it_can_be():
    """In doubt in one state and scored in another: scored; wrong in any: wrong; converged is neither."""
    sure = Question("qacc", np.ones(2), tolerance=0.1, best=(2 * np.ones(2), 0.0))
    doubted = Question("qacc", np.ones(2), doubt="chance")
    score = Score()
    for question, ours in ((doubted, 9.0), (sure, 1.05), (doubted, 9.0)):
        score.ask(question, lambda name, ours=ours: np.full(2, ours))
    assert score.compared == {"qacc"} and not score.unscored and not score.wrong
    score.ask(sure, lambda name: np.full(2, 2.0))
    assert "qacc" in score.converged and not score.wrong
    score.ask(sure, lambda name: np.full(2, 3.0))
    assert "qacc" in score.wrong
    loose = replace(sure, best=(2 * np.ones(2), 5.0))
    assert not loose.is_converged(np.full(2, 2.0))
