"""Pack the corpus for a machine without the packages it comes from: compiled models, and the states to compare them in.

    python -m tests.conformance.pack corpus.tar --jobs 2 --mib 40 --states folder

What physics does not read (textures, texture coordinates, normals of vertices) is blanked, models that are the same
are packed once, and the largest are left out until the rest fits; the index lists what is missing and why. The index
also tells which models need the same kernels, so that a survey with little time can choose. States that a survey has
kept (--states) go along; others are looked for where the archive is used.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import lzma
import tarfile
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from kinema.convex import step
from kinema.convex.engine import Engine

from .models import INDEX, ModelFile, corpus, in_scope, keeping_states, unsupported
from .workers import Broken, quiet, share_out

BLANK = ("tex_data", "mesh_texcoord", "mesh_normal")
"""Only pictures need them."""


@dataclass
class Packed:
    """One model, ready to be written.

    Attributes:
        digest: Tells the same models apart from others.
        binary: The compiled model, compressed.
        states: Its states, as an .npz file; empty if they are not known.
        recipe: A hash of the stages it needs on CUDA.
        nv: Number of dofs.
    """

    digest: str
    binary: bytes
    states: bytes
    recipe: str
    nv: int

    @property
    def mib(self) -> float:
        """What it adds to the archive."""
        return (len(self.binary) + len(self.states)) / 2**20


def recipe_of(m: mujoco.MjModel) -> str:
    """Tells apart models whose kernels on CUDA differ."""
    engine = Engine(m, 1, device="cpu")
    stages = step.step(m, engine.collider.stages, engine.extension, cuda=True)
    kernels = [(stage.func.key if stage.func else "host", stage.over, stage.sweep) for stage in stages]
    detector = engine.collider.detector
    text = repr((kernels, detector.build if detector else None))
    return hashlib.sha1(text.encode()).hexdigest()[:12]


def pack_model(model: ModelFile) -> Packed:
    """Everything about one model."""
    quiet()
    m = model.load()
    for name in BLANK:
        getattr(m, name)[...] = 0
    binary = np.zeros(mujoco.mj_sizeModel(m), np.uint8)
    mujoco.mj_saveModel(m, None, binary)
    states = model.states.read_bytes() if model.states and model.states.exists() else b""
    digest = hashlib.sha1(binary.tobytes()).hexdigest()
    recipe = "refused" if unsupported(m) else recipe_of(m)
    return Packed(digest, lzma.compress(binary.tobytes(), preset=0), states, recipe, m.nv)


def pack(out: Path, models: list[ModelFile], *, mib: float, jobs: int) -> dict:
    """Write the archive; its index."""
    found: dict[str, Packed] = {}
    missing: dict[str, str] = {}
    for model, result in share_out([[model] for model in models], pack_model, jobs=jobs):
        if isinstance(result, Broken):
            missing[model.name] = result.why
        else:
            found[model.name] = result
            print(f"{result.mib:6.2f} MiB  {model.name}", flush=True)
    known: dict[str, str] = {}
    for name in sorted(found):
        digest = found[name].digest
        if digest in known:
            missing[name] = f"the same as {known[digest]}"
            del found[name]
        known.setdefault(digest, name)
    rows = []
    with tarfile.open(out, "w") as archive:
        for number, (name, model) in enumerate(sorted(found.items(), key=lambda item: item[1].mib)):
            mib -= model.mib
            if mib < 0:
                missing[name] = f"{model.mib:.1f} MiB more would not fit"
                continue
            files = {"model": f"{number:03d}.mjb.xz", "states": f"{number:03d}.npz"}
            _add(archive, files["model"], model.binary)
            if model.states:
                _add(archive, files["states"], model.states)
            rows.append({"name": name, **files, "recipe": model.recipe, "nv": model.nv})
        index = {"models": rows, "missing": missing}
        _add(archive, INDEX, json.dumps(index, indent=1).encode())
    return index


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--states", type=Path, help="the folder that a survey keeps states in")
    parser.add_argument("--only", nargs="*", help="parts of names")
    parser.add_argument("--mib", type=float, default=40.0)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    models = [model for model in corpus() if in_scope(model)]
    models = keeping_states(models, args.states) if args.states else models
    models = [model for model in models if not args.only or any(part in model.name for part in args.only)]
    index = pack(args.out, models, mib=args.mib, jobs=args.jobs)
    recipes = len({row["recipe"] for row in index["models"]})
    size = args.out.stat().st_size / 2**20
    print(f"{args.out}: {len(index['models'])} models of {recipes} recipes, {size:.1f} MiB; left out:")
    for name, why in index["missing"].items():
        print(f"  {name}: {why}")


if __name__ == "__main__":
    main()
