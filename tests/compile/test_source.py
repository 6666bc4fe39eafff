"""What may be handed to the compiler: paths, text, bytes, source trees and documents, all with the same result."""

from __future__ import annotations

import mujoco
import pytest

from kinema import mjcf
from kinema.compile import compile_model
from kinema.compile.urdf import from_urdf
from kinema.errors import CompileError, KinemaError
from kinema.mjcf.source import read_xml
from tests.conformance.compare import differences

MAIN = """<mujoco model="main"><compiler meshdir="parts"/><include file="sub/assets.xml"/>
  <worldbody><include file="sub/body.xml"/></worldbody></mujoco>"""
ASSETS = '<mujoco><asset><mesh name="m" file="m.obj"/><mesh file="n.obj"/></asset></mujoco>'
BODY = """<mujoco><body name="b"><freejoint/><geom type="mesh" mesh="m"/><geom type="mesh" mesh="n"/>
  <include file="deep.xml"/></body></mujoco>"""
DEEP = '<mujoco><site name="s"/></mujoco>'
MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture
def folder(tmp_path):
    """A document in several files: one mesh in the mesh folder, one beside the file that names it."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "sub").mkdir()
    for name, text in (
        ("main.xml", MAIN), ("sub/assets.xml", ASSETS), ("sub/body.xml", BODY), ("sub/deep.xml", DEEP),
        ("parts/m.obj", MESH), ("sub/n.obj", MESH),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
    return tmp_path


def test_includes_and_files(folder):
    path = folder / "main.xml"
    theirs = mujoco.MjModel.from_xml_path(str(path))
    assert differences(compile_model(path), theirs) == {}
    assert differences(compile_model(str(path)), theirs) == {}


def test_text_bytes_tree_and_document():
    text = '<mujoco model="m"><worldbody><body name="b"><joint name="j"/><geom size=".1"/></body></worldbody></mujoco>'
    theirs = mujoco.MjModel.from_xml_string(text)
    for source in (text, text.encode(), read_xml(text)):
        assert differences(compile_model(source), theirs) == {}
    document = mjcf.from_xml_string(text)
    theirs = mujoco.MjModel.from_xml_string(document.to_xml_string())
    assert differences(compile_model(document), theirs) == {}


def test_a_source_tree_is_left_as_it_was():
    tree = read_xml('<mujoco><body name="stray"/><worldbody><geom size=".1"/></worldbody></mujoco>')
    with pytest.warns(UserWarning, match="outside <worldbody>"):
        compile_model(tree)
    assert [child.tag for child in tree.children] == ["body", "worldbody"]


def test_anything_else_is_a_type_error():
    with pytest.raises(TypeError, match="int"):
        compile_model(3)


def test_a_document_with_assets(folder):
    document = mjcf.from_path(str(folder / "main.xml"))
    theirs = mujoco.MjModel.from_xml_string(document.to_xml_string(), document.get_assets())
    ours = compile_model(document)
    found = differences(ours, theirs)
    assert {name for name in found if not name.startswith(("path", "npath", "mesh_path"))} == set()


def test_a_file_included_twice_is_an_error(folder):
    twice = '<mujoco><include file="sub/deep.xml"/><include file="./sub/../sub/deep.xml"/></mujoco>'
    (folder / "twice.xml").write_text(twice)
    with pytest.raises(KinemaError, match="already included"):
        compile_model(folder / "twice.xml")


def test_missing_files_are_named(folder):
    (folder / "parts" / "m.obj").unlink()
    with pytest.raises(CompileError, match="m.obj") as caught:
        compile_model(folder / "main.xml")
    assert caught.value.file.endswith("assets.xml") and caught.value.line == 1


def test_other_roots_are_refused():
    with pytest.raises(KinemaError, match="mujoco"):
        compile_model("<html/>")


def test_a_urdf_becomes_a_document(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(
        """<robot name="r"><link name="base"><collision><geometry><mesh filename="m.obj"/></geometry></collision></link>
        <link name="arm"><collision><geometry><sphere radius=".1"/></geometry></collision></link>
        <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""
    )
    (tmp_path / "m.obj").write_text(MESH)
    document = from_urdf(path)
    assert document.find("joint", "j").type == "hinge"
    ours, theirs = compile_model(document), mujoco.MjModel.from_xml_path(str(path))
    found = differences(ours, theirs)
    assert {name for name in found if not name.startswith(("path", "npath", "mesh_path", "name", "nnames"))} == set()


