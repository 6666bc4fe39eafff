"""How plugins become known: decorator, entry points, files, folders; and that models never load code."""

import importlib
import importlib.metadata
import linecache
import sys
import types

import numpy as np
import pytest
import warp as wp

from kinema.compile import compile_model
from kinema.errors import CompileError, PluginError
from kinema.plugins import ActuatorInput, P, find_plugin, load_plugin, load_plugins, plugin, register, unregister
from kinema.plugins.registry import BUILT_IN, plugin_at, slot_of
from tests.conformance.staged import StagedEngine

FILE = """
import warp as wp
from kinema.plugins import ActuatorInput, plugin

@plugin("{name}")
class FromFile:
    gain: float = 1.0
    @wp.func
    def actuator(x: ActuatorInput) -> float:
        return x.ctrl
"""

MODEL = """<mujoco><extension><plugin plugin="{name}"/></extension>
<worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
<actuator><plugin plugin="{name}" joint="j"/></actuator></mujoco>"""


class Simple:
    @wp.func
    def actuator(x: ActuatorInput) -> float:
        return x.ctrl


class Another:
    @wp.func
    def actuator(x: ActuatorInput) -> float:
        return -x.ctrl


@pytest.fixture
def name():
    """A plugin name that is free again afterwards."""
    yield "test.registered"
    unregister("test.registered")


def test_same_again_is_no_event_and_another_an_error(name):
    first = register(Simple, name)
    assert register(Simple, name) is first and find_plugin(name) is first
    with pytest.raises(PluginError, match="already registered"):
        register(Another, name)


CELL = """
@plugin("test.registered")
class {cls}:
    {fields}
    @wp.func
    def actuator(x: ActuatorInput, p: P) -> float:
        return {force}
"""


def run_cell(number: int, **words) -> None:
    """What a notebook does: a cell's source is known to linecache, and its classes belong to __main__."""
    text = CELL.format(**words)
    file = f"<cell {number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"__name__": "__main__", "wp": wp, "plugin": plugin, "ActuatorInput": ActuatorInput, "P": P}
    exec(compile(text, file, "exec"), names)


def test_a_cell_run_again_replaces_its_plugin_and_kernels_follow(name):
    def force() -> float:
        sim = StagedEngine(compile_model(MODEL.format(name=name)))
        sim.write("ctrl", np.array([[2.0]]))
        sim.forward()
        return float(sim.read("actuator_force")[0, 0])

    run_cell(1, cls="Motor", fields="gain: float = 3.0", force="p.gain * x.ctrl")
    old = compile_model(MODEL.format(name=name))
    assert force() == 6.0
    run_cell(2, cls="Motor", fields="gain: float = 3.0", force="-p.gain * x.ctrl")
    assert force() == -6.0
    fields = "offset: float = 1.0\n    gain: float = 5.0"
    run_cell(3, cls="BetterMotor", fields=fields, force="p.offset + p.gain * x.ctrl")
    assert force() == 11.0 and list(find_plugin(name).fields) == ["offset", "gain"]
    assert old.nplugin == 1


def test_built_in_slots_are_those_of_mujoco():
    assert [plugin_at(i).name for i in range(7)] == list(BUILT_IN)[:7]
    assert slot_of("mujoco.sdf.torus") == 6


def test_slots_do_not_depend_on_what_else_is_registered(name):
    register(Simple, name)
    model = compile_model(MODEL.format(name=name))
    assert model.plugin.tolist() == [slot_of(name)] and plugin_at(slot_of(name)).cls is Simple
    unregister(name)
    with pytest.raises(PluginError, match="does not have"):
        plugin_at(slot_of(name))


def test_names_have_limits():
    with pytest.raises(PluginError, match="1024"):
        register(Simple, "x" * 1025)


def test_entry_points_are_imported_when_asked_for(name, monkeypatch):
    module = types.ModuleType("acme_plugins")
    module.Simple = Simple
    monkeypatch.setitem(sys.modules, "acme_plugins", module)
    points = [importlib.metadata.EntryPoint(name, "acme_plugins:Simple", "kinema.plugins"),
              importlib.metadata.EntryPoint("acme.broken", "no_such_module:X", "kinema.plugins")]  # fmt: skip
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points if group == "kinema.plugins" else [])
    monkeypatch.setenv("KINEMA_DISABLE_ENTRY_POINTS", "1")
    assert find_plugin(name) is None
    monkeypatch.delenv("KINEMA_DISABLE_ENTRY_POINTS")
    assert compile_model(MODEL.format(name=name)).nplugin == 1
    with pytest.raises(PluginError, match="no_such_module"):
        find_plugin("acme.broken")


def test_files_and_folders(tmp_path):
    names = ["test.from_file_a", "test.from_file_b"]
    for n, each in enumerate(names):
        (tmp_path / f"p{n}.py").write_text(FILE.format(name=each))
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "q.py").write_text("raise RuntimeError")
    seen = []
    try:
        assert load_plugins(tmp_path, lambda *args: seen.append(args)) == names
        assert seen == [("empty.py", -1, 0), ("p0.py", slot_of(names[0]), 1), ("p1.py", slot_of(names[1]), 1)]
        assert load_plugin(tmp_path / "p0.py") == []
        assert load_plugins(tmp_path / "nowhere") == []
        assert compile_model(MODEL.format(name=names[0])).nplugin == 1
    finally:
        for each in names:
            unregister(each)
    changed = tmp_path / "p0.py"
    try:
        load_plugin(changed)
        before = find_plugin(names[0])
        changed.write_text(FILE.format(name=names[0]).replace("return x.ctrl", "return 7.0 * x.ctrl"))
        assert load_plugin(changed) == names[:1] and find_plugin(names[0]) is not before
        assert "7.0" in find_plugin(names[0]).functions["actuator"].adj.source
        kept = find_plugin(names[0])
        changed.write_text(FILE.format(name=names[0]) + "\n1 / 0")
        with pytest.raises(PluginError, match="ZeroDivisionError"):
            load_plugin(changed)
        assert find_plugin(names[0]) is kept
    finally:
        unregister(names[0])
    (tmp_path / "bad.py").write_text("1 / 0")
    with pytest.raises(PluginError, match="bad.py.*ZeroDivisionError"):
        load_plugin(tmp_path / "bad.py")
    with pytest.raises(PluginError, match="no plugin file"):
        load_plugin(tmp_path / "none.py")


def test_a_module_and_its_own_file_are_one_place(tmp_path, monkeypatch, name):
    (tmp_path / "imported_and_loaded.py").write_text(FILE.format(name=name))
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("imported_and_loaded")
    assert load_plugin(tmp_path / "imported_and_loaded.py") == [name]
    (tmp_path / "elsewhere.py").write_text(FILE.format(name=name))
    with pytest.raises(PluginError, match="already registered"):
        load_plugin(tmp_path / "elsewhere.py")


def test_a_model_cannot_name_a_place_to_load_from(tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("raise SystemExit('loaded')")
    (tmp_path / "model.xml").write_text(MODEL.format(name="evil"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for wanted in ("evil", "evil.py", str(tmp_path / "evil.py"), "../evil", "kinema.plugins.builtin.pid"):
        with pytest.raises(CompileError, match="not found"):
            compile_model(MODEL.format(name=wanted))
    with pytest.raises(CompileError, match="not found"):
        compile_model(tmp_path / "model.xml")
    assert "evil" not in sys.modules
