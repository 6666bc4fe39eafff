"""Files changed at random: decoding and processing end in a result or in a documented error, never in anything else."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from kinema.compile.mesh import compile_mesh
from kinema.errors import KinemaError
from kinema.geometry.builtin_mesh import builtin_mesh
from kinema.resources import Resource, decode
from tests.compile.mesh_oracle import public_files
from tests.compile.test_mesh_files import OBJ, TETRA, TETRA_FACES, msh, stl

SEEDS = {
    "everything.obj": OBJ["everything"].encode(),
    "negative.obj": OBJ["negative indices"].encode(),
    "pentagon.obj": OBJ["concave pentagon"].encode(),
    "tetra.stl": stl(TETRA[TETRA_FACES]),
    "tetra.msh": msh(nnormal=4, ntexcoord=4),
}


def changed(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes overwritten, cut out or doubled."""
    result = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        place = int(rng.integers(0, max(1, len(result))))
        action = rng.integers(0, 4)
        if action == 0 and result:
            result[place % len(result)] = rng.integers(0, 256)
        elif action == 1:
            del result[place : place + int(rng.integers(1, 9))]
        elif action == 2:
            result[place:place] = result[place : place + int(rng.integers(1, 30))]
        elif result:
            result[place % len(result)] = b"0123456789-/. \nvfe"[rng.integers(0, 18)]
    return bytes(result)


@pytest.mark.parametrize("name", SEEDS)
def test_meshes(name):
    rng = np.random.default_rng(len(name))
    results = 0
    for _ in range(400):
        data = changed(SEEDS[name], rng)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                mesh = decode("mesh", Resource(name, data, None, Path(name).suffix))
                compile_mesh("m", mesh, inertia="shell")
                results += 1
            except KinemaError:
                continue
    assert results  # some survive: the test reaches the processing


def test_skins():
    paths = [path for path in public_files(".skn") if path.stat().st_size < 50_000]
    if not paths:
        pytest.skip("no small skin file on this machine")
    rng, refused = np.random.default_rng(0), 0
    for _ in range(200):
        try:
            decode("skin", Resource("s.skn", changed(paths[0].read_bytes(), rng), None, ".skn"))
        except KinemaError:
            refused += 1
    assert 0 < refused < 200  # the test reaches what checks, and what is behind it


def test_builtin_parameters():
    rng = np.random.default_rng(1)
    kinds = [
        "sphere",
        "hemisphere",
        "cone",
        "supersphere",
        "supertorus",
        "wedge",
        "plate",
        "grid",
        "box",
        "disc",
        "square",
    ]
    refused = 0
    for _ in range(300):
        kind = kinds[rng.integers(len(kinds))]
        params = rng.choice([-1, 0, 0.5, 1, 2, 3, 4, 7], int(rng.integers(0, 8)))
        try:
            with np.errstate(all="ignore"):
                compile_mesh("m", builtin_mesh(kind, params), inertia="shell")
        except KinemaError:
            refused += 1
    assert 0 < refused < 300
