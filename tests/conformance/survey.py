"""Compare the whole corpus on a device, in pieces, and write the page from what is known.

    python -m tests.conformance.survey --scores scores.pickle --jobs 2                       the CPU, a kernel a stage
    python -m tests.conformance.survey --scores scores.pickle --fused --only sample          the CPU's real engine
    python -m tests.conformance.survey --scores gpu.pickle --device cuda:0 --jobs 16 --corpus corpus.tar
    python -m tests.conformance.survey --scores fibres.pickle --device fibres                CUDA's kernels on the CPU
    python -m tests.conformance.survey --scores scores.pickle --integrator discrete          another for all models
    python -m tests.conformance.survey --scores others.pickle --folder robots                models outside the corpus
    python -m tests.conformance.survey --scores scores.pickle --merge gpu.pickle --write-page

Scores are kept in the file as they come, so that a run can be stopped and taken up again; models that are known keep
theirs unless named with --again. A model that was refused and is accepted by now counts as not compared. On CUDA it is
the real engine that runs, and its kernels take about half a minute a kind of model: models that need the same are done
together, small ones first, until --limit-seconds. A corpus from pack.py brings the states along; otherwise they are
looked for, and kept in a folder given as --states.
"""

from __future__ import annotations

import argparse
import tarfile
import tempfile
import time
from functools import partial
from pathlib import Path

from . import scores as scoring
from .dynamics import Score
from .models import ModelFile, corpus, forget, in_scope, keeping_states, models_in, packed, stepped_with
from .page import summary, write_page
from .report import Baseline
from .workers import Broken, quiet, share_out

SAMPLE = (
    "dm_control/suite/humanoid.xml", "dm_control/suite/walker.xml", "dm_control/suite/finger.xml",
    "dm_control/suite/quadruped.xml", "dm_control/suite/manipulator.xml", "dm_control/suite/swimmer.xml",
    "dm_control/mujoco/testing/assets/humanoid.xml", "gymnasium/envs/mujoco/assets/ant.xml",
    "gymnasium/envs/mujoco/assets/pusher.xml", "brax/envs/assets/hopper.xml", "brax/envs/assets/half_cheetah.xml",
    "mujoco_warp/test_data/constraints.xml", "mujoco_warp/test_data/collision.xml", "mujoco_warp/test_data/mug/mug.xml",
    "shared/menagerie/agility_cassie/scene.xml", "shared/menagerie/google_barkour_vb/scene.xml",
    "shared/menagerie/wonik_allegro/right_hand.xml", "shared/menagerie/robotiq_2f85/scene.xml",
)  # fmt: skip
"""Models of every kind, few enough for every test run."""

INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast", "discrete")


def work(model: ModelFile, *, device: str, fused: bool) -> Score:
    """What a process does with a model."""
    quiet()
    return scoring.examine(model, device, fused=fused)


def grouped(models: list[ModelFile]) -> list[list[ModelFile]]:
    """Models that need the same kernels together, small ones first."""
    groups: dict[str, list[ModelFile]] = {}
    for model in sorted(models, key=lambda model: model.nv if model.nv >= 0 else model.load().nv):
        groups.setdefault(model.recipe or model.name, []).append(model)
    return list(groups.values())


def survey(
    models: list[ModelFile], path: Path, *, device: str, fused: bool, jobs: int, limit: float | None, again: list[str],
    integrator: str = "",
) -> None:  # fmt: skip
    """Score all models that are not known yet; print and keep what comes."""
    known = scoring.load(path)
    label = scoring.device_label(device, fused=fused, integrator=integrator)
    mine = known.setdefault(label, {})
    todo = [model for model in models if model.name not in mine or any(part in model.name for part in again)]
    groups = grouped(todo)
    forget()  # processes load what they compare
    kinds = f" of {len(groups)} kinds" if any(model.recipe for model in todo) else ""
    print(f"{label}: {len(todo)} models{kinds} to compare, {len(models) - len(todo)} known", flush=True)
    begun, covered, done = time.monotonic(), set(), 0
    for model, result in share_out(groups, partial(work, device=device, fused=fused), jobs=jobs, limit=limit):
        mine[model.name] = score = Score(wrong={"broken": result.why}) if isinstance(result, Broken) else result
        scoring.save(path, known)
        covered.add(model.recipe)
        done += 1
        print(f"{time.monotonic() - begun:6.0f} s  {model.name} ({score.seconds:.0f} s)  {_said(score)}", flush=True)
    if done < len(todo):
        print(f"{label}: the time is up; {done} of {len(todo)} models{f', {len(covered)}{kinds}' if kinds else ''}")
    print("\n".join(summary(label, mine)), flush=True)


def extend_baselines(scores: dict[str, Score]) -> None:
    """Models that conform on the CPU must go on doing so."""
    for stage, conforms in scoring.BASELINES.items():
        Baseline(stage).extend([name for name, score in scores.items() if conforms(score)])


def _said(score: Score) -> str:
    parts = [f"WRONG {score.wrong}" if score.wrong else "conforms"]
    parts += [f"converged only {sorted(score.converged)}"] if score.converged else []
    parts += [f"not scored {sorted(score.unscored)}"] if score.unscored else []
    return "; ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scores", type=Path, required=True, help="the file that scores are kept in")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--fused", action="store_true", help="on the CPU, the engine as it is, not a kernel a stage")
    parser.add_argument("--corpus", type=Path, help="a packed corpus, as a file or unpacked")
    parser.add_argument("--folder", type=Path, help="models of this folder in place of the corpus")
    parser.add_argument("--states", type=Path, help="a folder to keep states in")
    parser.add_argument("--only", nargs="*", default=[], help='parts of names, or "sample"')
    parser.add_argument("--again", nargs="*", default=[], help="parts of names to compare anew")
    parser.add_argument("--integrator", choices=INTEGRATORS, default="", help="in place of each model's own")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit-seconds", type=float)
    parser.add_argument("--merge", type=Path, nargs="*", default=[], help="files of scores from other machines")
    parser.add_argument("--write-page", action="store_true", help="write the page, extend baselines; compares nothing")
    args = parser.parse_args()
    if args.write_page:
        scores = scoring.merge(map(scoring.load, (*args.merge, args.scores)))
        models = [model for model in corpus() if in_scope(model)]
        write_page(scoring.without_old_refusals(scores, models), [model.name for model in models])
        extend_baselines(scores.get(scoring.STAGED, {}))
        return
    with tempfile.TemporaryDirectory() as folder:
        if args.corpus and args.corpus.is_file():
            with tarfile.open(args.corpus) as archive:
                archive.extractall(folder, filter="data")
            args.corpus = Path(folder)
        unpacked = models_in(args.folder, args.folder.name) if args.folder else corpus()
        models = packed(args.corpus) if args.corpus else [model for model in unpacked if in_scope(model)]
        models = stepped_with(models, args.integrator) if args.integrator else models
        models = keeping_states(models, args.states) if args.states else models
        if args.only:
            wanted = SAMPLE if args.only == ["sample"] else args.only
            models = [model for model in models if any(part in model.name for part in wanted)]
        survey(
            models, args.scores, device=args.device, fused=args.fused, jobs=args.jobs, limit=args.limit_seconds,
            again=args.again, integrator=args.integrator,
        )  # fmt: skip


if __name__ == "__main__":
    main()
