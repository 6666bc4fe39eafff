"""Warp's headers are compiled once a machine, into its cache."""

import threading

import pytest
import warp as wp
from warp._src import build, context

from kinema import headers


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache, and what was compiled into it."""
    wp.init()
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    made = []

    def compile_headers(target, source, *, pch_dir, **options):
        made.append(open(source).read())
        (tmp_path / "kinema" / headers.folder().name / "builtin.pch").write_bytes(b"headers")

    monkeypatch.setattr(build, "build_cpu", compile_headers)
    return made


def test_made_once_for_all_threads(cache):
    found = []
    threads = [threading.Thread(target=lambda: found.append(headers._folder_with_headers())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [str(headers.folder())] * 4 and len(cache) == 1
    assert '#include "builtin.h"' in cache[0]
    assert [file.name for file in headers.folder().iterdir()] == ["builtin.pch"]


def test_warp_asks_for_the_folder(cache):
    headers.keep()
    assert context.runtime.get_clang_pch_dir() == str(headers.folder())


def test_begun_beside_other_work_where_missing(cache):
    headers.begin()
    for thread in threading.enumerate():
        if thread.name == "kinema headers":
            thread.join()
    assert len(cache) == 1
    headers.begin()
    assert len(cache) == 1


def test_a_cache_that_cannot_be_written_leaves_it_to_warp(cache, monkeypatch, tmp_path):
    (tmp_path / "kinema").write_text("a file where the folder would be")
    assert "wp_pch_" in headers._folder_with_headers()


def test_other_flags_have_headers_of_their_own(monkeypatch):
    wp.init()
    before = headers.folder()
    monkeypatch.setattr(wp.config, "cpu_compiler_flags", "")
    assert headers.folder() != before
