"""Compare the whole corpus in pieces, and write the page from what is known.

    python -m tests.conformance.survey scores.pickle [part of a name ...]

Scores are kept in the file as they come, so that a run can be stopped and taken up again; models whose names contain
one of the parts are compared anew. Models that are known keep their scores. The page is written when none is missing.
"""

from __future__ import annotations

import pickle
import sys
import time
from pathlib import Path

from .dynamics import Score
from .models import corpus
from .report import Baseline, write_section
from .test_contact import examine, in_scope, report, tally


def survey(path: Path, again: list[str]) -> dict[str, Score]:
    """Scores of all models in scope, the small ones first."""
    known: dict[str, Score] = pickle.loads(path.read_bytes()) if path.exists() else {}
    models = sorted((model for model in corpus() if in_scope(model)), key=lambda model: model.load().nv)
    for model in models:
        if model.name in known and not any(part in model.name for part in again):
            continue
        begun = time.perf_counter()
        known[model.name] = score = examine(model)
        path.write_bytes(pickle.dumps(known))
        print(f"{time.perf_counter() - begun:6.1f} s  {model.name}  {score.wrong or 'conforms'}", flush=True)
    return {model.name: known[model.name] for model in corpus() if in_scope(model)}


if __name__ == "__main__":
    scores = survey(Path(sys.argv[1]), sys.argv[2:])
    write_section("contact", report(scores))
    for stage, conforming in zip(("contact_forward", "contact_rollout"), tally(scores), strict=True):
        Baseline(stage).extend(conforming)
