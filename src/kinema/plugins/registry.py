"""The plugins a program knows, by name.

A plugin becomes known by `@plugin(name)` or `register`, when its module is imported. A model that names a plugin not
known yet may cause an import, but only of what was installed: Kinema's own plugins and the entry points of the group
`kinema.plugins` (entry point name = plugin name; off with KINEMA_DISABLE_ENTRY_POINTS=1). Files and folders are loaded
only by the program: `load_plugin`, `load_plugins`. A model never names a place code is loaded from.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
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
    """Register a plugin class. The same class again is no event; another class of that name is an error."""
    name = name or getattr(cls, "plugin_name", None)
    if not isinstance(name, str) or not name or len(name) > 1024:
        raise PluginError(f"plugin class {cls.__name__}: a plugin needs a name of at most 1024 characters")
    known = _plugins.get(name)
    if known is not None:
        if known.cls is cls:
            return known
        raise PluginError(f"plugin {name!r} is already registered by {known.cls.__module__}.{known.cls.__qualname__}")
    described = describe(name, cls)
    same = [other for other in _plugins if slot_of(other) == slot_of(name)]
    if same:
        raise PluginError(f"plugins {name!r} and {same[0]!r} cannot be told apart in a model: rename one")
    cls.plugin_name = name  # type: ignore[attr-defined]  # read by whoever holds the class
    _plugins[name] = described
    return described


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
    """Run a Python file that registers plugins; the names of the plugins it brought. Again: nothing happens."""
    path = Path(file).resolve()
    if not path.is_file():
        raise PluginError(f"no plugin file {str(path)!r}")
    module_name = f"kinema_plugin_{path.stem}_{abs(hash(str(path))):x}"
    if module_name in sys.modules:
        return []
    before = set(_plugins)
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except PluginError:
        del sys.modules[module_name]
        raise
    except Exception as error:
        del sys.modules[module_name]
        raise PluginError(f"plugin file {str(path)!r}: {type(error).__name__}: {error}") from error
    return [name for name in _plugins if name not in before]


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
