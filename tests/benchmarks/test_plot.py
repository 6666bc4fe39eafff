"""What benchmarks draw, and the scenes that scaling measures."""

import argparse

import mujoco
import pytest
from benchmarks import scaling, throughput
from benchmarks.plot import Figure, Panel, plot_lines

from kinema.errors import MissingExtra
from tests.cli.conftest import ARM


def size_of(path) -> tuple[int, int]:
    from PIL import Image

    with Image.open(path) as picture:
        return picture.size


def test_a_figure_is_a_picture_of_its_panels(tmp_path):
    panel = Panel("title", "worlds", "steps", {"a": [(1, 10.0), (8, 70.0)], "b": [(1, 5.0)]})
    one = plot_lines(Figure("one", [panel]), tmp_path)
    two = plot_lines(Figure("two", [panel, Panel("r", "worlds", "ratio", {"a": [(1, 2.0)]}, flat=True)]), tmp_path)
    assert one == tmp_path / "one.png"
    assert size_of(two)[0] == 2 * size_of(one)[0] and size_of(two)[1] == size_of(one)[1]


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    def absent(name, *rest):
        raise ModuleNotFoundError(name=name.partition(".")[0])

    monkeypatch.setattr("kinema.errors.importlib.import_module", absent)
    with pytest.raises(MissingExtra, match=r"kinema\[plot\]"):
        plot_lines(Figure("none"))


def test_throughput_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(throughput, "plot_lines", lambda figure: plot_lines(figure, tmp_path))
    path = throughput.draw({"m": {1: (10.0, 5.0), 64: (90.0, 30.0)}}, "mujoco", "cpu")
    assert path == tmp_path / "throughput.png" and path.stat().st_size > 5000


@pytest.mark.parametrize("n", [1, 3, 8])
def test_scenes_have_the_size_they_say(n):
    chain = mujoco.MjModel.from_xml_string(scaling.chain(n))
    assert chain.nv == chain.nbody - 1 == n
    m = mujoco.MjModel.from_xml_string(scaling.plate(n))
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, 3)
    assert m.nv == 6 and d.ncon == n


def test_scaling_measures(capsys):
    args = argparse.Namespace(device="cpu", steps=5)
    points = scaling.measure("worlds", [1, 4], lambda n: (ARM, n), args)
    assert [n for n, _ in points] == [1, 4] and all(microseconds > 0 for _, microseconds in points)
    assert capsys.readouterr().out.count("worlds") == 2
