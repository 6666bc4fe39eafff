"""The survey's machinery: processes that break or run out of time lose nothing, and packed models are the same."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from . import scores as scoring
from .dynamics import Score
from .models import ModelFile
from .pack import pack
from .page import text
from .survey import grouped, main
from .test_questions import GRAZING
from .workers import Broken, share_out


def work(task):
    if task == "die":
        os._exit(1)
    if task == "sleep":
        time.sleep(3600)
    return task * 2 if task != "raise" else 1 / 0


def test_a_process_that_dies_takes_one_task_with_it():
    found = dict(share_out([["a", "die", "b"], ["c", "raise"]], work, jobs=2))
    assert found.pop("die") == Broken("the process died")
    assert found.pop("raise") == Broken("ZeroDivisionError: division by zero")
    assert found == {"a": "aa", "b": "bb", "c": "cc"}


def test_time_runs_out():
    """What is not done in time is left undone, and nobody waits for it."""
    assert dict(share_out([["sleep"], ["sleep"]], work, jobs=2, limit=0.5)) == {}


def test_models_with_the_same_kernels_stay_together():
    kinds = [("a", 9), ("b", 2), ("a", 1)]
    models = [ModelFile(str(k), Path(), recipe=recipe, nv=nv) for k, (recipe, nv) in enumerate(kinds)]
    assert [[model.name for model in group] for group in grouped(models)] == [["2", "0"], ["1"]]


@pytest.mark.slow
def test_a_packed_corpus_scores_the_same(tmp_path, monkeypatch, capsys):
    """Pack two models that are the same and one that is not; survey what was packed; take the survey up again."""
    for name, source in {"a": GRAZING, "b": GRAZING, "c": GRAZING.replace(".099", ".098")}.items():
        (tmp_path / f"{name}.xml").write_text(source)
    models = [ModelFile(f"{name}.xml", tmp_path / f"{name}.xml") for name in "abc"]
    archive = tmp_path / "corpus.tar"
    index = pack(archive, models, mib=1, jobs=1)
    assert [row["name"] for row in index["models"]] == ["a.xml", "c.xml"] and "b.xml" in index["missing"]
    assert len({row["recipe"] for row in index["models"]}) == 1
    arguments = ["survey", "--scores", str(tmp_path / "scores.pickle"), "--corpus", str(archive)]
    monkeypatch.setattr(sys, "argv", arguments)
    main()
    said = capsys.readouterr().out
    assert "2 models of 1 kinds to compare" in said and "2 of 2 models conform" in said
    main()
    assert "0 models to compare, 2 known" in capsys.readouterr().out
    known = scoring.load(tmp_path / "scores.pickle")[scoring.STAGED]
    direct = scoring.examine(models[0])
    assert direct.states == known["a.xml"].states and direct.bits == known["a.xml"].bits


def test_the_page_tells_devices_apart():
    good = Score(compared={"qacc", "rollout 1", "same bits twice"}, answers={"qacc": np.ones(2)}, states="s", bits="1")
    other = Score(compared={"qacc", "same bits twice"}, wrong={"qacc": "2, not 1"}, unscored={"ncon": "chance"},
                  answers={"qacc": np.full(2, 1.5)}, states="s", bits="2")  # fmt: skip
    said = text({scoring.STAGED: {"m": good, "n": good}, "H200 (CUDA)": {"m": other}}, ["m", "n"])
    assert said.count("Not compared there: 1 of 2 models (n).") == 1
    assert "| CPU, a kernel a stage | 2 | 2 | 2 (100.00 %) | 0 | 0 | 0 | 2 of 2 |" in said
    assert "| H200 (CUDA) | 1 | 1 | 0 (0.00 %) | 0 | 1 | 1 | 0 of 0 |" in said
    assert "| what the solver decides | m | qacc | qacc: 2, not 1 |" in said
    assert "| m | ncon | ncon: chance |" in said
    assert "| qacc | 1 | 5.0e-01 | 5.0e-01 | 5.0e-01 | m |" in said
