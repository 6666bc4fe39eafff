"""The corpus: every MJCF file that comes with the installed packages or lies beside the project, if MuJoCo loads it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mujoco

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dm_control", "gymnasium", "mujoco_warp", "mujoco", "brax", "newton")
"""Packages that carry models; mujoco_mjx installs into mujoco."""
SHARED = ROOT.parent / "shared" / "models"


@dataclass(frozen=True)
class ModelFile:
    """One model of the corpus: a short name, and where it is."""

    name: str
    path: Path

    def load(self) -> mujoco.MjModel:
        """MuJoCo's compiled model, kept for the session."""
        return _load(str(self.path))


@cache
def _load(path: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(path)


def _folders() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            yield package, Path(location)
    if SHARED.is_dir():
        yield "shared", SHARED


@cache
def corpus() -> list[ModelFile]:
    """Every model that MuJoCo loads, by name."""
    found = {}
    for label, folder in _folders():
        for path in sorted(folder.rglob("*.xml")):
            model = ModelFile(f"{label}/{path.relative_to(folder).as_posix()}", path)
            try:
                model.load()
            except ValueError:  # a fragment for inclusion, a URDF, or one that needs files we do not have
                continue
            found[model.name] = model
    return list(found.values())
