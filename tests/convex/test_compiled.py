"""A part is generated once, compiled once, and found again by its text."""

import ctypes

import pytest
import warp as wp
from warp._src import build, context

from kinema.convex import compiled, known
from kinema.convex.check import check_velocity
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.stage import Stage

STAGES = (Stage(check_velocity, over="nv", advances=True),)


@pytest.fixture
def texts(monkeypatch, tmp_path):
    """An empty cache, and the texts that would have been compiled into it."""
    wp.init()
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    monkeypatch.setattr(context.runtime, "get_clang_pch_dir", lambda: None)
    found = []

    def compile_text(target, source, **options):
        found.append(open(source).read())
        with open(target, "wb") as file:
            file.write(b"object")

    monkeypatch.setattr(build, "build_cpu", compile_text)
    return found


def test_an_equal_part_is_compiled_once(texts, tmp_path):
    first, second = compiled.compile_part(STAGES), compiled.compile_part(STAGES)
    assert first == second and first.read_bytes() == b"object" and len(texts) == 1
    assert f"void {compiled.SYMBOL}(" in texts[0]
    assert {file.suffix for file in first.parent.iterdir()} == {".o", ".cpp"}


def test_another_part_has_another_name(texts):
    other = (Stage(check_velocity, over="nv"),)
    assert compiled.compile_part(STAGES) != compiled.compile_part(other) and len(texts) == 2


def test_a_compiler_that_fails_leaves_nothing(texts, monkeypatch, tmp_path):
    def fail(target, source, **options):
        open(target, "w").close()
        raise RuntimeError("no")

    monkeypatch.setattr(build, "build_cpu", fail)
    with pytest.raises(RuntimeError):
        compiled.compile_part(STAGES)
    assert not list(tmp_path.rglob("*.o"))


def test_walking_structs_once_gives_the_text_of_walking_them_always(monkeypatch):
    def text() -> str:
        kernel = compiled.part_kernel(STAGES)
        options = kernel.module.resolve_options(wp.config, 1) | {"output_arch": None}
        return context.ModuleBuilder(kernel.module, options, target="cpu").codegen("cpu")

    quick, builder = text(), context.ModuleBuilder
    for name in ("build_struct_recursive", "_collect_native_types"):
        wrapped = getattr(builder, name)
        original = next(cell.cell_contents for cell in wrapped.__closure__ if callable(cell.cell_contents))
        monkeypatch.setattr(builder, name, original)
    assert text() == quick and Model.native_name in quick and Data.native_name in quick


def test_the_function_of_an_object_is_found_under_the_name_of_its_part():
    made = compiled.compile_part(STAGES)
    address = known.take(made, compiled.SYMBOL, None)
    assert address and ctypes.CFUNCTYPE(None)(address) and known.take(made, compiled.SYMBOL, None) == address
