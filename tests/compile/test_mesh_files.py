"""Mesh files: what OBJ, STL and MSH may look like, and what is refused, as MuJoCo reads and refuses it."""

import struct

import mujoco
import numpy as np
import pytest

from kinema import resources
from kinema.compile.mesh import compile_mesh, load_mesh, mesh_asset
from kinema.errors import CompileError, ResourceError
from tests.compile.mesh_oracle import differences, mujoco_model


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KINEMA_CACHE_DIR", str(tmp_path / "cache"))


VERTS = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1.2\nv 0 1 1\n"
QUADS = "f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"
NORMALS = "vn 0 0 -1\nvn 0 0 1\nvn 0 -1 0\nvn 1 0 0\nvn 0 1 0\nvn -1 0 0\n"
TEX = "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 .25\n"
TRIANGLES = "f 1 3 2\nf 1 4 3\nf 5 6 7\nf 5 7 8\nf 1 2 6\nf 1 6 5\n"
TRIANGLES += "f 2 3 7\nf 2 7 6\nf 3 4 8\nf 3 8 7\nf 4 1 5\nf 4 5 8\n"
PENTAGON = "v 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 .3 0\nv 0 1 0\nv 0 0 1\n"

OBJ = {
    "quads": VERTS + QUADS,
    "triangles": VERTS + TRIANGLES,
    "mixed": VERTS + "f 1 3 2\nf 1 4 3\n" + "\n".join(QUADS.splitlines()[1:]) + "\n",
    "normals": VERTS
    + NORMALS
    + "".join(
        f"f {' '.join(f'{v}//{i + 1}' for v in line.split()[1:])}\n" for i, line in enumerate(QUADS.splitlines())
    ),
    "texcoords": VERTS
    + TEX
    + "".join(f"f {' '.join(f'{v}/{k + 1}' for k, v in enumerate(line.split()[1:]))}\n" for line in QUADS.splitlines()),
    "everything": VERTS
    + TEX
    + NORMALS
    + "".join(
        f"f {' '.join(f'{v}/{k + 1}/{i + 1}' for k, v in enumerate(line.split()[1:]))}\n"
        for i, line in enumerate(QUADS.splitlines())
    ),
    "negative indices": VERTS + "f -8 -5 -6 -7\nf -4 -3 -2 -1\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n",
    "groups: only the first counts": VERTS + "g a\n" + TRIANGLES + "g b\nf 1 2 7\n",
    "objects: only the first with faces": "o empty\no one\n" + VERTS + TRIANGLES + "o two\nf 1 2 7\n",
    "materials do not split": "mtllib none.mtl\n"
    + VERTS
    + "usemtl a\n"
    + TRIANGLES[:48]
    + "usemtl b\n"
    + TRIANGLES[48:],
    "comments, blanks, CRLF, tabs": ("# hi\n\n" + VERTS + "s off\n" + QUADS)
    .replace("\n", "\r\n")
    .replace("f 1", "f\t1"),
    "vertex colours": "".join(f"{line} .5 .25 1\n" for line in VERTS.splitlines()) + QUADS,
    "concave pentagon": PENTAGON + "f 1 2 3 4 5\nf 2 1 6\nf 3 2 6\nf 4 3 6\nf 5 4 6\nf 1 5 6\n",
    "pentagon turned": PENTAGON + "f 3 4 5 1 2\nf 2 1 6\nf 3 2 6\nf 4 3 6\nf 5 4 6\nf 1 5 6\n",
    "no faces": VERTS,
    "exponents": VERTS.replace("v 1 1 1.2", "v 1e0 +1.0E+0 12e-1") + QUADS,
}


@pytest.mark.parametrize("name", OBJ)
def test_obj(name):
    text = OBJ[name].encode()
    model = mujoco_model('file="m.obj" inertia="shell"', {"m.obj": text})
    data = load_mesh("m", resource=resources.read("m.obj", assets={"m.obj": text}))
    assert differences(compile_mesh("m", data, inertia="shell"), model) == []


def test_hexagons_are_cut_as_mujoco_cuts_them():
    rng = np.random.default_rng(3)
    for _ in range(10):
        angle = np.sort(rng.uniform(0, 2 * np.pi, 7))
        radius = rng.uniform(0.4, 1.5, 7)
        plane = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(7)], axis=1)
        turned = plane @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
        lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in [*turned, [0.1, 0.2, 2.0]]]
        text = ("\n".join(lines) + "\nf 1 2 3 4 5 6 7\nf 1 2 8\nf 3 4 8\n").encode()
        spec = mujoco.MjSpec.from_string('<mujoco><asset><mesh name="m" file="m.obj"/></asset></mujoco>')
        spec.meshes[0].inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        spec.assets["m.obj"] = text
        face = spec.compile().mesh_face
        ours = load_mesh("m", resource=resources.read("m.obj", assets={"m.obj": text})).face
        assert (ours == face).all()


