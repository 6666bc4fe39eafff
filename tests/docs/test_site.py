"""The site builds without a warning, and its pages load nothing from the network."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.docs.pages import PAGES, ROOT

pytest.importorskip("zensical")
pytest.importorskip("mkdocstrings")

LOADED = re.compile(r"""(?:<(?:script|img|iframe)[^>]*\ssrc|<link[^>]*\shref)=["']?((?:https?:)?//[^"'\s>]+)""")
"""Addresses that a page fetches by itself, as opposed to links a reader may follow."""

PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)|<img[^>]*src=\"([^\"]+)\"")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built in a folder of its own: what is there of an earlier one proves nothing."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    (folder / "src").symlink_to(ROOT / "src")
    shutil.copy(ROOT / "zensical.toml", folder)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build" / "site"


def test_every_page_is_in_the_site(site):
    for page in PAGES[1:]:
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file(), page


def test_every_picture_is_there():
    for page in PAGES:
        for target in PICTURE.findall(page.read_text(encoding="utf-8")):
            path = "".join(target)
            assert path.startswith("https:") or (page.parent / path).is_file(), f"{page}: {path}"


def test_nothing_is_loaded_from_the_network(site):
    for page in site.rglob("*.html"):
        assert LOADED.findall(page.read_text(encoding="utf-8")) == [], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_the_reference_has_what_users_call(site):
    """Docstrings of lazily imported names are found, with their arguments."""
    page = (site / "api/simulation.html").read_text(encoding="utf-8")
    for name in ("step", "reset", "set_state", "expand", "record", "estimate", "render"):
        assert f"Simulation.{name}" in page, name
    assert "on_overflow" in page
    page = (site / "api/model.html").read_text(encoding="utf-8")
    for name in ("add_joint_revolute", "add_shape_box", "replicate", "finalize", "add_custom_attribute"):
        assert f"ModelBuilder.{name}" in page, name
