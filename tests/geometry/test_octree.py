"""Octrees of signed distance: against MuJoCo to the last bit, and the distance itself against trimesh."""

import mujoco
import numpy as np
import pytest
import trimesh

from kinema.compile.mesh import compile_mesh, load_mesh, pack_meshes
from kinema.geometry.builtin_mesh import builtin_mesh
from kinema.geometry.bvh import mesh_bvh
from kinema.geometry.signed_distance import closest_on_triangle, signed_distance
from kinema.resources import read
from tests.compile.mesh_oracle import public_files

TETRAHEDRON = "0 0 0  1 0 0  0 1 0  0 0 1"


def check(attributes: str, data, assets: dict[str, bytes] | None = None) -> None:
    xml = (
        f'<mujoco><asset><mesh name="m" {attributes}/></asset>'
        '<worldbody><geom type="sdf" mesh="m"/></worldbody></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(xml, assets or {})
    ours = pack_meshes([compile_mesh("m", data, needsdf=True)])
    assert model.noct > 1000
    for name in ("oct_child", "oct_depth", "oct_aabb", "oct_coeff", "mesh_octadr", "mesh_octnum"):
        assert (ours[name] == getattr(model, name)).all(), name


def test_tetrahedron():
    check(f'vertex="{TETRAHEDRON}"', load_mesh("m", vertex=[float(x) for x in TETRAHEDRON.split()]))


def test_concave_builtin():
    check('builtin="supertorus" params="9 0.3 1 0.5"', builtin_mesh("supertorus", [9, 0.3, 1, 0.5]))


@pytest.mark.parametrize(
    "path", [p for p in public_files(".stl", ".msh", ".obj") if 20_000 < p.stat().st_size < 60_000][::40][:3], ids=str
)
def test_public_meshes(path):
    check(f'file="{path.name}"', load_mesh("m", resource=read(path)), {path.name: path.read_bytes()})


def test_none_unless_asked():
    arrays = pack_meshes([compile_mesh("m", builtin_mesh("sphere", [1]))])
    assert arrays["mesh_octadr"].tolist() == [-1] and arrays["oct_child"].shape == (0, 8)


def winding_number(point: np.ndarray, vert: np.ndarray, face: np.ndarray) -> np.ndarray:
    """How often the surface goes round each point, from solid angles (van Oosterom and Strackee)."""
    a, b, c = (vert[face[:, k]] - point[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=-1) for v in (a, b, c))
    top = (a * np.cross(b, c)).sum(-1)
    bottom = la * lb * lc + (a * b).sum(-1) * lc + (a * c).sum(-1) * lb + (b * c).sum(-1) * la
    return (2 * np.arctan2(top, bottom)).sum(axis=1) / (4 * np.pi)


@pytest.mark.parametrize(
    "mesh", [trimesh.creation.box((1, 2, 3)), trimesh.creation.torus(1.0, 0.3)], ids=["box", "torus"]
)
def test_distance_and_sign(mesh):
    vert, face = np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int32)
    point = np.random.default_rng(0).uniform(-2, 2, (300, 3))
    ours = signed_distance(point, vert, face, mesh_bvh(vert, face))
    a, b, c = vert[face].transpose(1, 0, 2)
    every = [closest_on_triangle(np.repeat(p[None], len(face), 0), a, b, c)[0].min() for p in point]
    assert np.abs(ours) == pytest.approx(np.sqrt(every))
    assert ((ours < 0) == (winding_number(point, vert, face) > 0.5)).all() and (ours < 0).any()


def test_regions_of_a_triangle():
    a, b, c = (np.array([v], float) for v in ([0, 0, 0], [1, 0, 0], [0, 1, 0]))
    points = [(-1, -1, 1), (2, -1, 0), (0.4, -1, 0), (-1, 2, 0), (-1, 0.4, 0), (1, 1, 0), (0.2, 0.2, 3)]
    nearest = [(0, 0, 0), (1, 0, 0), (0.4, 0, 0), (0, 1, 0), (0, 0.4, 0), (0.5, 0.5, 0), (0.2, 0.2, 0)]
    for number, (p, q) in enumerate(zip(points, nearest, strict=True)):
        squared, foot, region = closest_on_triangle(np.array([p], float), a, b, c)
        assert foot[0] == pytest.approx(q) and region[0] == number
        assert squared[0] == pytest.approx(((np.array(p) - q) ** 2).sum())