@pytest.mark.parametrize("text", ["f 0 1 2\n", "f 1 2 9\n", "f 1 2 x\n", "v a b c\n"])
def test_bad_obj(text):
    data = (VERTS + text).encode()
    with pytest.raises((ResourceError, CompileError)):
        mesh_asset("m", resource=resources.read("m.obj", assets={"m.obj": data}), inertia="shell")


def stl(triangles: np.ndarray) -> bytes:
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *corner.ravel(), 0) for corner in triangles)
    return b"\0" * 80 + struct.pack("<i", len(triangles)) + body


TETRA = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
TETRA_FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def test_stl_merges_vertices_but_not_minus_zero():
    triangles = TETRA[TETRA_FACES].copy()
    triangles[0, 0, 0] = -0.0
    data = stl(triangles)
    model = mujoco_model('file="m.stl"', {"m.stl": data})
    mesh = mesh_asset("m", resource=resources.read("m.stl", assets={"m.stl": data}))
    assert len(mesh.vert) == 5 == model.nmeshvert
    assert differences(mesh, model) == []


def msh(nvert=4, nnormal=0, ntexcoord=0, nface=4, cut=0) -> bytes:
    rng = np.random.default_rng(0)
    parts = [np.array([nvert, nnormal, ntexcoord, nface], "<i4"), TETRA[np.arange(nvert) % 4].astype("<f4")]
    parts += [rng.normal(size=(nnormal, 3)).astype("<f4"), rng.uniform(size=(ntexcoord, 2)).astype("<f4")]
    parts.append(TETRA_FACES[np.arange(nface) % 4].astype("<i4"))
    data = b"".join(part.tobytes() for part in parts)
    return data[: len(data) - cut]


@pytest.mark.parametrize(("nnormal", "ntexcoord", "nface"), [(0, 0, 4), (4, 0, 4), (0, 4, 4), (4, 4, 4), (0, 0, 0)])
@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (-1.0, 1.0, 2.0)])
def test_msh(nnormal, ntexcoord, nface, scale):
    data = msh(nnormal=nnormal, ntexcoord=ntexcoord, nface=nface)
    model = mujoco_model(f'file="m.msh" scale="{" ".join(map(str, scale))}"', {"m.msh": data})
    mesh = mesh_asset("m", resource=resources.read("m.msh", assets={"m.msh": data}), scale=scale)
    assert differences(mesh, model) == []


BAD_FILES = [
    ("a.stl", b"", "is empty"),
    ("a.stl", b"solid x\nfacet normal 0 0 1\n", "invalid header.*text STL"),
    ("a.stl", b"solid x\n" + b"facet normal 0 0 1\n" * 20, "perhaps this is an ASCII file.*save it as binary"),
    ("a.stl", stl(TETRA[TETRA_FACES])[:-1], "wrong size"),
    ("a.stl", stl(np.full((1, 3, 3), 3e9, np.float32)), "exceeds maximum bounds"),
    ("a.msh", b"", "is empty"),
    ("a.msh", b"\0" * 8, "missing header"),
    ("a.msh", msh(nvert=3), "invalid sizes"),
    ("a.msh", msh(nnormal=3), "invalid sizes"),
    ("a.msh", msh(cut=4), "unexpected file size"),
    ("a.ply", b"ply\n", "no decoder found for mesh"),
    ("a.glb", b"glTF", "no decoder found for mesh"),
]


@pytest.mark.parametrize(("name", "data", "message"), BAD_FILES, ids=[message for _, _, message in BAD_FILES])
def test_bad_files_are_refused_by_both(name, data, message):
    if data:  # MuJoCo's assets cannot hold an empty file
        with pytest.raises(ValueError):
            mujoco_model(f'file="{name}"', {name: data})
    with pytest.raises(ResourceError, match=message):
        mesh_asset("m", resource=resources.read(name, assets={name: data}))


def test_content_type_overrides_the_extension():
    data = msh()
    mesh = mesh_asset(
        "m", resource=resources.read("m.bin", assets={"m.bin": data}), content_type="model/vnd.mujoco.msh"
    )
    assert len(mesh.vert) == 4


INLINE = [
    (dict(vertex=[0, 0, 0, 1, 0, 0, 0, 1, 0]), {}, "at least 4 vertices required"),
    (dict(vertex=[0, 0, 0, 1]), {}, "multiple of 3"),
    (dict(vertex=[0.0] * 9 + [float("nan"), 0, 0]), {}, "vertex coordinate 3 is not finite"),
    (dict(vertex=TETRA.ravel(), face=[0, 1, 4]), {}, "in face 0, vertex index 4 does not exist"),
    (dict(vertex=TETRA.ravel(), face=[0, 1]), {}, "multiple of 3"),
    (dict(vertex=TETRA.ravel(), texcoord=[0, 0, 1, 1]), {}, "texcoord must be 2\\*nv"),
    (dict(vertex=[0] * 12), {}, "mesh 'm' has colocated vertices"),
    (dict(vertex=[0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0]), {}, "mesh 'm' has collinear vertices"),
    (dict(vertex=[0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0]), {}, "mesh 'm' has coplanar vertices"),
    (dict(vertex=TETRA.ravel(), face=TETRA_FACES[:, ::-1].ravel()), {"inertia": "exact"}, "mesh volume is negative"),
    (
        dict(vertex=TETRA.ravel(), face=[0, 2, 1, 0, 2, 3, 0, 3, 2, 1, 2, 3]),
        {"inertia": "exact"},
        "have inconsistent orientation. Please check the faces containing the vertices 1 and 3",
    ),
    (dict(vertex=TETRA.ravel() * 1e-6), {}, "is too small|coplanar|collinear"),
    (dict(vertex=TETRA.ravel(), face=[0, 1, 1]), {}, "mesh surface area is too small"),
    (dict(vertex=TETRA.ravel()), {"maxhullvert": 3}, "maxhullvert must be larger than 3"),
]


