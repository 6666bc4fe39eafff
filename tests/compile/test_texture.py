"""Textures against MuJoCo, byte by byte: builtin patterns and marks, images, cubes; and what both refuse."""

import itertools

import mujoco
import numpy as np
import pytest

from kinema import resources
from kinema.compile.texture import can_be_by_reference, compile_texture, pack_textures, texture_by_reference
from kinema.errors import CompileError, ResourceError
from tests.compile.mesh_oracle import public_files
from tests.compile.oracle import agree, both_refuse
from tests.compile.test_heightfield import png

COLORS = {"rgb1": (0.1, 0.2, 0.9), "rgb2": (0.8, 0.3, 0.4), "markrgb": (1.0, 0.5, 0.2), "random": 0.1}


def attributes_of(options: dict) -> str:
    def text(value):
        if isinstance(value, bool):
            return str(value).lower()
        return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)

    return " ".join(f'{key}="{text(value)}"' for key, value in options.items())


def reference(attributes: str, assets: dict[str, bytes] | None = None) -> mujoco.MjModel:
    xml = f'<mujoco><asset><texture name="t" {attributes}/></asset></mujoco>'
    return mujoco.MjModel.from_xml_string(xml, assets or {})


def check(texture, model: mujoco.MjModel) -> None:
    ours = pack_textures([texture])
    skipped = ("tex_pathadr", "tex_contenttypeadr")
    for name in (name for name in dir(model) if name.startswith("tex_") and name not in skipped):
        assert ours[name].shape == getattr(model, name).shape, name
        assert (ours[name] == getattr(model, name)).all(), name


@pytest.mark.parametrize("size", [(64, 48), (33, 17)])
@pytest.mark.parametrize(
    ("kind", "builtin", "mark"),
    list(
        itertools.product(
            ["2d", "cube", "skybox"], ["gradient", "checker", "flat"], ["none", "edge", "cross", "random"]
        )
    ),
)
def test_builtin(kind, builtin, mark, size):
    options = {"type": kind, "builtin": builtin, "mark": mark, "width": size[0], "height": size[1], **COLORS}
    check(compile_texture("t", **options), reference(attributes_of(options)))


@pytest.mark.parametrize("nchannel", [1, 3, 4])
@pytest.mark.parametrize("flips", [{}, {"hflip": True}, {"vflip": True}, {"hflip": True, "vflip": True}])
def test_image(nchannel, flips):
    data = png(np.random.default_rng(0).integers(0, 256, (5, 6 * 4)), color=6)
    options = {"type": "2d", "nchannel": nchannel, **flips}
    texture = compile_texture("t", file=resources.read("a.png", assets={"a.png": data}), **options)
    check(texture, reference(f'file="a.png" {attributes_of(options)}', {"a.png": data}))


@pytest.mark.parametrize("colorspace", ["auto", "linear", "sRGB"])
def test_colorspace(colorspace):
    data = png(np.zeros((2, 6), int), color=2)
    texture = compile_texture(
        "t", type="2d", colorspace=colorspace, file=resources.read("a.png", assets={"a.png": data})
    )
    check(texture, reference(f'type="2d" file="a.png" colorspace="{colorspace}"', {"a.png": data}))


@pytest.mark.parametrize(
    ("rows", "columns", "layout"), [(1, 1, "."), (3, 4, ".U..LFRB.D.."), (1, 6, "RLUDFB"), (2, 3, "R.U.FB")]
)
@pytest.mark.parametrize("kind", ["cube", "skybox"])
def test_cube_of_one_image(kind, rows, columns, layout):
    data = png(np.random.default_rng(1).integers(0, 256, (4 * rows, 4 * columns * 3)), color=2)
    options = {"type": kind, "gridsize": (rows, columns), "gridlayout": layout, "rgb1": COLORS["rgb1"]}
    texture = compile_texture("t", file=resources.read("a.png", assets={"a.png": data}), **options)
    check(texture, reference(f'file="a.png" {attributes_of(options)}', {"a.png": data}))


