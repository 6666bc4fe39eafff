"""Every model of the corpus, compiled, against MuJoCo's own compilation, field by field."""

from __future__ import annotations

import os
import warnings

import pytest

from kinema.compile import compile_model
from kinema.errors import KinemaError

from .compare import differences
from .models import SHARED, corpus
from .report import Baseline, print_table, section, write_section

GOAL = 0.95


def test_compiled_fields_conform(capsys):
    """No model that conformed before may stop conforming, and at least 95 % conform on all fields."""
    models = corpus()
    assert len(models) > 100, "the corpus is missing: install the packages of the dev extra"
    failing: dict[str, dict[str, str]] = {}
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = differences(compile_model(model.path), model.load())
            except KinemaError as error:
                found = {"refused": str(error).rpartition("site-packages/")[2].rpartition("shared/models/")[2]}
        if found:
            failing[model.name] = found
    names = [model.name for model in models]
    conforming = [name for name in names if name not in failing]
    with capsys.disabled():
        print_table(failing, len(models))
    baseline = Baseline("compile")
    if os.environ.get("KINEMA_UPDATE_BASELINE"):  # and with it the page, which describes the whole corpus
        assert SHARED.is_dir(), "the page describes the whole corpus: give ../shared/models"
        baseline.extend(conforming)
        write_section("compile", section("Compile", failing, len(models), notes=_NOTES))
    lost = baseline.lost(conforming, names)
    assert not lost, f"models that conformed before: {lost}"
    assert len(conforming) >= GOAL * len(models)


_NOTES = """
Compared: every array and size of mjModel, mjOption, mjStatistic and mjVisual that MuJoCo's bindings offer; numbers to
1e-4 of the field's scale (2e-3 where an inverse of the inertia matrix enters), integers and names exactly, hull graphs
as polyhedra. Left out: nbuffer and signature. Names on `tests/conformance/baseline_compile.txt` must conform.
"""


def test_comparison_sees_small_errors():
    """The check is checked: a wrong number, a wrong integer and a wrong name are all found."""
    model = next(m for m in corpus() if m.name.endswith("suite/humanoid.xml"))
    for spoil in (
        lambda h: h.arrays["body_mass"].__setitem__(3, h.arrays["body_mass"][3] * 1.001),
        lambda h: h.arrays["geom_condim"].__setitem__(0, 4),
        lambda h: h.arrays["dof_damping"].__setitem__(6, 0.0),
        lambda h: h.arrays.__setitem__("names", h.arrays["names"][::-1]),
        lambda h: setattr(h.opt, "cone", 1),
    ):
        host = compile_model(model.path)
        before = differences(host, model.load())
        spoil(host)
        assert len(differences(host, model.load())) == len(before) + 1


if __name__ == "__main__":
    pytest.main([__file__])
