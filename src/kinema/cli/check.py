"""Compile and step a model beside MuJoCo, and show the largest difference of every field, and where it is.

Kinema computes in float32, MuJoCo in float64. A difference counts when it is larger than what float32 explains: a
tolerance for the kind of field times its largest number, plus three times how far MuJoCo's own answer moves when the
state is disturbed by 1e-6. States are rich in contacts, one a world; after many steps a chaotic motion is not compared.

The exit code is 0 when all agrees and 1 when something differs.
"""

from __future__ import annotations

import argparse
import json
import math

from kinema.cli.arguments import add_device, add_model, count

SUMMARY = "Compare a model with MuJoCo, field by field."
EXAMPLES = """\
examples:
  kinema check robot.xml
  kinema check robot.xml --worlds 8 --steps 1000 --all
  kinema check robot.xml --json > differences.json
  kinema check robot.xml && echo agrees
"""
SIZES = ("nq", "nv", "nu", "na", "nbody", "ngeom", "nsensordata")
"""What must be equal for states to be exchanged."""

SHOWN = 5
"""Fields of the compiled model that are shown though they agree: those nearest to their bounds."""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--steps", type=count(), default=100, metavar="N", help="time steps to compare (default 100)")
    parser.add_argument("--worlds", type=count(), default=2, metavar="N", help="states to compare in (default 2)")
    add_device(parser)
    parser.add_argument("--all", action="store_true", help="show every field of the compiled model")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    from kinema.cli.models import device_of, mujoco_model, source_of
    from kinema.cli.terminal import table, waiting
    from kinema.errors import need

    need("mujoco", "mujoco", "Comparisons")
    from kinema.cli.differences import DIFFERS, Beside, compiled, worst
    from kinema.compile import compile_model
    from kinema.simulation import Simulation

    device = device_of(args.device)
    source = source_of(args.model)
    ours, theirs = compile_model(source), mujoco_model(source)
    found = list(compiled(ours, theirs))
    comparable = all(getattr(ours, size) == getattr(theirs, size) for size in SIZES)
    if comparable:
        sim = Simulation(ours, args.worlds, device)
        beside = Beside(sim, theirs)
        with waiting("stepping beside MuJoCo (kernels are compiled once for a kind of model)"):
            found += worst(beside.forward())
            found += worst(beside.rollout(args.steps))
    wrong = [difference for difference in found if difference.verdict == DIFFERS]
    if args.json:
        print(json.dumps(_as_json(args.model, found, agrees=not wrong), indent=2))
        return 1 if wrong else 0
    shown = found if args.all else _selected(found)
    table(
        ("part", "field", "difference>", "allowed>", "kinema>", "mujoco>", "", "where"),
        [(d.part, d.field, *map(_number, (d.error, d.allowed, d.ours, d.theirs)), d.verdict, d.where) for d in shown],
    )
    if not comparable:
        print("The compiled models have different sizes, so their motion was not compared.")
    hidden = len(found) - len(shown)
    print(f"{len(found)} fields compared, {len(wrong)} differ" + (f"; --all shows {hidden} more" if hidden else ""))
    return 1 if wrong else 0


def _selected(found: list) -> list:
    """All of the motion; of the compiled model what differs and what comes nearest to it."""
    model = [d for d in found if d.part == "compile"]
    model.sort(key=lambda d: (d.verdict == "differs", d.excess), reverse=True)
    wrong = sum(d.verdict == "differs" for d in model)
    return [*model[: max(wrong, SHOWN)], *(d for d in found if d.part != "compile")]


def _number(value: float) -> str:
    if value != value or math.isinf(value):
        return "-"
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e6 else f"{value:.3g}"


def _as_json(model: str, found: list, *, agrees: bool) -> dict:
    def plain(value):
        return value if isinstance(value, str) or math.isfinite(value) else None

    rows = [{name: plain(value) for name, value in vars(d).items()} for d in found]
    return {"model": model, "agrees": agrees, "fields": rows}
