"""The example learns: a short run of it balances the pole several times longer than it did untrained."""

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_cartpole.py"


@pytest.mark.optimised
def test_the_example_learns(capsys):
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    before, after = runpy.run_path(str(EXAMPLE))["train"](iterations=30, worlds=64, horizon=32)
    torch.set_num_threads(threads)
    assert before < 100 and after > 3 * before
    assert "episodes," in capsys.readouterr().out
