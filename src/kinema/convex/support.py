"""Which options of MJCF the engine honours, and which it refuses: each is in exactly one of the two tables.

    HONOURED    what <option> or <flag> sets, and where a test shows that a model obeys it as in MuJoCo
    REFUSED     what would be read and ignored: a model that asks for it is not run, and the error names it

A test walks the schema, so that an option which MuJoCo gets tomorrow must be put into one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinema.compile.option import DISABLE, ENABLE, KEYWORDS
from kinema.convex.flex.elastic import is_elastic, is_neo_hookean
from kinema.convex.flex.pairs import has_passive_contacts
from kinema.errors import BuildError
from kinema.mujoco_enums import Integrator, Solver

HERE = "tests/convex/test_options.py"

HONOURED: dict[str, str] = {
    **dict.fromkeys(
        ("timestep", "impratio", "gravity", "wind", "magnetic", "density", "viscosity", "o_margin", "o_solref",
         "o_solimp", "o_friction", "iterations", "tolerance", "noslip_iterations", "noslip_tolerance", "ls_iterations",
         "ls_tolerance", "actuatorgroupdisable"), HERE,
    ),
    "sleep_tolerance": "tests/convex/test_sleep.py", "flag sleep": "tests/convex/test_sleep.py",
    "ccd_tolerance": "tests/collide/test_convex.py", "ccd_iterations": "tests/collide/test_convex.py",
    "sdf_iterations": "tests/collide/test_sdf.py", "sdf_initpoints": "tests/collide/test_sdf.py",
    "integrator=Euler": HERE, "integrator=RK4": HERE, "integrator=implicit": HERE, "integrator=implicitfast": HERE,
    "integrator=discrete": HERE,
    "cone=pyramidal": HERE, "cone=elliptic": HERE, "jacobian=dense": HERE, "jacobian=sparse": HERE,
    "jacobian=auto": HERE, "solver=PGS": HERE, "solver=CG": HERE, "solver=Newton": HERE,
    **{f"flag {name}": HERE for name in (
        "constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "clampctrl",
        "warmstart", "filterparent", "actuation", "refsafe", "sensor", "midphase", "eulerdamp", "override", "island",
    )},
    "flag nativeccd": "tests/collide/test_legacy.py", "flag multiccd": "tests/collide/test_convex.py",
    "flag speculative": "tests/convex/test_speculative.py",
    "flag diagexact": "tests/convex/constraint/test_exact.py",
    "flag energy": HERE, "flag invdiscrete": "tests/convex/test_inverse.py",
    "flag autoreset": "a world that goes bad is frozen and flagged, whatever it says: tests/simulation/test_failure.py",
    "flag fwdinv": "only MuJoCo's diagnostic solver_fwdinv follows from it, which is not offered",
}  # fmt: skip
"""Options the engine obeys, and the tests that show it; or why nothing is there to obey."""

REFUSED: dict[str, str] = {
    "flag ipc": "it is a mode of contacts of flexes: remove the flag",
}
"""What a model may not ask for, and what to do instead."""


TOGETHER = ENABLE["sleep"] | ENABLE["speculative"]
"""Flags that are there one at a time."""


def check(source: Any) -> None:
    """Raise BuildError where a model asks for what the engine does not simulate, by its name in MJCF."""
    check_flexes(source)
    for wish in wishes(source):
        if wish in REFUSED:
            raise BuildError(f"{_shown(wish)} is not simulated: {REFUSED[wish]}")
    if int(source.opt.enableflags) & TOGETHER == TOGETHER:
        raise BuildError('<flag sleep="enable"/> and speculative="enable" do not go together: remove one of them')


def check_flexes(source: Any) -> None:
    """Raise BuildError where a model has a flex that is not simulated, by its name."""
    if not getattr(source, "nflex", 0):
        return
    for f in range(source.nflex):
        for why, is_so in FLEX_REFUSED.items():
            if is_so(source, f):
                raise BuildError(f"flex {_flex_name(source, f)!r}: {why}")
    dual = int(source.opt.solver) == Solver.PGS or int(source.opt.noslip_iterations) > 0
    passive = has_passive_contacts(source)
    if dual and int(source.opt.integrator) == Integrator.DISCRETE and (is_elastic(source) or passive):
        raise BuildError(  # MuJoCo refuses it as well
            'elastic flexes and passive contact with option integrator="discrete": use solver="Newton" or "CG", '
            'noslip_iterations="0"'
        )
    if passive and int(source.opt.integrator) != Integrator.DISCRETE:
        raise BuildError('passive contact of flexes: use option integrator="discrete"')


FLEX_REFUSED: dict[str, Callable[[Any, int], bool]] = {
    'its elasticity is Stable Neo-Hookean: use option integrator="discrete"':  # MuJoCo refuses it as well
        lambda m, f: bool(is_neo_hookean(m)[f] and int(m.opt.integrator) != Integrator.DISCRETE),
}  # fmt: skip
"""What a flex may not ask for."""


def _flex_name(source: Any, f: int) -> str:
    first = int(source.name_flexadr[f])
    return bytes(source.names)[first:].split(b"\0", 1)[0].decode() or str(f)


def wishes(source: Any) -> list[str]:
    """What the options of a model ask for, as the tables spell it."""
    opt = source.opt
    found = [f"flag {name}" for name, bit in ENABLE.items() if int(opt.enableflags) & bit]
    found += [f"flag {name}" for name, bit in DISABLE.items() if int(opt.disableflags) & bit]
    for name, (table, _) in KEYWORDS.items():
        value = int(getattr(opt, name, table[next(iter(table))]))
        found += [f"{name}={word}" for word, code in table.items() if code == value]
    return found


def _shown(wish: str) -> str:
    """A wish as a document writes it."""
    kind, _, rest = wish.partition(" ")
    if kind == "flag":
        return f'<flag {rest}="enable"/>'
    name, _, word = wish.partition("=")
    return f'option {name}="{word}"'
