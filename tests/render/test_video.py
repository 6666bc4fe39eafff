"""Pictures as files, read back by another program."""

import sys

import numpy as np
import pytest

from kinema.errors import BuildError, MissingExtra
from kinema.render import filmstrip, write_png, write_video
from kinema.render.video import visible

pytest.importorskip("PIL")


def frames(count: int = 6, height: int = 32, width: int = 48) -> list[np.ndarray]:
    """A white bar that wanders over grey."""
    found = np.full((count, height, width, 3), 90, np.uint8)
    for k in range(count):
        found[k, :, 8 * k : 8 * k + 8] = 255
    return list(found)


def test_png(tmp_path):
    from PIL import Image

    picture = np.random.default_rng(0).integers(0, 255, (20, 30, 3)).astype(np.uint8)
    write_png(tmp_path / "a.png", picture)
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "a.png")), picture)


def test_gif(tmp_path):
    from PIL import Image

    assert write_video(tmp_path / "a.gif", frames(), fps=10) == 6
    film = Image.open(tmp_path / "a.gif")
    assert film.n_frames == 6 and film.info["duration"] == 100
    film.seek(3)
    bar = np.asarray(film.convert("L"))
    assert bar[16, 28] > 240 and bar[16, 4] < 120


def test_mp4(tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    assert write_video(tmp_path / "a.mp4", (frame for frame in frames(12)), fps=24) == 12  # taken as they are made
    reader = imageio_ffmpeg.read_frames(str(tmp_path / "a.mp4"))
    about = next(reader)
    pictures = [np.frombuffer(raw, np.uint8).reshape(32, 48, 3) for raw in reader]
    assert about["size"] == (48, 32) and about["fps"] == 24 and len(pictures) == 12
    assert pictures[2][16, 20].min() > 200 > pictures[2][16, 40].max()


def test_odd_sizes_are_trimmed(tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    write_video(tmp_path / "a.mp4", frames(3, 33, 47))
    assert next(imageio_ffmpeg.read_frames(str(tmp_path / "a.mp4")))["size"] == (46, 32)


def test_filmstrip():
    strip = filmstrip(frames(5), columns=3, gap=2)
    assert strip.shape == (2 * 32 + 2, 3 * 48 + 4, 3)
    np.testing.assert_array_equal(strip[34:, 50:98], frames(5)[4])
    assert np.all(strip[32:34] == 255) and np.all(strip[34:, 100:] == 255)
    assert filmstrip(frames(2)).shape == (32, 98, 3)


def test_every_kind_of_picture_can_be_seen():
    depth = np.linspace(1, 5, 20 * 10).reshape(10, 20, 1).astype(np.float32)
    grey = visible(depth)
    assert grey.shape == (10, 20, 3) and grey[0, 0, 0] == 255 and grey[-1, -1, 0] == 0
    objects = np.full((4, 6, 2), -1, np.int32)
    objects[:, 2:4], objects[:, 4:] = (0, 5), (1, 5)
    shown = visible(objects)
    assert not shown[:, :2].any()
    assert np.abs(shown[0, 2].astype(int) - shown[0, 5]).max() > 40


def test_errors_teach(tmp_path, monkeypatch):
    with pytest.raises(BuildError, match=".mp4 or .gif"):
        write_video(tmp_path / "a.avi", frames())
    with pytest.raises(BuildError, match="no frame"):
        write_video(tmp_path / "a.gif", [])
    with pytest.raises(BuildError, match="fps=0"):
        write_video(tmp_path / "a.gif", frames(), fps=0)
    with pytest.raises(BuildError, match="one size"):
        filmstrip([*frames(1), *frames(1, 10, 10)])
    with pytest.raises(BuildError, match="no picture"):
        write_png(tmp_path / "a.png", np.zeros((3, 4, 5)))
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingExtra, match=r"kinema\[video\]"):
        write_video(tmp_path / "a.mp4", frames())
