"""Skins against MuJoCo: SKN files of dm_control, data in the document; and what both refuse."""

import mujoco
import numpy as np
import pytest

from kinema import resources
from kinema.compile.skin import bone, compile_skin, load_skin, pack_skins
from kinema.errors import CompileError, ResourceError
from tests.compile.mesh_oracle import public_files

OWN = ("skin_matid", "skin_group", "skin_rgba", "skin_inflate", "skin_pathadr")  # decided by the element, not its data


def check(skin, model: mujoco.MjModel) -> None:
    ids = {model.body(i).name: i for i in range(model.nbody)}
    ours = pack_skins([skin], body_ids=ids)
    names = {name for name in dir(model) if name.startswith("skin_")} - set(OWN)
    assert names == set(ours)
    for name in names:
        reference = getattr(model, name)
        assert ours[name].shape == reference.shape, name
        assert ours[name] == pytest.approx(reference, rel=1e-6, abs=1e-7), name


@pytest.mark.parametrize("path", public_files(".skn"), ids=lambda path: path.name)
def test_public_skins(path):
    raw = load_skin("s", resource=resources.read(path))
    names = dict.fromkeys(item.body for item in raw.bones if item.body != "world")
    bodies = "".join(f'<body name="{name}"><geom size=".1"/></body>' for name in names)
    xml = (
        f'<mujoco><deformable><skin name="s" file="{path.name}"/></deformable><worldbody>{bodies}</worldbody></mujoco>'
    )
    check(compile_skin("s", raw), mujoco.MjModel.from_xml_string(xml, {path.name: path.read_bytes()}))


VERTEX = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]
FACE = [0, 1, 2, 1, 2, 3]
BONES = [
    dict(body="a", bindpos=(1, 2, 3), bindquat=(2, 0, 0, 1), vertid=[0, 1, 2], vertweight=[1, 2, 0.5]),
    dict(body="b", bindpos=(0, 0, 1), bindquat=(1, 0, 0, 0), vertid=[1, 2, 3], vertweight=[3, 1, 0.25]),
]


def text(values) -> str:
    return " ".join(map(str, values))


def document(vertex=VERTEX, face=FACE, bones=BONES, texcoord=None) -> str:
    lines = ""
    for item in bones:
        attributes = " ".join(f'{key}="{value if key == "body" else text(value)}"' for key, value in item.items())
        lines += f"<bone {attributes}/>"
    extra = f' texcoord="{text(texcoord)}"' if texcoord else ""
    return (
        f'<mujoco><deformable><skin name="s" vertex="{text(vertex)}" face="{text(face)}"{extra}>{lines}</skin>'
        '</deformable><worldbody><body name="a"><geom size=".1"/></body><body name="b"><geom size=".1"/></body>'
        "</worldbody></mujoco>"
    )


def load(vertex=VERTEX, face=FACE, bones=BONES, texcoord=None):
    return load_skin("s", vertex=vertex, face=face, texcoord=texcoord, bones=[bone(**item) for item in bones])


@pytest.mark.parametrize("texcoord", [None, [0, 0, 1, 0, 0, 1, 1, 1]])
def test_skin_in_the_document(texcoord):
    model = mujoco.MjModel.from_xml_string(document(texcoord=texcoord))
    check(compile_skin("s", load(texcoord=texcoord)), model)


BAD = [
    (dict(face=[0, 1, 4]), "face vertex index 4 out of range"),
    (dict(texcoord=[0, 0, 1, 0]), "texcoord data incompatible size"),
    (dict(bones=BONES[:1]), "vertex 3 must have positive total weight"),
    (dict(bones=[BONES[0], BONES[1] | dict(vertid=[1, 2, 9])]), "vertid 9 out of range"),
    (dict(bones=[BONES[0], BONES[1] | dict(vertweight=[1, 2])]), "same non-zero size"),
    (dict(bones=[]), "Missing data"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_skins_are_refused_by_both(change, message):
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_string(document(**change))
    with pytest.raises(CompileError, match=message):
        compile_skin("s", load(**change))


def test_unknown_body_and_mixed_sources():
    skin = compile_skin("s", load())
    with pytest.raises(CompileError, match="unknown body 'a' in skin"):
        pack_skins([skin], body_ids={"world": 0, "b": 1})
    with pytest.raises(CompileError, match="multiple of 3"):
        load(vertex=[1, 2])


def test_damaged_files():
    paths = public_files(".skn")
    if not paths:
        pytest.skip("no skin files on this machine")
    data = paths[0].read_bytes()
    cuts = [(b"", "empty"), (data[:10], "header"), (data[:400], "insufficient"), (data[:-4], "insufficient")]
    for cut, message in cuts:
        with pytest.raises(ResourceError, match=message):
            load_skin("s", resource=resources.read("s.skn", assets={"s.skn": cut}))
    with pytest.raises(CompileError, match="Both skin data and file"):
        load_skin("s", resource=resources.read(paths[0]), vertex=VERTEX)


def test_none():
    arrays = pack_skins([], body_ids={})
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    for name in arrays:
        assert arrays[name].shape == getattr(model, name).shape, name
        assert arrays[name].dtype == np.asarray(getattr(model, name)).dtype
