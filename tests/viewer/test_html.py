"""Pages in one file: they hold every frame and need nothing else."""

import base64
import re

import msgspec
import numpy as np
import pytest
import zstandard

from kinema.simulation import Simulation
from kinema.viewer import write_html
from tests.viewer.models import ARM


def messages_of(page: str):
    """Duration and messages of the recording inside a page, by the format viser documents in its serializer."""
    data = base64.b64decode(re.search(r'__VISER_EMBED_DATA__="([^"]+)"', page).group(1))
    inner = zstandard.ZstdDecompressor().decompress(data[8:], max_output_size=int.from_bytes(data[:8], "little"))
    length = int.from_bytes(inner[:8], "little")
    head = msgspec.msgpack.decode(inner[8 : 8 + length])
    return head["durationSeconds"], head["messages"]


@pytest.fixture(scope="module")
def recorded():
    sim = Simulation(ARM, threads=1)
    sim.record(every=2)
    sim.step(100)
    return sim.stop_recording()


def test_a_recording(tmp_path, recorded):
    path = write_html(recorded, tmp_path / "run.html", fps=20)
    page = path.read_text(encoding="utf-8")
    duration, messages = messages_of(page)
    assert duration == pytest.approx(0.55, abs=0.06)  # 51 frames of 10 ms, each fifth kept
    kinds = {message["type"] for _, message in messages}
    assert "BatchedMeshesMessage" in kinds and "BatchedGlbMessage" in kinds
    times = sorted({round(t, 6) for t, _ in messages})
    assert len(times) >= 10 and np.allclose(np.diff(times), 0.05)
    assert path.stat().st_size < 3_000_000


def test_it_names_no_other_place(tmp_path, recorded):
    page = write_html(recorded, tmp_path / "run.html").read_text(encoding="utf-8")
    assert re.findall(r'(?:src|href)="https?://[^"]*"', page) == []


def test_a_simulation_as_it_stands(tmp_path):
    sim = Simulation(ARM, threads=1)
    duration, messages = messages_of(write_html(sim, tmp_path / "now.html").read_text(encoding="utf-8"))
    assert duration == 0
    assert sum(message["type"] == "BatchedMeshesMessage" for _, message in messages) >= 4
