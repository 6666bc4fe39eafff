"""Model and Data reach stages by reference, in the C++ that Warp generates."""

from warp._src import codegen

from kinema.convex import references, stage
from kinema.convex.data import Data
from kinema.convex.model import Model


def test_signatures_take_references():
    text = f"static void f(\n    {Model.native_name} var_m,\n    {Data.native_name} var_d,\n    wp::int32 var_w)\n"
    changed = references._parameters(text)
    assert f"{Model.native_name}& __restrict__ var_m," in changed
    assert f"{Data.native_name}& __restrict__ var_d," in changed
    assert "wp::int32 var_w)" in changed


def test_other_structs_are_left_alone():
    text = "    Other_1234 var_m,\n    Model_00000000 x)"
    assert references._parameters(text) == text


def test_warp_still_generates_through_the_hooks():
    assert stage.world_kernel  # importing stages installs them
    assert codegen.codegen_func is references._func
    assert codegen.codegen_kernel is references._kernel
