"""Compare random scenes (scenes.py) with MuJoCo: every field of the compiled model, forward dynamics, short rollouts.

    python -m tests.conformance.generated 0 100                    the scenes of these seeds
    python -m tests.conformance.generated 0 100 --integrator discrete --flag sleep
    python -m tests.conformance.generated 0 100 --kind flex        scenes with deformable bodies
    python -m tests.conformance.generated 0 100 --kind crowded     with several that meet each other and much else
    python -m tests.conformance.generated 0 100 --kind table       with what the table of MJCF adds (by_table.py)
    python -m tests.conformance.generated 0 100 --device fibres    by CUDA's kernels, without a GPU (on_fibres.py)
    python -m tests.conformance.generated 17 --show                the text of one

The rules are the corpus survey's (questions.py, states.py): a field that noise decides is not scored. A scene that does
not conform is named by its seed, so that it can be looked at again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import mujoco

from kinema.cli.oracle import rich_states
from kinema.compile import compile_model
from kinema.errors import KinemaError

from . import crowded_scenes, flex_scenes
from .by_table import scene_by_table
from .compare import differences
from .dynamics import Score, compare
from .scenes import scene
from .states import Case, state_vector
from .workers import SPAWN, quiet

SCENES = {"rigid": scene, "flex": flex_scenes.scene, "crowded": crowded_scenes.scene, "table": scene_by_table}
"""Scenes without and with deformable bodies, with many that meet, and with what the schema chose."""


def quick_case(m: mujoco.MjModel) -> Case:
    """Two states of a short run: less than the survey looks for, at a fraction of its time."""
    states = [state_vector(m, d) for d in rich_states(m, 0, parts=2, speed=0.5)]
    return Case(states, states[:1] if m.nv else [])


def examine(text: str, *, quick: bool = False, device: str = "cpu") -> Score:
    """Compare the scene of a text, from its compiled fields to its rollouts on a device."""
    m = mujoco.MjModel.from_xml_string(text)
    score = Score()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = compile_model(text)
        score.wrong.update({f"compile {name}": why for name, why in differences(ours, m).items()})
        found = compare(m, quick_case(m) if quick else None, device=device)
    except KinemaError as error:
        return Score(wrong={**score.wrong, "refused": str(error)})
    found.wrong = {**score.wrong, **found.wrong}
    return found


def work(
    seed: int, *, kind: str, integrator: str, flags: Sequence[str], quick: bool, device: str
) -> tuple[int, Score, float]:
    quiet()
    begun = time.perf_counter()
    try:
        score = examine(SCENES[kind](seed, integrator=integrator, flags=flags), quick=quick, device=device)
    except Exception as error:  # a crash is a finding too
        score = Score(wrong={"broken": f"{type(error).__name__}: {error}".split("\n")[0]})
    return seed, score, time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int, nargs="?", help="the seed after the last")
    parser.add_argument("--integrator", default="")
    parser.add_argument("--flag", nargs="*", default=[], help="flags to enable")
    parser.add_argument("--kind", choices=SCENES, default="rigid")
    parser.add_argument("--flex", action="store_const", const="flex", dest="kind", help="the same as --kind flex")
    parser.add_argument("--quick", action="store_true", help="look at two states of a short run only")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--show", action="store_true", help="print the scenes only")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    seeds = range(args.first, args.last or args.first + 1)
    if args.show:
        for seed in seeds:
            print(SCENES[args.kind](seed, integrator=args.integrator, flags=args.flag))
        return
    how = {"kind": args.kind, "integrator": args.integrator, "flags": args.flag}
    how |= {"quick": args.quick, "device": args.device}
    good = scored = doubted = 0
    with ProcessPoolExecutor(args.jobs, mp_context=SPAWN) as pool:
        for seed, score, seconds in pool.map(partial(work, **how), seeds):
            good += not score.wrong
            scored += len(score.compared)
            doubted += len(score.unscored)
            said = "".join(f"\n    {name}: {why}" for name, why in score.wrong.items())
            said += f"\n    converged only: {sorted(score.converged)}" if score.converged else ""
            print(f"{seed} ({seconds:.0f} s): {len(score.unscored)} not scored{said}", flush=True)
    print(f"{good} of {len(seeds)} scenes conform; {scored} fields scored, {doubted} not")


if __name__ == "__main__":
    main()
