"""No stage touches a table that was left empty: native code that does reads whatever lies there.

Arrays go by counts (bundle.py). Where a count of MuJoCo's is zero there is nothing of the kind, and a stage has nothing
to go through: loops over `nmocap` do not turn, `plastic` is read where a spring says that it yields. The engine's own
counts are those of tables that it makes for some models and not for others, and it must make them for every recipe that
reads them. A stage that looks before it reads is said here, with what it looks at. Where nothing moves, solvers look at
nv first (test_nothing_to_move.py).
"""

import mujoco
import pytest

from kinema.convex.engine import Engine
from kinema.mujoco_enums import Integrator
from tests.conformance import flex_scenes, scenes
from tests.conformance.scenes import INTEGRATORS

LOOKS_FIRST = {
    "na_rk4": "activations, of which there may be none: na",
    "nconmax_flex": "contacts, of which there may be room for none: ncon",
    "nslot": "constraints that may ask for rows, of which there may be none: nslot itself",
    "nflexelem_met": "elements of flexes, if anything but planes meets one: nflexelem_met itself",
    "nflexelem_neo": "elements of flexes, if one is Stable Neo-Hookean: nflexelem_neo itself",
    "nflexfold": "folds, of flexes of two dimensions",
    "nflexpoint": "points of flexes, where a side of a contact is no geom (flex/side.py)",
    "nflexsupport": "bodies that bear points of flexes, where a side of a contact is no geom (flex/side.py)",
    "nflexrods": "flexes that are rods: the flex says whether it is one",
    "nflexsegment": "segments of rods: the flex says whether it is one",
}
"""Counts of the engine's own that may be zero where a stage names their arrays, and what it looks at before."""

ONLY_NAMES = {("conjugate_gradient", "solver_lists"): "its text is Newton's and CUDA's as well, which read them"}
"""Arrays that a stage takes the address of, and no more."""


def unguarded(engine: Engine) -> dict[str, str]:
    """Arrays of no length that a stage of the step touches, and which stage."""
    layout = engine.layout
    found = {}
    for stage in engine.recipes["step"]:
        for name in stage.access.reads | stage.access.writes:
            size = layout.declared[name].size if name in layout.declared else ()
            empty = [count for count in size or () if isinstance(count, str) and layout.size(count) == 0]
            kind = stage.func.key.split("__")[-1] if stage.func else "a launch"
            if any(not hasattr(engine.source, count) and count not in LOOKS_FIRST for count in empty):
                found |= {name: kind} if (kind, name) not in ONLY_NAMES else {}
    return found


def model(text: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(text)


@pytest.mark.parametrize("cuda", [False, True])
def test_no_stage_touches_an_empty_table(cuda):
    """Whatever the scene, the integrator and the solver; nothing is compiled for it."""
    drawn = [(seed, scenes.scene(seed)) for seed in range(16)] + [(seed, flex_scenes.scene(seed)) for seed in (0, 4, 8)]
    for seed, text in drawn:
        m = model(text)
        assert not m.nv or unguarded(Engine(m, 1, device="cpu", cuda=cuda)) == {}, seed
    m = model(scenes.scene(2))
    for integrator in range(len(INTEGRATORS)):
        for solver in range(3):
            m.opt.integrator, m.opt.solver = integrator, solver
            assert unguarded(Engine(m, 1, device="cpu", cuda=cuda)) == {}, (INTEGRATORS[integrator], solver)


def test_a_table_left_out_is_found():
    """Conjugate gradients of the discrete integrator go by whole rows of the metric; without, they read anything."""
    m = model(scenes.scene(2))
    m.opt.integrator, m.opt.solver = int(Integrator.DISCRETE), int(mujoco.mjtSolver.mjSOL_CG)
    engine = Engine(m, 1, device="cpu")
    assert engine.layout.size("nmetricfull") > 0 and not unguarded(engine)
    engine.layout.capacity["nmetricfull"] = 0
    assert "dof_metric_full" in unguarded(engine)
