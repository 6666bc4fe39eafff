"""Mesh processing: every mesh_* and bvh_* field against MuJoCo's, over attributes, shapes and formats."""

import base64

import mujoco
import numpy as np
import pytest

from kinema import resources
from kinema.compile.mesh import compile_mesh, fit_primitive, load_mesh, mesh_asset, pack_meshes
from tests.compile.mesh_oracle import differences, graph_content, mujoco_model, our_builtin, our_mesh, public_files
from tests.compile.oracle import agree

CUBE = "0 0 0 1 0 0 0 2 0 1 2 0 0 0 3 1 0 3 0 2 3 1 2 3"
TETRAHEDRON = "0 0 0  1 0 0  0 1 0  0 0 1"
SKEW = "0 0 0  1.3 .1 0  .2 1.7 .3  .1 .2 .9  .9 .8 .7"

OPTIONS = [
    {},
    {"scale": (-1.0, 2.0, 0.5)},
    {"scale": (-3.0, -4.0, -5.0)},
    {"inertia": "convex"},
    {"inertia": "convex", "scale": (1.0, 1.0, -1.0)},
    {"inertia": "shell"},
    {"inertia": "exact"},
    {"refpos": (0.1, -0.2, 0.3), "refquat": (1.0, 2.0, -3.0, 4.0)},
    {"smoothnormal": True, "scale": (0.3, 0.4, 0.5)},
    {"maxhullvert": 8},
]


def attributes_of(options: dict) -> str:
    def text(value):
        if isinstance(value, bool):
            return str(value).lower()
        return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)

    return " ".join(f'{name}="{text(value)}"' for name, value in options.items())


def numbers(text: str) -> list[float]:
    return [float(x) for x in text.split()]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: ",".join(o) or "plain")
@pytest.mark.parametrize("vertex", [CUBE, TETRAHEDRON, SKEW], ids=["cube", "tetrahedron", "skew"])
def test_point_clouds(vertex, options):
    if options.get("inertia") == "exact" and vertex is SKEW:
        vertex = TETRAHEDRON
    model = mujoco_model(f'vertex="{vertex}" {attributes_of(options)}')
    mesh = compile_mesh("m", load_mesh("m", vertex=numbers(vertex)), **options)
    assert differences(mesh, model) == []


SHAPES = [
    ("sphere", [2]),
    ("hemisphere", [3]),
    ("cone", [7, 0.4]),
    ("cone", [5, 0]),
    ("supersphere", [9, 0.5, 2]),
    ("supertorus", [12, 0.3, 1, 0.5]),
    ("wedge", [4, 5, 30, 40, 0.5]),
    ("plate", [4, 5]),
    ("grid", [3, 2, 4, 1, 1, 1]),
    ("box", [3, 4, 5, 1, 1, 1]),
    ("cylinder", [3, 4, 5, 1, 1, 1, 2]),
    ("ellipsoid", [4, 4, 4, 1, 2, 1]),
    ("disc", [4, 5, 1, 1, 1, 1]),
    ("square", [4, 3, 1, 1, 1, 1]),
]


@pytest.mark.parametrize(("kind", "params"), SHAPES, ids=lambda v: v if isinstance(v, str) else None)
def test_builtin_shapes(kind, params):
    attributes = f'builtin="{kind}" params="{" ".join(map(str, params))}"'
    flat = kind in ("plate", "disc", "square")
    model = mujoco_model(attributes, geom='contype="0" conaffinity="0"' if flat else "")
    mesh = our_builtin(kind, params, needhull=not flat)
    assert differences(mesh, model) == []


def test_a_builtin_shape_makes_its_own_faces():
    model = mujoco_model('builtin="sphere" params="1" face="2"')
    assert differences(mesh_asset("m", builtin="sphere", params=[1], face=[2]), model) == []


