"""Parts of a recipe are named by what decides their text, and a known one is loaded without Warp's code generator."""

import pytest
import warp as wp

from kinema.convex import known, parts
from kinema.convex.solve import dual, primal, sparse
from kinema.convex.stage import Stage

FIVE = 5


def scaled(factor: int) -> wp.Function:
    @wp.func
    def scale(m: int, d: int, w: int):
        return wp.static(factor) * m

    return scale


def named(func: wp.Function, **what) -> str | None:
    return known.name_of((Stage(func, **what),), parts.drive.module.resolve_options(wp.config, 1))


@wp.func
def five(m: int, d: int, w: int):
    return FIVE * m


@wp.func
def calls_five(m: int, d: int, w: int):
    return five(m, d, w)


def test_equal_functions_have_equal_names():
    assert named(scaled(2)) == named(scaled(2)) != named(scaled(3))
    assert named(scaled(2), once=True) != named(scaled(2))


@pytest.mark.parametrize("solver", [primal.newton, sparse.conjugate_gradient, dual.noslip, dual.projected_gauss_seidel])
def test_native_functions_of_one_name_are_told_apart_by_their_text(solver):
    """Else a model that steps with the discrete integrator would be given the solver of continuous time."""
    assert named(solver(discrete=False), lanes=True) != named(solver(discrete=True), lanes=True)


def test_numbers_of_other_modules_are_part_of_the_name(monkeypatch):
    before = named(five), named(calls_five)
    monkeypatch.setitem(globals(), "FIVE", 6)
    after = named(five), named(calls_five)
    assert None not in before + after
    assert before[0] != after[0] and before[1] != after[1]  # through what it calls as well


def test_what_cannot_be_told_apart_has_no_name():
    thing = object()

    @wp.func
    def odd(m: int, d: int, w: int):
        return wp.static(1 if thing else 0) * m

    assert named(odd) is None


def test_options_of_warp_are_part_of_the_name():
    options = parts.drive.module.resolve_options(wp.config, 1)
    stages = (Stage(five),)
    assert known.name_of(stages, options) != known.name_of(stages, {**options, "fast_math": not options["fast_math"]})


def test_an_object_that_is_gone_is_not_found(monkeypatch, tmp_path):
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    assert known.find("0" * 32) is None
    (tmp_path / "kinema").mkdir()
    (tmp_path / "kinema" / f"{'0' * 32}.json").write_text('{"object": "away.o", "symbol": "run"}')
    assert known.find("0" * 32) is None
    (tmp_path / "kinema" / f"{'1' * 32}.json").write_text("not JSON")
    assert known.find("1" * 32) is None
