"""The plugins a program knows, by name.

A plugin becomes known by `@plugin(name)` or `register`, when its module is imported. A model that names a plugin not
known yet may cause an import, but only of what was installed: Kinema's own plugins and the entry points of the group
`kinema.plugins` (entry point name = plugin name; off with KINEMA_DISABLE_ENTRY_POINTS=1). Files and folders are loaded
only by the program: `load_plugin`, `load_plugins`. A model never names a place code is loaded from.

A cell of a notebook that is run again, a module that is reloaded and a file that was changed register their plugin
again: the new class takes the old one's place, for models that are compiled from then on. Simulations made before keep
what they were made with. Who is another plugin by accident, of another module or another class of the same module, is
refused. All that is made of a plugin is kept by the `Plugin` itself, never by its name, so kernels follow.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.metadata
import importlib.util
import linecache
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from kinema.compile.plugin import PluginInfo
from kinema.errors import PluginError, did_you_mean
from kinema.plugins.protocol import Plugin, describe

GROUP = "kinema.plugins"
BUILT_IN = {
    "mujoco.pid": "pid", "mujoco.sensor.touch_grid": "touch_grid", "mujoco.sdf.bolt": "sdf_bolt",
    "mujoco.sdf.bowl": "sdf_bowl", "mujoco.sdf.gear": "sdf_gear", "mujoco.sdf.nut": "sdf_nut",
    "mujoco.sdf.torus": "sdf_torus", "mujoco.elasticity.cable": "cable", "mujoco.elasticity.shell": "shell",
    "kinema.dcmotor": "dcmotor", "kinema.mlp_actuator": "mlp_actuator",
}  # fmt: skip
"""Kinema's own plugins and their modules; the first seven have the slots they have in MuJoCo."""

FIRST_SLOT = 1024  # of plugins that are not built in
_plugins: dict[str, Plugin] = {}
Class = TypeVar("Class", bound=type)


def plugin(name: str) -> Callable[[Class], Class]:
    """Class decorator: register a plugin under a name such as ``acme.motor``."""

    def decorate(cls: Class) -> Class:
        register(cls, name)
        return cls

    return decorate


def register(cls: type, name: str | None = None) -> Plugin:
    """Register a plugin class. The same class again is no event; its new version replaces it; others are refused."""
    name = name or getattr(cls, "plugin_name", None)
    if not isinstance(name, str) or not name or len(name) > 1024:
        raise PluginError(f"plugin class {cls.__name__}: a plugin needs a name of at most 1024 characters")
    known = _plugins.get(name)
    if known is not None:
        if known.cls is cls:
            return known
        if not _is_new_version(known.cls, cls):
            raise PluginError(
                f"plugin {name!r} is already registered by {known.cls.__module__}.{known.cls.__qualname__}; give "
                f"{cls.__module__}.{cls.__qualname__} another name, or unregister({name!r}) first"
            )
    described = describe(name, cls)
    same = [other for other in _plugins if other != name and slot_of(other) == slot_of(name)]
    if same:
        raise PluginError(f"plugins {name!r} and {same[0]!r} cannot be told apart in a model: rename one")
    cls.plugin_name = name  # type: ignore[attr-defined]  # read by whoever holds the class
    _plugins[name] = described
    return described


def _is_new_version(old: type, new: type) -> bool:
    """Whether a class is an old one, written again: in its module or file under its name, or anyhow in the main one."""
    if old.__module__ == new.__module__ == "__main__":
        return True
    return old.__qualname__ == new.__qualname__ and (old.__module__ == new.__module__ or _file(old) == _file(new) != "")