@pytest.mark.parametrize("strip", [False, True])
def test_a_mesh_beside_an_included_file_in_the_same_folder(folder, strip):
    """What the mesh folder does not have is beside the file that names it, even in the folder of the main file."""
    (folder / "robot.xml").write_text(
        f'<mujoco><compiler meshdir="parts" strippath="{str(strip).lower()}"/><asset><mesh file="here.obj"/></asset>'
        '<worldbody><body><geom type="mesh" mesh="here"/></body></worldbody></mujoco>'
    )
    (folder / "here.obj").write_text(MESH)
    scene, robot = folder / "scene.xml", folder / "robot.xml"
    scene.write_text('<mujoco><include file="robot.xml"/></mujoco>')
    for path in (robot, scene) if strip else (robot,):  # of the main file itself, or of a name without its path
        with pytest.raises(ValueError, match="Error opening"):
            mujoco.MjModel.from_xml_path(str(path))
        with pytest.raises(KinemaError, match="cannot open"):
            compile_model(path)
    if not strip:
        assert differences(compile_model(scene), mujoco.MjModel.from_xml_path(str(scene))) == {}


LINKED = {
    "include": '<include file="link/../part.xml"/>',
    "model": """<asset><model name="m" file="link/../part.xml"/></asset>
        <worldbody><attach model="m" body="b" prefix="p"/></worldbody>""",
    "mesh": '<compiler meshdir="link"/><include file="sub/deep/mesh.xml"/>',
}


@pytest.mark.parametrize("use", LINKED)
def test_a_folder_that_is_a_link_is_left_from_where_the_link_stands(tmp_path, use):
    """`link/../name` is beside the link, not beside the folder it points to, and comes before a file beside."""
    for name in ("far/deep", "sub/deep"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "deep")
    body = '<mujoco><worldbody><body name="b"><geom size="{}"/></body></worldbody></mujoco>'
    mesh = '<asset><mesh file="../part.obj"/></asset><worldbody><geom type="mesh" mesh="part"/></worldbody>'
    for name, text in (
        ("main.xml", f"<mujoco>{LINKED[use]}</mujoco>"), ("part.xml", body.format(1)), ("far/part.xml", body.format(2)),
        ("sub/deep/mesh.xml", f"<mujoco>{mesh}</mujoco>"), ("part.obj", MESH),
        ("sub/part.obj", MESH.replace("v 1", "v 2")),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
    path = tmp_path / "main.xml"
    assert differences(compile_model(path), mujoco.MjModel.from_xml_path(str(path))) == {}


@pytest.mark.parametrize("said", ["", 'model=""', 'model=" "', 'model="m"'])
def test_what_a_model_is_called(said):
    text = f"<mujoco {said}/>"
    theirs = mujoco.MjModel.from_xml_string(text)
    assert differences(compile_model(text), theirs) == {}
    child = {"child.xml": f'<mujoco {said}><worldbody><body name="b"/></worldbody></mujoco>'.encode()}
    name = mujoco.MjSpec.from_string(text).modelname
    whole = f"""<mujoco><asset><model file="child.xml"/></asset>
      <worldbody><attach model="{name}" body="b" prefix="p_"/></worldbody></mujoco>"""
    assert differences(compile_model(whole, assets=child), mujoco.MjModel.from_xml_string(whole, child)) == {}
