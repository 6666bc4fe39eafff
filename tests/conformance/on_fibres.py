"""CUDA's kernels on a CPU as one more device of the survey: a step as CUDA takes it, without a GPU (cuda/fibres.py).

    python -m tests.conformance.survey --device fibres --scores fibres.pickle            as the CPU adds
    python -m tests.conformance.survey --device fibres,fused --scores fibres.pickle      products and sums as one

The second run of every rollout takes threads and blocks from the last to the first, so "same bits twice" says that no
order of theirs matters. Kernels are kept in a folder, KINEMA_FIBRES, and models share them.
"""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path

import mujoco

from kinema.convex.engine import Engine
from tests.convex.cuda.fibres import FibreEngine, Fibres

FIBRES, FUSED = "fibres", "fibres,fused"
LABELS = {FIBRES: "CUDA's kernels on a CPU", FUSED: "CUDA's kernels on a CPU, products and sums fused"}


def fibre_engine(m: mujoco.MjModel, nworld: int, device: str) -> FibreEngine:
    """An engine that takes steps as on CUDA; without optimisation, which takes longer than it saves in a few steps."""
    folder = Path(os.environ.get("KINEMA_FIBRES", Path(tempfile.gettempdir()) / "kinema_fibres"))
    folder.mkdir(parents=True, exist_ok=True)
    fused = device == FUSED
    return FibreEngine(m, nworld, fibres=Fibres(folder, fused=fused, level=int(fused)))  # only -O1 fuses


def longest(engine: Engine) -> float:
    """Steps of the longest rollout worth its time."""
    return 10 if isinstance(engine, FibreEngine) else math.inf


def turn_round(engine: Engine) -> None:
    """Take threads in the other order from now on, where that can be chosen."""
    if isinstance(engine, FibreEngine):
        engine.fibres.backward = not engine.fibres.backward
