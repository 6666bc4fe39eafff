"""Functions of this package are parsed when somebody needs more of them than the types of their arguments."""

import importlib.util
import sys

import numpy as np
import pytest
import warp as wp

from kinema.unread import Adjoint, Unread, later

TEXT = '''
import warp as wp

FACTOR = {factor}

@wp.func
def scaled(x: float) -> float:
    """Something to call."""
    return FACTOR * x

@wp.func
def shifted(x: float) -> float:
    return scaled(x) + 1.0

@wp.func
def fixed(x: float) -> float:
    return wp.static(2.0 * FACTOR) * x

@wp.kernel
def run(out: wp.array(dtype=float)):
    out[0] = shifted(3.0) + fixed(1.0)
'''


@pytest.fixture
def declared(tmp_path, monkeypatch):
    """Import a file as a module of this package, or as somebody else's."""
    later()

    def declare(name: str, factor: float = 2.0):
        file = tmp_path / f"{name.replace('.', '_')}.py"
        file.write_text(TEXT.format(factor=factor))
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module, file

    return declare


def is_unread(function) -> bool:
    return isinstance(function.adj, Unread) and function.adj.is_unread


def test_read_when_asked_for_more_than_types(declared):
    module, _ = declared("kinema.tried_types")
    assert is_unread(module.scaled) and module.scaled.input_types == {"x": float} == module.shifted.input_types
    assert module.scaled.adj.arg_types == {"x": float, "return": float}
    assert module.scaled.adj.fun_name == "scaled"
    assert type(module.scaled.adj) is Adjoint and is_unread(module.shifted)


def test_what_is_read_is_what_warp_reads_at_once(declared):
    module, _ = declared("kinema.tried_equal")
    ours, theirs = module.shifted.adj, Adjoint(module.shifted.func, is_user_function=True)
    for name in ("source", "fun_lineno", "fun_name", "filename", "arg_types", "source_lines"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert [arg.label for arg in ours.args] == [arg.label for arg in theirs.args]
    assert not hasattr(ours, "nothing_of_that_name")


def test_the_text_is_that_of_the_declaration(declared):
    module, file = declared("kinema.tried_edited")
    file.write_text("\n\n\n" + TEXT.format(factor=5.0).replace("FACTOR * x", "x"))
    assert "return FACTOR * x" in module.scaled.adj.source


def test_written_attributes_are_kept(declared):
    module, _ = declared("kinema.tried_written")
    module.scaled.adj.skip_reverse_codegen = True
    assert not is_unread(module.scaled) and module.scaled.adj.skip_reverse_codegen


def test_statics_and_functions_of_others_are_read_at_once(declared):
    module, _ = declared("kinema.tried_static")
    assert not is_unread(module.fixed)
    other, _ = declared("somebody_elses")
    assert not is_unread(other.scaled)


def test_modules_know_what_they_refer_to_once_it_is_read(declared):
    module, _ = declared("kinema.tried_references")
    other = wp.get_module("kinema.tried_callee")

    @wp.func(module=other)
    def callee(x: float):
        return x

    module.scaled = callee
    assert module.shifted.adj.source
    assert other in module.shifted.module.references


def test_kernels_run(declared):
    module, _ = declared("kinema.tried_run")
    out = wp.zeros(1, dtype=float, device="cpu")
    wp.launch(module.run, dim=1, inputs=[out], device="cpu")
    assert np.allclose(out.numpy(), 3.0 * 2.0 + 1.0 + 4.0)