def sample(count: int) -> list:
    """A fixed spread over the public meshes, small ones to keep the test quick."""
    files = [path for path in public_files(".stl", ".obj", ".msh") if path.stat().st_size < 400_000]
    return files[:: max(1, len(files) // count)]


@pytest.mark.parametrize("path", sample(40), ids=lambda path: path.name[:40])
def test_public_meshes(path):
    model = mujoco_model(f'file="{path.name}"', {path.name: path.read_bytes()})
    assert differences(our_mesh(path), model) == []


@pytest.mark.parametrize("options", OPTIONS[1:], ids=lambda o: ",".join(o))
@pytest.mark.parametrize("path", sample(4)[:4], ids=lambda path: path.name[:40])
def test_public_meshes_with_attributes(path, options):
    try:
        model = mujoco_model(f'file="{path.name}" {attributes_of(options)}', {path.name: path.read_bytes()})
    except ValueError as error:  # a mesh MuJoCo refuses we must refuse with the same words
        with pytest.raises(ValueError) as ours:
            our_mesh(path, **options)
        assert str(ours.value)[:50] in str(error)
        return
    assert differences(our_mesh(path, **options), model) == []


def test_inline_faces_normals_texcoords():
    vertex = numbers(TETRAHEDRON)
    face = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
    normal, texcoord = [1, 0, 0, 0, 3, 0, 0, 0, 1, 1, 1, 0], [0, 0, 1, 0, 0, 1, 1, 1]
    text = {"vertex": vertex, "face": face, "normal": normal, "texcoord": texcoord}
    attributes = " ".join(f'{key}="{" ".join(map(str, value))}"' for key, value in text.items())
    for options in ({}, {"scale": (-2.0, 1.0, 3.0)}, {"refquat": (0.0, 1.0, 1.0, 0.0)}):
        model = mujoco_model(f"{attributes} {attributes_of(options)}")
        assert differences(compile_mesh("m", load_mesh("m", **text), **options), model) == []


def test_without_hull():
    """A mesh that nobody collides with has no graph and no polygons."""
    path = sample(4)[1]
    model = mujoco_model(f'file="{path.name}"', {path.name: path.read_bytes()}, geom='contype="0" conaffinity="0"')
    mesh = our_mesh(path, needhull=False)
    assert len(model.mesh_graph) == 0 and len(mesh.graph) == 0
    assert differences(mesh, model) == []


def test_frame_is_exact():
    """Positions and quaternions agree to the last bit: rounding decides the frame of symmetric meshes."""
    for path in sample(12):
        model = mujoco_model(f'file="{path.name}"', {path.name: path.read_bytes()})
        mesh = our_mesh(path)
        assert (mesh.pos == model.mesh_pos[0]).all() and (mesh.quat == model.mesh_quat[0]).all(), path.name


@pytest.mark.parametrize("inertia", ["legacy", "convex", "shell"])
def test_volume_and_box_give_mujocos_mass_and_inertia(inertia):
    path = sample(4)[2]
    xml = (
        f'<mujoco><compiler boundmass="0"/><asset><mesh name="m" file="{path.name}" inertia="{inertia}"/></asset>'
        '<worldbody><body><freejoint/><geom type="mesh" mesh="m" density="700"/></body></worldbody></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(xml, {path.name: path.read_bytes()})
    mesh = our_mesh(path, inertia=inertia)
    mass = 700 * mesh.volume
    assert model.body_mass[1] == pytest.approx(mass, rel=1e-9)
    square = mesh.boxsz**2
    expected = mass / 3 * np.array([square[1] + square[2], square[0] + square[2], square[0] + square[1]])
    assert np.sort(model.body_inertia[1]) == pytest.approx(np.sort(expected), rel=1e-9)


@pytest.mark.parametrize("fitaabb", [False, True])
@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "ellipsoid", "box"])
def test_fitted_primitives(kind, fitaabb):
    path = sample(4)[1]
    xml = (
        f'<mujoco><compiler fitaabb="{str(fitaabb).lower()}"/><asset><mesh name="m" file="{path.name}"/></asset>'
        f'<worldbody><geom type="{kind}" mesh="m" fitscale="1.5"/></worldbody></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(xml, {path.name: path.read_bytes()})
    mesh = our_mesh(path, needhull=False)
    size, center = fit_primitive(mesh, kind, fitaabb=fitaabb, fitscale=1.5)
    used = {"sphere": 1, "capsule": 2, "cylinder": 2}.get(kind, 3)
    assert model.geom_size[0, :used] == pytest.approx(size[:used], rel=1e-9)
    # the mesh's own frame, and the centre of its box where that was fitted
    position = np.zeros(3)
    mujoco.mju_rotVecQuat(position, center, mesh.quat)
    assert model.geom_pos[0] == pytest.approx(mesh.pos + position, abs=1e-9)


def test_packing_several_meshes():
    paths = sample(6)[:3]
    assets = {path.name: path.read_bytes() for path in paths}
    lines = "".join(f'<mesh name="m{i}" file="{path.name}"/>' for i, path in enumerate(paths))
    xml = f'<mujoco><asset>{lines}<mesh name="t" vertex="{TETRAHEDRON}"/></asset><worldbody>' + "".join(
        f'<geom type="mesh" mesh="m{i}"/>' for i in range(len(paths))
    )
    xml += '<geom type="mesh" mesh="t" contype="0" conaffinity="0"/></worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(xml, assets)
    meshes = [our_mesh(path) for path in paths]
    meshes.append(compile_mesh("t", load_mesh("t", vertex=numbers(TETRAHEDRON))))
    bodies = model.nbvh - int(model.mesh_bvhnum.sum())
    ours = pack_meshes(meshes, bvh_start=bodies)
    expected_fields = {name for name in dir(model) if name.startswith("mesh_")} - {"mesh_pathadr"}
    assert expected_fields <= set(ours)
    for name, value in ours.items():
        if name in ("mesh_graph", "mesh_extrema"):
            continue
        reference = getattr(model, name)[bodies:] if name.startswith("bvh_") else getattr(model, name)
        assert value.shape == reference.shape, name
        assert value == pytest.approx(reference, abs=1e-5), name
    address = ours["mesh_graphadr"]
    for start, end in zip(address, [*address[1:], len(ours["mesh_graph"])], strict=True):
        part = slice(start, end)
        assert graph_content(ours["mesh_graph"][part]) == graph_content(model.mesh_graph[part])


def test_no_meshes():
    arrays = pack_meshes([])
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    for name in (name for name in dir(model) if name.startswith("mesh_") and name != "mesh_pathadr"):
        assert arrays[name].shape == getattr(model, name).shape, name


def test_mesh_from_a_data_uri_needs_no_extension(monkeypatch):
    """The media type decides; MuJoCo asks for a name that ends in .obj."""
    text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    monkeypatch.setenv("KINEMA_CACHE_DIR", "")
    resource = resources.read("data:model/obj;base64," + base64.b64encode(text).decode())
    mesh = mesh_asset("m", resource=resource)
    model = mujoco_model('file="m.obj"', {"m.obj": text})
    assert differences(mesh, model) == []


@pytest.mark.parametrize(
    "where",
    [
        '<site type="mesh" mesh="m"/>',
        '<geom type="mesh" mesh="m" contype="0" conaffinity="0"/>',
        '<geom type="mesh" mesh="m" contype="0" conaffinity="0"/><site class="zone" mesh="m"/>',
    ],
    ids=["site", "geom for show", "site by default"],
)
def test_a_mesh_that_a_site_has_gets_a_hull(where):
    """What a site encloses is the hull, so it is there though nothing collides with the mesh."""
    face = "0 2 1 0 1 3 1 2 3 2 0 3"
    agree(
        f"""<mujoco><default><default class="zone"><site type="mesh"/></default></default>
        <asset><mesh name="m" vertex="{TETRAHEDRON}" face="{face}"/></asset><worldbody>{where}</worldbody></mujoco>"""
    )