@pytest.mark.parametrize("sides", [(0, 1, 2, 3, 4, 5), (2, 5), (0,)])
def test_cube_of_files(sides):
    names = ("right", "left", "up", "down", "front", "back")
    rng = np.random.default_rng(2)
    assets = {f"{names[k]}.png": png(rng.integers(0, 256, (3, 9)), color=2) for k in sides}
    files = [resources.read(f"{name}.png", assets=assets) if f"{name}.png" in assets else None for name in names]
    texture = compile_texture("t", type="skybox", cubefiles=files, rgb1=COLORS["rgb1"])
    text = " ".join(f'file{names[k]}="{names[k]}.png"' for k in sides)
    check(texture, reference(f'type="skybox" rgb1="0.1 0.2 0.9" {text}', assets))


def test_ktx_is_passed_through():
    data = bytes(range(40))
    texture = compile_texture("t", type="2d", file=resources.read("a.ktx", assets={"a.ktx": data}))
    check(texture, reference('type="2d" file="a.ktx"', {"a.ktx": data}))


def sample(count: int) -> list:
    files = [path for path in public_files(".png") if path.stat().st_size < 300_000]
    return files[:: max(1, len(files) // count)]


@pytest.mark.parametrize("path", sample(25), ids=lambda path: path.name[:40])
def test_public_images(path):
    texture = compile_texture("t", type="2d", file=resources.read(path))
    check(texture, reference(f'type="2d" file="{path.name}"', {path.name: path.read_bytes()}))


def test_several_and_none():
    small = compile_texture("a", type="2d", builtin="flat", width=2, height=3)
    arrays = pack_textures([small, small])
    assert arrays["tex_adr"].tolist() == [0, 18] and len(arrays["tex_data"]) == 36
    assert len(pack_textures([])["tex_data"]) == 0


@pytest.mark.parametrize("kind", ["2d", "cube"])
def test_by_reference(kind, tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(png(np.zeros((2, 6), int), color=2))
    options = {"type": kind, "colorspace": "sRGB", "nchannel": 4}
    check(texture_by_reference("t", **options), reference(f'file="{path}" embed="false" {attributes_of(options)}'))
    assert can_be_by_reference(has_file=True)
    for change in ({"builtin": "flat"}, {"has_file": False}, {"gridsize": (1, 2)}, {"hflip": True}, {"vflip": True}):
        assert not can_be_by_reference(**({"has_file": True} | change))


@pytest.mark.parametrize("compiler", ["", 'passthrough="textures"', 'passthrough="none"'])
@pytest.mark.parametrize("said", ["", 'embed="false"', 'embed="true"', 'embed="auto"', 'hflip="true"', 'nchannel="4"'])
def test_who_says_that_it_stays_by_reference(compiler, said, tmp_path):
    (tmp_path / "a.png").write_bytes(png(np.zeros((2, 6), int), color=2))
    agree(f"""<mujoco><compiler {compiler} texturedir="{tmp_path}"/><asset>
      <texture name="t" type="2d" file="a.png" {said}/><texture name="b" type="2d" builtin="flat" width="2" height="2"/>
      </asset></mujoco>""")


def test_what_must_be_in_the_model(tmp_path):
    image = png(np.zeros((2, 6), int), color=2)
    (tmp_path / "a.png").write_bytes(image)
    text = '<mujoco><asset><texture name="t" type="2d" {}/></asset></mujoco>'
    for said in ('builtin="flat" width="2" height="2"', f'file="{tmp_path}/a.png" vflip="true"'):
        both_refuse(text.format(f'{said} embed="false"'), "embed")
    both_refuse(text.format('file="b.png" embed="false"'), "embed", {"b.png": image})
    agree(text.format('file="b.png"').replace("<asset>", '<compiler passthrough="textures"/><asset>'), {"b.png": image})


def test_by_reference_among_others():
    flat = compile_texture("a", type="2d", builtin="flat", width=2, height=3)
    arrays = pack_textures([texture_by_reference("r", type="2d"), flat])
    assert arrays["tex_adr"].tolist() == [-1, 0] and arrays["tex_width"].tolist() == [0, 2]


BAD = [
    ({"builtin": "flat"}, "Invalid width"),
    ({"builtin": "flat", "type": "2d", "width": 3}, "Invalid height"),
    ({"type": "2d"}, "Cannot load 2D texture"),
    ({"type": "cube"}, "No cubefiles"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_attributes_are_refused_by_both(options, message):
    with pytest.raises(ValueError):
        reference(attributes_of(options))
    with pytest.raises(CompileError, match=message):
        compile_texture("t", **options)


BAD_IMAGES = [
    ({"type": "cube", "gridsize": (2, 2), "gridlayout": "RLUD"}, "integer multiple of gridsize"),
    ({"type": "cube", "gridsize": (13, 1), "gridlayout": "RLUD"}, "no more than 12"),
    ({"type": "cube", "gridsize": (1, 3), "gridlayout": "RXU"}, "not among '.RLUDFB'"),
    ({"type": "2d", "nchannel": 2}, "Unsupported number of channels: 2"),
]


@pytest.mark.parametrize(("options", "message"), BAD_IMAGES)
def test_bad_images_are_refused_by_both(options, message):
    data = png(np.zeros((3, 27), int), color=2)
    with pytest.raises(ValueError):
        reference(f'file="a.png" {attributes_of(options)}', {"a.png": data})
    with pytest.raises(CompileError, match=message):
        compile_texture("t", file=resources.read("a.png", assets={"a.png": data}), **options)


def test_unknown_formats_and_keywords():
    with pytest.raises(CompileError, match="unsupported content type"):
        compile_texture("t", type="2d", file=resources.read("a.jpg", assets={"a.jpg": b"x"}))
    with pytest.raises(CompileError, match="did you mean 'checker'"):
        compile_texture("t", builtin="cheker", width=2)
    with pytest.raises(ResourceError, match="PNG signature"):
        compile_texture("t", type="2d", file=resources.read("a.png", assets={"a.png": b"x"}))


PICTURES = {"a.png": png(np.zeros((4, 12), int), color=2), "b.png": png(np.ones((4, 12), int), color=2)}


@pytest.mark.parametrize(
    "textures",
    [
        '<texture name="t" type="2d" builtin="flat" width="4" height="4" file="nowhere.png"/>',
        '<texture name="t" type="cube" builtin="flat" width="4" height="24" fileup="nowhere.png"/>',
        '<texture name="t" type="2d" file="a.png" fileup="nowhere.png"/>',
        '<texture name="t" type="2d" file="a.png" content_type="image/png"/><texture name="u" type="2d" file="b.png"/>',
        '<texture name="t" type="cube" fileup="a.png" content_type="image/png"/>',
        '<texture name="t" type="2d" builtin="flat" width="4" height="4" content_type="image/none"/>',
    ],
)
def test_what_is_named_but_not_used(textures):
    """Files that a builtin or another file wins over are not opened; the type of the content is kept all the same."""
    agree(f"<mujoco><asset>{textures}</asset></mujoco>", PICTURES)


@pytest.mark.parametrize("said", ['rgb1="1 0 0"', 'type="2d" builtin="flat" width="3" height="3"', 'hflip="true"'])
def test_textures_have_defaults(said):
    agree(f"""<mujoco><default><texture {said}/><default class="c"><texture rgb2="0 1 0"/></default></default>
      <asset><texture name="t" type="2d" builtin="gradient" width="4" height="4"/>
        <texture name="u" type="2d" file="a.png"/></asset></mujoco>""", PICTURES)  # fmt: skip
