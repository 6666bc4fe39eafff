"""Debug mode: stacks of elements and attributes, marked documents, compile errors traced back."""

import os
import re
import subprocess
import sys

import mujoco
import pytest

from kinema import mjcf
from kinema.mjcf import debugging


@pytest.fixture
def debug():
    debugging.enable_debug_mode()
    debugging.set_full_dump_dir("")
    yield
    debugging.disable_debug_mode()
    debugging.set_full_dump_dir("")


def make():
    model = mjcf.RootElement()
    body = model.worldbody.add("body", name="b")
    body.add("geom", size=[1])
    joint = body.add("joint", name="j")
    model.actuator.add("motor", name="m", joint=joint)
    return model


def break_it(model):
    model.find("actuator", "m").joint = "gone"


def compile_it(model):
    context = debugging.DebugContext()
    xml = model.to_xml_string(debug_context=context)
    try:
        mujoco.MjModel.from_xml_string(xml)
    except ValueError:
        context.process_and_raise_last_exception()


def test_off_by_default():
    model = make()
    assert not debugging.debug_mode() and model.get_init_stack() is None
    assert set(model.find("joint", "j").get_last_modified_stacks_for_all_attributes().values()) == {None}
    break_it(model)
    with pytest.raises(ValueError, match="run again with --pymjcf_debug"):
        compile_it(model)


def test_stacks(debug):
    model = make()
    break_it(model)
    motor = model.find("actuator", "m")
    assert model.get_init_stack()[-1].function_name == "make"
    stacks = motor.get_last_modified_stacks_for_all_attributes()
    assert stacks["name"] == motor.get_init_stack()
    assert stacks["joint"][-1].function_name == "break_it" and "gone" in stacks["joint"][-1].text
    assert debugging.get_current_stack_trace()[-1].function_name == "test_stacks"


def test_compile_errors_name_the_python_line(debug):
    model = make()
    compile_it(model)
    break_it(model)
    line = model.find("actuator", "m").get_last_modified_stacks_for_all_attributes()["joint"][-1].line_number
    with pytest.raises(ValueError, match=f"test_debugging.py:{line}") as caught:
        compile_it(model)
    assert '<motor name="m"' in str(caught.value) and "--pymjcf_debug_full_dump_dir" in str(caught.value)


def test_cleared_attributes_are_told(debug):
    model = make()
    model.find("actuator", "m").joint = None
    with pytest.raises(ValueError, match="joint was CLEARED by `test_cleared_attributes_are_told`"):
        compile_it(model)


def test_full_dump(debug, tmp_path):
    debugging.set_full_dump_dir(str(tmp_path))
    model = make()
    break_it(model)
    with pytest.raises(ValueError):
        compile_it(model)
    lines = (tmp_path / "model.xml").read_text().strip().splitlines()
    marked = [re.fullmatch(r"\s*(.*)<!--pymjcfdebug:(\d+)-->", line) for line in lines]
    assert sum(mark is not None for mark in marked) >= 6
    for mark in filter(None, marked):
        dump = (tmp_path / f"{mark[2]}.dump").read_text()
        assert "Element creation" in dump
    context = debugging.DebugContext()
    debugging.set_full_dump_dir("")
    with pytest.raises(ValueError, match="`dump_dir` is not specified"):
        context.dump_full_debug_info_to_disk()


@pytest.mark.parametrize("order", [("kinema", "dm_control"), ("dm_control", "kinema")])
def test_flags_do_not_collide_with_dm_control(order):
    program = (
        f"from {order[0]} import mjcf; from {order[1]} import mjcf; from absl import flags;"
        "flags.FLAGS(['x', '--pymjcf_debug']); from kinema.mjcf import debugging; print(debugging.debug_mode())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ)
    assert done.stdout.strip() == "True", done.stderr
