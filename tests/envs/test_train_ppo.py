"""The training example in small: it learns, and leaves a curve and a checkpoint that can be taken up again."""

import csv
import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_ppo.py"


@pytest.mark.optimised
def test_it_learns_and_writes_what_it_learned(tmp_path):
    torch = pytest.importorskip("torch")
    threads, example = torch.get_num_threads(), runpy.run_path(str(EXAMPLE))
    options = {"worlds": 64, "horizon": 16, "out": tmp_path, "hidden": (32, 32)}
    rows = example["train"]("CartPole", iterations=40, **options)
    assert [row["iteration"] for row in rows] == [10, 20, 30, 40]
    assert rows[-1]["mean_length"] > 2 * rows[0]["mean_length"]
    with open(tmp_path / "ppo_cartpole.csv") as file:
        table = list(csv.DictReader(file))
    assert [float(row["mean_return"]) for row in table] == [row["mean_return"] for row in rows]
    checkpoint = tmp_path / "ppo_cartpole.pt"
    assert example["evaluate"](checkpoint, worlds=16) > 2 * rows[0]["mean_return"]
    again = example["train"]("CartPole", iterations=10, resume=checkpoint, **options)
    assert again[0]["mean_return"] > rows[0]["mean_return"]
    pytest.importorskip("matplotlib")
    assert (tmp_path / "ppo_cartpole.png").stat().st_size > 5000
    torch.set_num_threads(threads)
