"""Scores of many models on several devices: made, kept in a file, summed up, and compared with each other.

A file of scores holds, for every device, a score a model, so that a survey can be stopped and taken up again, and
files from several machines can be laid together.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import warp as wp

from kinema.errors import KinemaError

from .dynamics import Score, compare
from .models import ModelFile, unsupported
from .on_fibres import LABELS

STAGED, FUSED = "CPU, a kernel a stage", "CPU"
OVERRIDDEN = "all models"
"""What labels say where the integrator is not the models' own."""
Scores = dict[str, dict[str, Score]]

CAUSES = {
    "kinematics and forces": (
        "x", "geom_x", "site_x", "cam_x", "light_x", "subtree", "cdof", "cvel", "ten_", "actuator_", "M", "act_dot",
        "qfrc_bias", "qfrc_passive", "qfrc_act", "qfrc_grav", "qfrc_fluid", "qfrc_smooth", "qacc_smooth",
    ),
    "which contacts": ("ncon", "contact_geom"),
    "places of contacts": ("contact_dist", "contact_pos", "contact_frame"),
    "parameters of contacts": ("contact_",),
    "rows": ("ne", "nf", "nl", "J'"),
    "what the solver decides": ("qacc", "qfrc_constraint"),
    "sensors": ("sensor ",),
    "rollouts": ("rollout ",),
    "determinism": ("same bits",),
    "refused": ("refused",),
}  # fmt: skip
"""What a miss is put down to: the first of these with a wrong field, which makes the later ones wrong too."""


def device_label(device: str, *, fused: bool, integrator: str = "") -> str:
    """What the page calls a device, and the integrator where it is not the models' own."""
    if device == "cpu":
        label = FUSED if fused else STAGED
    else:
        label = LABELS.get(device) or f"{wp.get_device(device).name} (CUDA)"
    return f"{label}, {OVERRIDDEN} {integrator}" if integrator else label


def is_rollout(field: str) -> bool:
    return field.startswith(("rollout", "same bits"))


def examine(model: ModelFile, device: str = "cpu", *, fused: bool = False) -> Score:
    """Compare one model; what the engine refuses counts as not conforming."""
    m = model.load()
    reason = unsupported(m)
    if reason:
        return Score(wrong={"refused": reason})
    try:
        return compare(m, model.case(), device=device, fused=fused)
    except KinemaError as error:
        return Score(wrong={"refused": str(error)})


def is_known(score: Score) -> bool:
    """Was anything compared?"""
    return not {"refused", "broken"} & set(score.wrong)


def forward_conforms(score: Score) -> bool:
    """Do all forward fields that were scored conform at the model's own iterations?"""
    return is_known(score) and not any(not is_rollout(f) for f in (*score.wrong, *score.converged))


def rollout_conforms(score: Score) -> bool:
    """Is there a rollout that was scored, and do all that were conform?"""
    scored = any(f.startswith("rollout") for f in score.compared)
    return is_known(score) and scored and not any(map(is_rollout, (*score.wrong, *score.converged)))


BASELINES = {"contact_forward": forward_conforms, "contact_rollout": rollout_conforms}
"""Lists of models that have conformed, and what that means."""


def cause(score: Score) -> str:
    """What the first miss of a score is put down to."""
    for name, starts in CAUSES.items():
        if any(field.startswith(starts) for field in score.wrong):
            return name
    return "broken"


def fingerprint(scores: Mapping[str, Score]) -> str:
    """One hash of all that was computed; the same on the same device and the same versions."""
    text = "\n".join(f"{name} {score.states} {score.bits}" for name, score in sorted(scores.items()))
    return hashlib.sha1(text.encode()).hexdigest()[:16]


def differences_between(ours: Mapping[str, Score], theirs: Mapping[str, Score]) -> dict[str, dict[str, float]]:
    """For each answer that was kept, how far two devices are apart, model by model, as a part of the largest number."""
    found: dict[str, dict[str, float]] = {}
    for name in sorted(set(ours) & set(theirs)):
        a, b = ours[name], theirs[name]
        if not a.states or a.states != b.states:
            continue
        for field in a.answers.keys() & b.answers.keys():
            x, y = (np.asarray(s.answers[field], float) for s in (a, b))
            if x.size and x.shape == y.shape:
                scale = max(float(np.abs(x).max()), 1e-3)
                found.setdefault(field, {})[name] = float(np.abs(x - y).max()) / scale
    return found


def load(path: Path) -> Scores:
    return pickle.loads(path.read_bytes()) if path.exists() else {}


def save(path: Path, scores: Scores) -> None:
    """Write the file in one go, so that a run that is stopped leaves a whole one."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(pickle.dumps(scores))
    os.replace(part, path)


def without_old_refusals(scores: Scores, models: Iterable[ModelFile]) -> Scores:
    """Scores without those of models that were refused and would not be today: they were not compared."""
    accepted = {model.name for model in models if unsupported(model.load()) is None}
    return {
        label: {name: score for name, score in known.items() if "refused" not in score.wrong or name not in accepted}
        for label, known in scores.items()
    }


def merge(several: Iterable[Scores]) -> Scores:
    """Scores of several files; later ones win."""
    found: Scores = {}
    for scores in several:
        for label, known in scores.items():
            found.setdefault(label, {}).update(known)
    return found
