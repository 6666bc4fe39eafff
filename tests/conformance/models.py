"""The corpus: every MJCF file that comes with the installed packages or lies beside the project, if MuJoCo loads it.

It can also come packed (pack.py): compiled models and their states in a folder, for machines without those packages.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import lzma
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import mujoco
import numpy as np

from kinema.cli.oracle import FULL_STATE
from kinema.convex import support
from kinema.errors import BuildError

from .states import Case, find_case

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dm_control", "gymnasium", "mujoco_warp", "mujoco", "brax", "newton")
"""Packages that carry models; mujoco_mjx installs into mujoco."""
SHARED = ROOT.parent / "shared" / "models"
INDEX = "index.json"
LARGEST = 400
"""Dofs of the models whose dynamics are compared: larger ones take long and show nothing new."""


@dataclass(frozen=True)
class ModelFile:
    """One model of the corpus.

    Attributes:
        name: A short name.
        path: Where it is: MJCF, or compiled.
        states: Where its states are kept.
        recipe: Tells apart what kernels it needs; empty: unknown.
        nv: Number of dofs; -1: unknown before it is loaded.
        integrator: What it is stepped with in place of its own; empty: its own.
    """

    name: str
    path: Path
    states: Path | None = None
    recipe: str = ""
    nv: int = -1
    integrator: str = ""

    def load(self) -> mujoco.MjModel:
        """MuJoCo's compiled model, kept for the session."""
        return _load(str(self.path), self.integrator)

    def case(self) -> Case:
        """The states to compare it in; found once, if there is a place to keep them."""
        if self.states is not None and self.states.exists():
            with np.load(self.states) as file:
                return Case(list(file["forward"]), list(file["rollout"]))
        case = find_case(self.load())
        if self.states is not None:
            part = self.states.with_suffix(f".{os.getpid()}.npz")
            size = mujoco.mj_stateSize(self.load(), FULL_STATE)
            np.savez(part, forward=np.reshape(case.forward, (-1, size)), rollout=np.reshape(case.rollout, (-1, size)))
            os.replace(part, self.states)
        return case


def keeping_states(models: list[ModelFile], folder: Path) -> list[ModelFile]:
    """The same models, with their states kept in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        replace(model, states=model.states or folder / f"{model.integrator}{model.name.replace('/', '+')}.npz")
        for model in models
    ]


def stepped_with(models: list[ModelFile], integrator: str) -> list[ModelFile]:
    """The same models with another integrator. States that came with them are kept: others are looked for anew."""
    return [replace(model, integrator=integrator, recipe="") for model in models]


@cache
def _load(path: str, integrator: str = "") -> mujoco.MjModel:
    if integrator:
        m = copy.copy(_load(path))
        m.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        return m
    if path.endswith(".mjb.xz"):
        return mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": lzma.decompress(Path(path).read_bytes())})
    return mujoco.MjModel.from_xml_path(path)


def forget() -> None:
    """Keep no compiled models: those of the corpus take two gigabytes."""
    _load.cache_clear()


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
    return [model for label, folder in _folders() for model in models_in(folder, label, keep=True)]


def models_in(folder: Path, label: str, *, keep: bool = False) -> list[ModelFile]:
    """Every model of a folder that MuJoCo loads; left out: fragments, URDF, what needs files that are not there.

    `keep`: the compiled models are kept, for a corpus that is gone through several times.
    """
    found = []
    for path in sorted(folder.rglob("*.xml")):
        with suppress(ValueError):
            nv = (_load if keep else _load.__wrapped__)(str(path)).nv
            found.append(ModelFile(f"{label}/{path.relative_to(folder).as_posix()}", path, nv=nv))
    return found


def packed(folder: Path) -> list[ModelFile]:
    """The models of a packed corpus."""
    rows = json.loads((folder / INDEX).read_text())["models"]
    return [
        ModelFile(row["name"], folder / row["model"], folder / row["states"], row["recipe"], row["nv"]) for row in rows
    ]


def unsupported(m: mujoco.MjModel) -> str | None:
    """What keeps a model out of the engine."""
    try:
        support.check_flexes(m)
    except BuildError as refused:
        return str(refused)
    return None


def in_scope(model: ModelFile) -> bool:
    """Is it small enough for its dynamics to be compared?"""
    return (model.nv if model.nv >= 0 else model.load().nv) <= LARGEST
