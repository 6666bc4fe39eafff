"""CUDA's recipes of every model of the corpus, checked on the CPU.

1. By reading: no two stages of a phase touch the same numbers, and none those of another world.
2. By running: every phase that the corpus has gives the same bits with its threads in two orders (test_orders.py).
   KINEMA_ORDERS=all runs every model.
3. By compiling: every function of every recipe, in a kernel that some model launches, for sm_90.
4. By counting: every function of every recipe is in a kernel of some scene that is run as fibres.
"""

import os

import mujoco
import pytest
import warp as wp

from kinema.convex import known, parts
from kinema.convex.reader import read
from kinema.convex.schedule import races
from kinema.convex.stage import cohort_kernel, lane_kernel
from tests.convex.cuda.scenes import SCENES
from tests.convex.hopper import compile_kernel, stack
from tests.convex.recipes import Kernel, code, cohorts, distinct, kernels_of, recipe_of, recipes_of_corpus
from tests.convex.test_fibres import MODELS
from tests.convex.test_orders import different

WHOLE = "humanoid.xml"  # a model of which all kernels are compiled
STACK = 4096


@pytest.fixture(scope="module")
def recipes() -> list[tuple[str, mujoco.MjModel]]:
    return recipes_of_corpus()


def test_no_phase_has_a_race(recipes):
    for name, m in recipes:
        for kernel in cohorts(m):
            for phase in kernel:
                assert not races(phase), name


def test_stages_write_to_their_own_world_only(recipes):
    """What the scheduler takes for granted: worlds have nothing to do with each other."""
    functions = {stage.func for _, m in recipes for stage in recipe_of(m) if stage.func}
    for func in functions:
        world = list(func.input_types)[2]
        away = {place.path for place, index in read(func).writes if index[:1] != (world,)}
        assert not away, f"{func.key} writes {away} of other worlds"


def test_kernels_of_one_hash_are_one_kernel(recipes):
    """Warp keeps kernels by a hash of what it sees of them: of a solver it did not see it would give any other."""
    options = parts.drive.module.resolve_options(wp.config, 1)
    lanes = {kernel for _, m in recipes for kernel in kernels_of(m) if kernel[0].lanes}
    names: dict[bytes, set[str | None]] = {}
    for kernel in lanes:
        names.setdefault(lane_kernel(kernel).module.get_module_hash(), set()).add(known.name_of(kernel, options))
    assert len(names) > 20 and None not in set().union(*names.values())
    assert all(len(same) == 1 for same in names.values())


def test_every_function_is_run_as_fibres(recipes):
    """What a model launches on CUDA and no scene does is run for the first time on a GPU: add it to a scene."""
    scenes = [mujoco.MjModel.from_xml_string(text) for text in (*SCENES.values(), *MODELS.values())]
    run = {part for m in scenes for kernel in kernels_of(m) for part in code(kernel)}
    missing = {part: name for name, m in recipes for kernel in kernels_of(m) for part in code(kernel) - run}
    assert len(run) > 100 and not missing


def spread(recipes) -> list[tuple[str, mujoco.MjModel]]:
    """Few models with all phases: always the one with most that were not yet seen."""
    if os.environ.get("KINEMA_ORDERS") == "all":
        return recipes
    phases = {name: distinct(m) for name, m in recipes}
    missing = set().union(*phases.values())
    chosen = []
    while missing:
        name, m = max(recipes, key=lambda entry: len(phases[entry[0]] & missing))
        missing -= phases[name]
        chosen.append((name, m))
    return chosen


@pytest.mark.slow
def test_orders_of_threads_do_not_matter(recipes):
    wrong = {name: found for name, m in spread(recipes) if (found := different(m))}
    assert not wrong


def kernels(recipes) -> list[Kernel]:
    """All kernels of one model, and then those with most code for their length that was not yet seen."""
    whole = next(m for name, m in recipes if name.endswith(WHOLE))
    chosen = kernels_of(whole)
    missing = {kernel: code(kernel) for _, m in recipes for kernel in kernels_of(m)}
    for done in chosen:
        missing = {kernel: left - code(done) for kernel, left in missing.items()}
    while any(missing.values()):
        best = max(missing, key=lambda kernel: len(missing[kernel]) / (3 + len(kernel)))
        chosen.append(best)
        new = missing[best]
        missing = {kernel: left - new for kernel, left in missing.items()}
    return chosen


@pytest.mark.slow
def test_every_function_compiles_for_hopper(recipes):
    for stages in kernels(recipes):
        kernel = (lane_kernel if stages[0].lanes else cohort_kernel)(stages)
        ptx = compile_kernel(kernel)
        names = [stage.func.key for stage in stages]
        assert ".visible .entry" in ptx, names
        if not stages[0].lanes and not any(read(stage.func).keeps for stage in stages):
            assert stack(ptx) < STACK, f"{names}: Model and Data must not be copied to each thread"
