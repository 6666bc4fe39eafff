"""The section of docs/conformance.md about contacts and constraints: a line a device, and what lies behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from .dynamics import Score
from .questions import HORIZONS
from .report import PAGE, write_section
from .scores import (
    CAUSES,
    OVERRIDDEN,
    STAGED,
    Scores,
    cause,
    differences_between,
    fingerprint,
    forward_conforms,
    is_known,
    is_rollout,
    rollout_conforms,
)

SHOWN = 200
"""Characters of an example."""

MISSING = 60
"""Models that are named as not compared."""


def write_page(scores: Scores, corpus: Collection[str], *, page: Path = PAGE) -> None:
    """Rewrite the section from the scores of all devices; the corpus tells what is missing from them."""
    write_section("contact", text(scores, corpus), page=page)


def text(scores: Scores, corpus: Collection[str] = ()) -> str:
    """The section of the page."""
    labels = sorted(scores, key=lambda label: (label != STAGED, label))
    lines = ["## Contacts and constraints", ""]
    head = ["device", "models", "forward fields scored", "conform", "converged only", "wrong", "not scored",
            *(f"{n}-step rollouts" for n in HORIZONS), "twice the same bits"]  # fmt: skip
    lines += [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(_row(label, scores[label]))} |" for label in labels]
    lines += ["", NOTES.strip(), ""]
    for label in labels:
        lines += _device(label, scores[label], corpus)
    for label in labels:
        if label != STAGED and STAGED in scores and OVERRIDDEN not in label:  # another integrator has other answers
            lines += _beside(label, scores[STAGED], scores[label])
    return "\n".join(lines)


def _row(label: str, scores: Mapping[str, Score]) -> list[str]:
    known = [score for score in scores.values() if is_known(score)]

    def fields(kind: str) -> int:
        return sum(not is_rollout(f) for score in known for f in getattr(score, kind))

    compared, wrong, converged = fields("compared"), fields("wrong"), fields("converged")
    good = compared - wrong - converged
    rollouts = []
    for horizon in HORIZONS:
        name = f"rollout {horizon}"
        scored = [score for score in known if name in score.compared]
        right = sum(name not in score.wrong and name not in score.converged for score in scored)
        rollouts.append(f"{right} of {len(scored)}")
    same = [score for score in known if "same bits twice" in score.compared]
    bits = f"{sum('same bits twice' not in score.wrong for score in same)} of {len(same)}"
    share = f"{good} ({100 * good / max(compared, 1):.2f} %)"
    counts = [str(count) for count in (converged, wrong, fields("unscored"))]
    return [label, str(len(scores)), str(compared), share, *counts, *rollouts, bits]


def summary(label: str, scores: Mapping[str, Score]) -> list[str]:
    """What a survey found, for the page and the terminal."""
    known = {name: score for name, score in scores.items() if is_known(score)}
    rolled = [name for name, score in known.items() if any(f.startswith("rollout") for f in score.compared)]
    moving = [name for name, score in known.items() if score.bits]
    return [
        f"{label}: {sum(map(forward_conforms, known.values()))} of {len(known)} models conform on all forward fields "
        f"that can be scored, {sum(map(rollout_conforms, known.values()))} of {len(rolled)} in all rollouts; "
        f"{len(moving) - len(rolled)} have no rollout that can be scored; {len(scores) - len(known)} are refused or "
        f"broke. Fingerprint of all answers: {fingerprint(scores)}."
    ]


def _device(label: str, scores: Mapping[str, Score], corpus: Collection[str]) -> list[str]:
    lines = [f"### {label}", "", *summary(label, scores), ""]
    missing = sorted(set(corpus) - set(scores))
    if missing:
        shown = ", ".join(missing[:MISSING]) + (", ..." if len(missing) > MISSING else "")
        lines += [f"Not compared there: {len(missing)} of {len(corpus)} models ({shown}).", ""]
    misses = {name: score for name, score in scores.items() if score.wrong}
    if misses:
        lines += ["Misses by cause:", "", "| cause | model | fields | example |", "|---|---|---|---|"]
        order = list(CAUSES)
        for name, score in sorted(misses.items(), key=lambda item: (_rank(order, cause(item[1])), item[0])):
            lines.append(f"| {cause(score)} | {name} | {_names(score.wrong)} | {_example(score.wrong)} |")
        lines.append("")
    solved = {name: score for name, score in scores.items() if score.converged}
    if solved:
        lines += ["Converged only: not MuJoCo's answer at the model's own iterations, but at convergence.", ""]
        lines += ["| model | fields | at the model's own iterations |", "|---|---|---|"]
        lines += [f"| {name} | {_names(score.converged)} | {_example(score.converged)} |"
                  for name, score in sorted(solved.items())]  # fmt: skip
        lines.append("")
    doubted = {name: score for name, score in scores.items() if score.unscored}
    if doubted:
        count = Counter(f for score in doubted.values() for f in score.unscored)
        told = ", ".join(f"{field} {number}" for field, number in count.most_common())
        lines += [f"Not scored, in any state: {told}.", "", "| model | fields | why |", "|---|---|---|"]
        lines += [f"| {name} | {_names(score.unscored)} | {_example(score.unscored)} |"
                  for name, score in sorted(doubted.items())]  # fmt: skip
        lines.append("")
    return lines


def _rank(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _names(fields: Mapping[str, str]) -> str:
    return ", ".join(list(fields)[:6]) + (f" and {len(fields) - 6} more" if len(fields) > 6 else "")


def _example(fields: Mapping[str, str]) -> str:
    name, why = next(iter(fields.items()))
    return f"{name}: {why}".replace("|", "\\|").replace("\n", " ")[:SHOWN]


def _beside(label: str, ours: Mapping[str, Score], theirs: Mapping[str, Score]) -> list[str]:
    """How far a device is from the CPU."""
    found = differences_between(ours, theirs)
    if not found:
        return []
    lines = [
        f"### {label} beside {STAGED}",
        "",
        "Largest difference in the same states, as a part of the largest number.",
        "",
        "| answer | models | median | nine of ten below | largest | in |",
        "|---|---|---|---|---|---|",
    ]
    for field, parts in sorted(found.items()):
        values = np.nan_to_num(np.array(list(parts.values())), nan=np.inf)
        worst = max(parts, key=lambda name: np.nan_to_num(parts[name], nan=np.inf))
        shown = (np.median(values), np.quantile(values, 0.9), values.max())
        lines.append(f"| {field} | {len(parts)} | {' | '.join(f'{v:.1e}' for v in shown)} | {worst} |")
    return [*lines, ""]


NOTES = """
Up to three contact-rich states of each model, and 1, 10 and 100 steps from up to three states, chosen among many for
MuJoCo agreeing with itself in them. Compared with MuJoCo (float64): kinematics to 1e-4 of the field's scale, mass
matrix and forces to 1e-3, qacc_smooth to 2e-3; contacts (number, place, frame, distance, parameters), rows (numbers,
diag J'DJ, J'D aref), qacc, constraint force and sensors to 5e-3; positions and velocities of rollouts to 1e-4, 1e-3,
1e-2. To each is added three times what noise of float32's size does to MuJoCo itself: 1e-6 in the state, and in the
model's lengths, turns, amounts and margins what rounding does to them. Where that noise makes MuJoCo differ from itself
by more than ten tolerances (in rollouts one), or contacts and rows come and go with it, a field is *not scored* in that
state; it is listed as not scored if it is so in all of them. What the solver decides must equal MuJoCo's answer at the
model's own iterations; what only equals the converged answer is counted as *converged only*. "CPU, a kernel a stage" is
the CPU's code compiled stage by stage, which models share; "CPU" is the engine as it runs, one kernel a model; CUDA is
the engine as it runs there. The fingerprint is a hash of all numbers of all rollouts: the same on the same device and
versions.
"""