def _file(cls: type) -> str:
    """The file a class was written in; empty where there is none."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return os.path.realpath(file) if file else ""


def unregister(name: str) -> None:
    """Forget a plugin."""
    _plugins.pop(name, None)


def find_plugin(name: str) -> Plugin | None:
    """The plugin of a name, imported now if it is installed and was not needed before; None: there is none."""
    if name in _plugins:
        return _plugins[name]
    if name in BUILT_IN:
        importlib.import_module(f"kinema.plugins.builtin.{BUILT_IN[name]}")
    else:
        _load_entry_point(name)
    return _plugins.get(name)


def plugin_at(slot: int) -> Plugin:
    """The plugin of a slot, as models number them."""
    names = (*BUILT_IN, *_plugins, *_entry_points())
    found = next((find_plugin(name) for name in names if slot_of(name) == slot), None)
    if found is None:
        raise PluginError(f"the model uses the plugin in slot {slot}, which this program does not have")
    return found


def slot_of(name: str) -> int:
    """The number models know a plugin by: the same in every program, so that a saved model finds its plugins."""
    if name in BUILT_IN:
        return list(BUILT_IN).index(name)
    return FIRST_SLOT + zlib.crc32(name.encode()) % 2**30


def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    if os.environ.get("KINEMA_DISABLE_ENTRY_POINTS", "") not in ("", "0"):
        return {}
    return {point.name: point for point in importlib.metadata.entry_points(group=GROUP)}


def _load_entry_point(name: str) -> None:
    point = _entry_points().get(name)
    if point is None:
        return
    try:
        loaded = point.load()
    except Exception as error:
        raise PluginError(f"plugin {name!r}: its entry point {point.value!r} cannot be imported: {error}") from error
    if isinstance(loaded, type):
        register(loaded, name)
    if name not in _plugins:
        raise PluginError(f"plugin {name!r}: importing its entry point {point.value!r} did not register it")


def load_plugin(file: str | os.PathLike[str]) -> list[str]:
    """Run a Python file that registers plugins; the names of the plugins it brought.

    Again: nothing happens, unless the file has changed. Where that fails, what was there before stays.
    """
    path = Path(file).resolve()
    if not path.is_file():
        raise PluginError(f"no plugin file {str(path)!r}")
    text = path.read_bytes()
    module_name = f"kinema_plugin_{path.stem}_{zlib.crc32(str(path).encode()):x}"
    old = sys.modules.get(module_name)
    if old is not None and getattr(old, "__plugin_text__", None) == text:
        return []
    before = dict(_plugins)
    spec = importlib.util.spec_from_loader(module_name, _Text(text, str(path)), origin=str(path))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(path)
    module.__plugin_text__ = text  # type: ignore[attr-defined]
    sys.modules[module_name] = module
    linecache.checkcache(str(path))  # device functions are read from their source
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        _plugins.clear()
        _plugins.update(before)
        sys.modules.pop(module_name)
        if old is not None:
            sys.modules[module_name] = old
        if isinstance(error, PluginError):
            raise
        raise PluginError(f"plugin file {str(path)!r}: {type(error).__name__}: {error}") from error
    return [name for name, plugin in _plugins.items() if before.get(name) is not plugin]


class _Text(importlib.abc.InspectLoader):
    """A module of text that was read already: no compiled file is written beside it, or read in its place."""

    def __init__(self, text: bytes, file: str):
        self.text, self.file = text, file

    def get_source(self, fullname: str) -> str:
        return importlib.util.decode_source(self.text)

    def get_code(self, fullname: str):
        return compile(self.text, self.file, "exec", dont_inherit=True)


def load_plugins(
    folder: str | os.PathLike[str], callback: Callable[[str, int, int], None] | None = None
) -> list[str]:
    """Load every Python file of a folder, not of its subfolders; a folder that is not there is empty.

    Args:
        folder: Where the files are.
        callback: Called with each file's name, the slot of the first plugin it brought (-1: none) and their number.
    """
    found: list[str] = []
    folder = Path(folder)
    for path in sorted(folder.glob("*.py")) if folder.is_dir() else ():
        names = load_plugin(path)
        found += names
        if callback is not None:
            callback(path.name, slot_of(names[0]) if names else -1, len(names))
    return found


class Infos(Mapping[str, PluginInfo]):
    """All plugins as the compiler sees them, by name."""

    def __getitem__(self, name: str) -> PluginInfo:
        found = find_plugin(name)
        if found is None:
            raise KeyError(f"plugin {name} not found{did_you_mean(name, self)}")
        return found.info

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and find_plugin(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*BUILT_IN, *_plugins]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def slot(self, name: str) -> int:
        """The number models know a plugin by."""
        return slot_of(name)
