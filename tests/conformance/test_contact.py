"""Models of the corpus in contact-rich states, against MuJoCo: contacts, rows, forces, sensors, rollouts.

A sample runs in every test run; KINEMA_CONFORMANCE=full runs the whole corpus and writes the page (minutes
once its kernels are compiled, most of an hour before; survey.py does it in pieces).
"""

from __future__ import annotations

import os

import mujoco
import pytest

from kinema.errors import KinemaError

from .dynamics import Score, compare
from .models import SHARED, ModelFile, corpus
from .report import Baseline, print_table, section, write_section
from .test_smooth import LARGEST, unsupported

FULL = os.environ.get("KINEMA_CONFORMANCE") == "full"
FORWARD_GOAL, ROLLOUT_GOAL = 0.95, 0.90
SAMPLE = (
    "dm_control/suite/humanoid.xml", "dm_control/suite/walker.xml", "dm_control/suite/finger.xml",
    "dm_control/suite/quadruped.xml", "dm_control/suite/manipulator.xml", "dm_control/suite/swimmer.xml",
    "dm_control/mujoco/testing/assets/humanoid.xml", "gymnasium/envs/mujoco/assets/ant.xml",
    "gymnasium/envs/mujoco/assets/pusher.xml", "brax/envs/assets/hopper.xml", "brax/envs/assets/half_cheetah.xml",
    "mujoco_warp/test_data/constraints.xml", "mujoco_warp/test_data/collision.xml", "mujoco_warp/test_data/mug/mug.xml",
    "shared/menagerie/agility_cassie/scene.xml", "shared/menagerie/google_barkour_vb/scene.xml",
    "shared/menagerie/wonik_allegro/right_hand.xml", "shared/menagerie/robotiq_2f85/scene.xml",
)  # fmt: skip


def is_rollout(field: str) -> bool:
    return field.startswith("rollout")


def examine(model: ModelFile) -> Score:
    """Compare one model; what the engine refuses counts as not conforming."""
    m = model.load()
    reason = unsupported(m)
    if reason:
        return Score(wrong={"refused": reason})
    try:
        return compare(m)
    except KinemaError as error:
        return Score(wrong={"refused": str(error)})


def in_scope(model: ModelFile) -> bool:
    return model.load().nv <= LARGEST


def report(scores: dict[str, Score]) -> str:
    """The section of the page."""
    failing = {name: score.wrong for name, score in scores.items() if score.wrong}
    known = [score for score in scores.values() if "refused" not in score.wrong]
    fields = sum(not is_rollout(f) for score in known for f in score.compared)
    wrong = sum(not is_rollout(f) for score in known for f in score.wrong)
    forward, rolled = tally(scores)
    scored = sum(any(map(is_rollout, score.compared)) for score in known)
    notes = f"""
Of {fields} forward fields {100 * (1 - wrong / max(fields, 1)):.2f} % conform; {len(forward)} of {len(known)} models
conform on all of them. {len(rolled)} of {scored} models conform in every rollout that can be scored.
{len(scores) - len(known)} models are refused.
{_NOTES}"""
    return section("Contacts and constraints", failing, len(scores), notes=notes)


def tally(scores: dict[str, Score]) -> tuple[list[str], list[str]]:
    """Names of models that conform on all forward fields, and in all rollouts."""
    forward, rolled = [], []
    for name, score in scores.items():
        if "refused" in score.wrong:
            continue
        if not any(not is_rollout(f) for f in score.wrong):
            forward.append(name)
        if any(map(is_rollout, score.compared)) and not any(map(is_rollout, score.wrong)):
            rolled.append(name)
    return forward, rolled


@pytest.mark.slow
def test_contact_dynamics_conform(capsys):
    """No model that conformed before may stop conforming; the whole corpus conforms to the goals."""
    models = [model for model in corpus() if (FULL or model.name in SAMPLE) and in_scope(model)]
    assert len(models) > 5, "the corpus is missing: install the packages of the dev extra"
    scores = {model.name: examine(model) for model in models}
    with capsys.disabled():
        print_table({name: score.wrong for name, score in scores.items() if score.wrong}, len(scores))
    if FULL and SHARED.is_dir():
        write_section("contact", report(scores))
    forward, rolled = tally(scores)
    for stage, conforming in (("contact_forward", forward), ("contact_rollout", rolled)):
        baseline = Baseline(stage)
        if os.environ.get("KINEMA_UPDATE_BASELINE"):
            baseline.extend(conforming)
        lost = baseline.lost(conforming, scores)
        if stage == "contact_rollout":  # what chance decides now may not have been so before
            lost = [name for name in lost if any(map(is_rollout, scores[name].wrong))]
        assert not lost, f"models that conformed before ({stage}): {lost}"
    if FULL:
        known = [score for score in scores.values() if "refused" not in score.wrong]
        scored = [score for score in known if any(map(is_rollout, score.compared))]
        assert len(forward) >= FORWARD_GOAL * len(known)
        assert len(rolled) >= ROLLOUT_GOAL * len(scored)


_NOTES = """
A contact-rich state of each model (the fullest of a short run), and 1, 10 and 100 steps from it. Compared with MuJoCo
(float64): kinematics to 1e-4 of the field's scale, mass matrix and forces to 1e-3, qacc_smooth to 2e-3; contacts
(number, place, frame, distance, parameters), rows (numbers, diag J'DJ, J'D aref), qacc, constraint force and sensors
to 5e-3; positions and velocities of rollouts to 1e-4, 1e-3, 1e-2. To each is added three times what noise of float32's
size does to MuJoCo itself: 1e-6 in the state, and in the model's lengths and amounts what rounding does to them. The
solver may match MuJoCo at the model's own iterations or at convergence, and rollouts are scored while MuJoCo agrees
with itself under noise in the state.
"""

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
    assert not compare(mujoco.MjModel.from_xml_string(SPOILT)).wrong


@pytest.mark.parametrize("spoil", [_gain, _cone, _parents, _friction_loss, _multiccd])
def test_comparison_sees_errors(spoil):
    """The check is checked: a gain off by 1 %, another cone, no parent filter, no friction loss, single contacts."""
    m, wrong = (mujoco.MjModel.from_xml_string(SPOILT) for _ in range(2))
    spoil(wrong)
    assert compare(m, ours=wrong).wrong