@pytest.mark.parametrize(("data", "options", "message"), INLINE, ids=lambda v: v[:30] if isinstance(v, str) else "")
def test_bad_data_is_refused_by_both(data, options, message):
    text = " ".join(f'{key}="{" ".join(map(str, np.asarray(value).tolist()))}"' for key, value in data.items())
    text += "".join(f' {key}="{value}"' for key, value in options.items())
    with pytest.raises(ValueError):
        mujoco_model(text)
    with pytest.raises(CompileError, match=message):
        mesh_asset("m", **data, **options)


def test_file_and_data_together():
    resource = resources.read("m.msh", assets={"m.msh": msh(nnormal=4)})
    with pytest.raises(CompileError, match="repeated vertex specification"):
        load_mesh("m", resource=resource, vertex=TETRA.ravel())
    with pytest.raises(CompileError, match="repeated normal specification"):
        load_mesh("m", resource=resource, normal=TETRA.ravel())
    with pytest.raises(CompileError, match="give only one"):
        mesh_asset("m", resource=resource, builtin="sphere", params=[1])


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("sphere", [5], "subdivision"),
        ("sphere", [], "requires 1 parameters"),
        ("cone", [2, 1], "nvert"),
        ("cone", [4, 1.5], "radius"),
        ("shpere", [1], "did you mean 'sphere'"),
        ("grid", [3, 2], "requires 6"),
        ("grid", [3, 2, 2, 1, 1, 1, 2], r"count\[2\]"),
        ("box", [1, 2, 2, 1, 1, 1], "at least 2"),
        ("grid", [2, 2, 2, 1, 1, 1, 4], "dim"),
        ("wedge", [4, 5, 30, 100, 0], "fov_theta"),
        ("supertorus", [8, 0, 1, 1], "radius"),
    ],
)
def test_bad_builtin(kind, params, message):
    with pytest.raises(ValueError):
        mujoco_model(f'builtin="{kind}" params="{" ".join(map(str, params))}"')
    with pytest.raises(CompileError, match=message):
        mesh_asset("m", builtin=kind, params=params)


def cone(corners: np.ndarray) -> str:
    """A polygon of any size as the base of a cone."""
    points = np.vstack([corners, corners.mean(0) + [0.1, 0.2, 0.3]])
    n = len(corners)
    sides = "".join(f"f {k + 1} {(k + 1) % n + 1} {n + 1}\n" for k in range(n))
    return (
        "".join(f"v {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in points)
        + f"f {' '.join(map(str, range(1, n + 1)))}\n{sides}"
    )


@pytest.mark.parametrize("seed", range(8))
def test_polygons_are_cut_as_mujoco_cuts_them(seed):
    """Round and star-shaped ones, flat and warped, large and small, in planes that face anywhere."""
    rng = np.random.default_rng(seed)
    for count in (5, 8, 30, 100):
        angle = np.sort(rng.uniform(0, 2 * np.pi, count))
        radius = rng.uniform(0.2, 1, count) if seed % 2 else np.ones(count)
        corners = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], axis=1)
        corners[:, 2] = (seed % 3) * (0.3 * corners[:, 0] + rng.normal(size=count) * 0.02)
        corners = (corners * rng.choice([1, 0.01]) + rng.choice([0, 0.3]))[:, rng.permutation(3)]
        text = cone(corners).encode()
        ours = load_mesh("m", resource=resources.read("m.obj", assets={"m.obj": text}))
        theirs = mujoco_model('file="m.obj" inertia="shell"', {"m.obj": text})
        np.testing.assert_array_equal(ours.face, theirs.mesh_face)


def test_faces_of_too_many_corners_are_left_out():
    angle = np.linspace(0, 2 * np.pi, 101, endpoint=False)
    text = cone(np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)).encode()
    with pytest.warns(UserWarning, match="'m.obj': a face of 101 corners is left out"):
        ours = load_mesh("m", resource=resources.read("m.obj", assets={"m.obj": text}))
    theirs = mujoco_model('file="m.obj" inertia="shell"', {"m.obj": text})
    np.testing.assert_array_equal(ours.face, theirs.mesh_face)
