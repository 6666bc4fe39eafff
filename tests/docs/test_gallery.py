"""The gallery: each of its pictures can be drawn, looks like something, and is a small file on the page."""

import importlib

import numpy as np
import pytest

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "gallery.md"
SIZE = (64, 48)


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "scripts" / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_what_is_drawn(gallery):
    text = PAGE.read_text(encoding="utf-8")
    for name in gallery.PICTURES:
        path = gallery.FOLDER / f"gallery_{name}.jpg"
        assert f"images/{path.name}" in text and path.stat().st_size < 60_000, name
    assert len(gallery.PICTURES) == text.count("images/gallery_")


@pytest.mark.parametrize("name", ["humanoid", "contacts", "joints", "composed", "distance_fields", "kinds"])
def test_a_picture(gallery, name):
    """Drawn small, it is what the file shows: the same scene, up to what shrinking a picture does."""
    from PIL import Image

    picture = gallery.PICTURES[name](*SIZE)
    assert np.allclose(picture.shape, (48, 64, 3), atol=2)  # a strip of pictures has gaps
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 100
    if name == "kinds":  # colours of objects are not mixed when a picture shrinks
        return
    kept = Image.open(gallery.FOLDER / f"gallery_{name}.jpg").resize(SIZE, Image.Resampling.BOX)
    assert np.abs(np.asarray(kept, float) - picture).mean() < 12
