"""Model and Data reach stages by reference, in the C++ that Warp generates."""

import ast
import pathlib
import re

import pytest
import warp as wp
from warp._src import codegen

import kinema
from kinema.convex import references, stage
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.errors import BuildError

from .hopper import compile_kernel, stack


def test_signatures_take_references():
    text = f"static void f(\n    {Model.native_name} var_m,\n    {Data.native_name} var_d,\n    wp::int32 var_w)\n"
    changed = references._parameters(text)
    assert f"{Model.native_name}& __restrict__ var_m," in changed
    assert f"{Data.native_name}& __restrict__ var_d," in changed
    assert "wp::int32 var_w)" in changed


def test_kernels_on_cuda_keep_one_copy_for_the_grid():
    text = f"void k(\n    int dim,\n    {Model.native_name} var_m,\n    {Data.native_name} var_d)\n{{\n    body"
    changed = references._constants(text)
    assert f"const __grid_constant__ {Model.native_name} arg_var_m," in changed
    assert f"const __grid_constant__ {Data.native_name} arg_var_d)" in changed
    assert f"{Data.native_name}& var_d = const_cast<{Data.native_name}&>(arg_var_d);\n    body" in changed


def test_other_structs_are_left_alone():
    text = "    Other_1234 var_m,\n    Model_00000000 x)"
    assert references._parameters(text) == text


def test_warp_still_generates_through_the_hooks():
    assert stage.world_kernel  # importing stages installs them
    assert codegen.codegen_func is references._func
    assert codegen.codegen_snippet is references._snippet
    assert codegen.codegen_kernel is references._kernel
    assert codegen.codegen_struct is references._struct


def test_bundles_are_written_without_what_only_gradients_need():
    text = codegen.codegen_struct(Model.vars["body"].type)
    whole = references._generate["codegen_struct"](Model.vars["body"].type)
    assert text.count(";") == len(Model.vars["body"].type.vars) + 1 and whole.startswith(text.removesuffix("\n};\n"))


@wp.struct
class Pair:
    first: float
    second: float


def test_structs_of_others_keep_all():
    assert "adj_atomic_add" in codegen.codegen_struct(Pair)


@wp.func(inline=False)
def set_position(m: Model, d: Data, w: int):
    d.state.qpos[w, 0] = m.opt.timestep[w]


@wp.kernel(enable_backward=False, module="unique")
def call_out_of_line(m: Model, d: Data):
    set_position(m, d, wp.tid())


def test_a_function_that_is_not_inlined_copies_nothing_on_cuda():
    ptx = compile_kernel(call_out_of_line)
    assert "call" in ptx, "the function is called"
    assert stack(ptx) < 4096, "the call gets the kernel's own arguments"


@wp.func
def first_position(m: Model, d: Data, w: int) -> float:
    return d.state.qpos[w, 0]


def test_text_of_another_shape_is_an_error_that_names_warp(monkeypatch):
    monkeypatch.setitem(references._generate, "codegen_func", lambda adj, *args, **kwargs: "void f(const Model_1& m);")
    with pytest.raises(BuildError, match=rf"Warp {re.escape(wp.__version__)} .* first_position.*KINEMA_BY_VALUE=1"):
        codegen.codegen_func(first_position.adj, "first_position")


def test_a_generator_without_the_functions_is_an_error(monkeypatch):
    monkeypatch.delitem(references._generate, "codegen_snippet")
    with pytest.raises(BuildError, match="has no codegen_snippet"):
        references.pass_by_reference(Model)


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("KINEMA_BY_VALUE", "1")
    monkeypatch.setattr(references, "_structs", set())
    references.pass_by_reference(Model, Data)
    assert references._structs == set()


def test_functions_of_others_are_left_alone():
    """A function without Model and Data is generated as Warp does."""
    text = "static float f(\n    wp::float32 var_x)\n"
    assert references._parameters(text) == text


def assigned(function: ast.FunctionDef) -> list[str]:
    """Arguments that go by reference and that the function assigns to, or to a member of which."""
    kinds = {name.rpartition("_")[0] for name in references._structs}
    taken = {a.arg for a in function.args.args if isinstance(a.annotation, ast.Name) and a.annotation.id in kinds}
    found = []
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) else []:
            for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                while isinstance(one, ast.Attribute):
                    one = one.value
                if isinstance(one, ast.Name) and one.id in taken:
                    found.append(f"{function.name}: {one.id}")
    return found


def is_on_device(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(one).startswith(("wp.func", "wp.kernel")) for one in function.decorator_list)


def test_nobody_assigns_to_what_goes_by_reference():
    """It would change what the caller has, where Warp changes a copy."""
    wrong = []
    for path in pathlib.Path(kinema.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and is_on_device(node):
                wrong += [f"{path.name}, {one}" for one in assigned(node)]
    assert not wrong


def test_an_assignment_would_be_seen():
    text = "def f(geoms: Geoms, w: int):\n    other.x = geoms.x\n    geoms.xpos = other.x\n    w = 1\n"
    assert assigned(ast.parse(text).body[0]) == ["f: geoms"]
