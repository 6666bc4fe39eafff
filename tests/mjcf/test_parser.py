"""From text to documents: errors that teach, includes, zip files, and XML that is not to be trusted."""

import io
import pathlib
import random
import time
import zipfile

import dm_control
import mujoco
import pytest

from kinema import mjcf
from kinema.errors import (
    BadValue,
    DocumentError,
    KinemaError,
    MissingFile,
    SyntaxProblem,
    UnknownAttribute,
    UnknownElement,
)

ASSETS = pathlib.Path(dm_control.__file__).parent / "mjcf" / "test_assets"

BAD = """<mujoco>
  <worldbody>
    <body name="torso">
      <geom name="g" {attribute}/>
      {child}
    </body>
  </worldbody>
</mujoco>"""


@pytest.mark.parametrize(
    ("fill", "kind", "builtin", "line", "path", "message"),
    [
        ({"attribute": 'sixe="1"'}, UnknownAttribute, AttributeError, 4, "body[torso]/geom[g]", "did you mean 'size'"),
        ({"attribute": 'size="1 2 3 4"'}, BadValue, ValueError, 4, "body[torso]/geom[g]", "no more than 3 entries"),
        ({"attribute": 'type="bal"'}, BadValue, ValueError, 4, "body[torso]/geom[g]", "Expect keyword to be one of"),
        ({"child": "<goem/>"}, UnknownElement, KeyError, 5, "body[torso]/goem", "did you mean 'geom'"),
        ({"child": '<geom name="g"/>'}, BadValue, ValueError, 5, "body[torso]/geom[g]", "Duplicated identifier 'g'"),
        ({"child": '<geom name="a/b"/>'}, BadValue, ValueError, 5, "body[torso]/geom[a/b]", "reserved for scoping"),
    ],
)
def test_errors_say_file_line_path_and_suggest(tmp_path, fill, kind, builtin, line, path, message):
    file = tmp_path / "robot.xml"
    file.write_text(BAD.format(**{"attribute": "", "child": ""} | fill))
    with pytest.raises(kind, match=message) as caught:
        mjcf.from_path(str(file))
    error = caught.value
    assert isinstance(error, builtin)
    assert (error.file, error.line, error.path) == (str(file), line, f"worldbody/{path}")
    assert f"Line {line}: error while parsing element <g" in str(error)
    assert str(error).startswith(f"{file}:{line}: worldbody/{path}: ")


def test_errors_of_later_edits_remember_the_file(tmp_path):
    file = tmp_path / "robot.xml"
    file.write_text(BAD.format(attribute="", child=""))
    model = mjcf.from_path(file)
    with pytest.raises(BadValue) as caught:
        model.find("geom", "g").size = "a lot"
    assert (caught.value.file, caught.value.line) == (str(file), 4)


def test_root_must_be_mujoco():
    with pytest.raises(ValueError, match=r"Root element of the XML should be <mujoco.\*>: got <robot>"):
        mjcf.from_xml_string("<robot/>")
    with pytest.raises(AttributeError, match="'modle' is not a valid attribute for <mujoco>; did you mean 'model'"):
        mjcf.from_xml_string('<mujoco modle="a"/>')
    assert mjcf.from_xml_string("<mujoco/>").model == "unnamed_model"


def test_sources(tmp_path):
    text = '<mujoco model="m"><!-- note --><?pi x?><worldbody><geom name="g" size="1"/></worldbody></mujoco>'
    file = tmp_path / "m.xml"
    file.write_text(text)
    models = [
        mjcf.from_xml_string(text),
        mjcf.from_xml_string(text.encode()),
        mjcf.from_path(file),
        mjcf.from_file(str(file)),
        mjcf.from_file(io.StringIO(text)),
        mjcf.from_file(file.open("rb")),
    ]
    assert all(model.is_same_as(models[0]) and model.model == "m" for model in models)
    with pytest.raises(OSError, match="cannot open.*nowhere.xml"):
        mjcf.from_path(tmp_path / "nowhere.xml")


def test_repeated_sections_merge():
    model = mjcf.from_xml_string(
        '<mujoco><worldbody><geom size="1"/></worldbody><option timestep="1"/><worldbody><geom size="2"/></worldbody>'
        '<default><geom margin="1"/></default><default><site group="1"/></default><option density="2"/></mujoco>'
    )
    assert len(model.worldbody.geom) == 2 and model.option.timestep == 1 and model.option.density == 2
    assert model.default.geom.margin == 1 and model.default.site.group == 1


def test_folders_may_come_after_the_files(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "a.stl").write_bytes(b"x")
    model = mjcf.from_xml_string(
        '<mujoco><asset><mesh file="a.stl"/></asset><compiler meshdir="m"/></mujoco>', model_dir=str(tmp_path)
    )
    assert model.asset.mesh["a"].file.contents == b"x"


def test_references_can_stay_names():
    text = '<mujoco><worldbody><body name="b"/></worldbody><contact><exclude body1="b" body2="c"/></contact></mujoco>'
    resolved, plain = mjcf.from_xml_string(text), mjcf.from_xml_string(text, resolve_references=False)
    assert resolved.contact.exclude[0].body1 is resolved.find("body", "b")
    assert resolved.contact.exclude[0].body2 == "c" and plain.contact.exclude[0].body1 == "b"


def test_separators_can_be_escaped():
    text = '<mujoco><custom><text name="a/b" data="x/y"/></custom></mujoco>'
    with pytest.raises(ValueError, match="reserved for scoping"):
        mjcf.from_xml_string(text)
    element = mjcf.from_xml_string(text, escape_separators=True).custom.text[0]
    assert element.name == "a\\b" and element.data == "x/y"


def test_written_documents_can_be_read_again():
    parent, child = mjcf.RootElement(model="p"), mjcf.RootElement(model="c")
    child.worldbody.add("body").add("geom", size=[1])
    parent.attach(child)
    again = mjcf.from_xml_string(parent.to_xml_string(), escape_separators=True)
    first = mujoco.MjModel.from_xml_string(parent.to_xml_string())
    second = mujoco.MjModel.from_xml_string(again.to_xml_string())
    assert first.nbody == second.nbody and (first.geom_size == second.geom_size).all()


# ---------------------------------------------------------------- includes


@pytest.fixture
def tree(tmp_path):
    def write(**files):
        for name, text in files.items():
            path = tmp_path / (name.replace("__", "/") + ".xml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"<mujoco>{text}</mujoco>")
        return tmp_path / "main.xml"

    return write


def sizes(path):
    model = mjcf.from_path(path)
    ours = [geom.size[0] for geom in model.find_all("geom")]
    theirs = mujoco.MjModel.from_xml_path(str(path)).geom_size[:, 0].tolist()
    assert ours == theirs
    return ours


def test_includes_at_any_depth(tree):
    main = tree(
        main='<include file="sub/a.xml"/><worldbody><body><include file="g.xml"/><geom size="2"/></body></worldbody>',
        sub__a='<worldbody><geom size="1"/></worldbody><include file="deep/b.xml"/>',
        sub__deep__b='<worldbody><geom size="4"/></worldbody>',
        g='<geom size="3"/>',
    )
    assert sorted(sizes(main)) == [1, 2, 3, 4]


def test_includes_are_relative_to_the_main_file_first(tree):
    main = tree(
        main='<include file="sub/a.xml"/>',
        sub__a='<include file="b.xml"/>',
        b='<worldbody><geom size="1"/></worldbody>',
        sub__b='<worldbody><geom size="2"/></worldbody>',
    )
    assert sizes(main) == [1]


def test_included_elements_keep_their_file_and_line(tree, tmp_path):
    main = tree(main='<include file="sub/a.xml"/>', sub__a='\n<worldbody>\n<geom name="g" size="1"/>\n</worldbody>')
    geom = mjcf.from_path(main).find("geom", "g")
    assert (geom.source_file, geom.source_line) == (str(tmp_path / "sub/a.xml"), 3)
    tree(sub__a='\n<worldbody>\n<geom sise="1"/>\n</worldbody>')
    with pytest.raises(UnknownAttribute) as caught:
        mjcf.from_path(main)
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "sub/a.xml"), 3)


@pytest.mark.parametrize(
    ("files", "kind", "message"),
    [
        ({"main": '<include file="a.xml"/>', "a": '<include file="main.xml"/>'}, SyntaxProblem, "already included"),
        ({"main": '<include file="a.xml"/>', "a": '<include file="a.xml"/>'}, SyntaxProblem, "already included"),
        (
            {"main": '<include file="a.xml"/><include file="a.xml"/>', "a": "<worldbody/>"},
            SyntaxProblem,
            "already included",
        ),
        ({"main": '<include file="gone.xml"/>'}, MissingFile, "cannot open 'gone.xml'"),
        ({"main": "<include/>"}, SyntaxProblem, "include needs a 'file'"),
        ({"main": '<include file="a.xml"><worldbody/></include>', "a": "<worldbody/>"}, SyntaxProblem, "children"),
        ({"main": '<include file="a.xml"/>', "a": ""}, SyntaxProblem, "is empty"),
    ],
)
def test_wrong_includes(tree, files, kind, message):
    main = tree(**files)
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_path(str(main))
    with pytest.raises(kind, match=message) as caught:
        mjcf.from_path(main)
    assert caught.value.line == 1 and caught.value.file.endswith(".xml")


def test_included_files_among_assets():
    text = '<mujoco><include file="part.xml"/></mujoco>'
    part = b'<mujoco><worldbody><geom size="1"/></worldbody></mujoco>'
    assert len(mjcf.from_xml_string(text, assets={"part.xml": part}).worldbody.geom) == 1
    with pytest.raises(OSError):
        mjcf.from_xml_string(text)


def test_files_of_included_files(tree, tmp_path):
    mesh = (ASSETS / "meshes" / "cube.stl").read_bytes()
    body = '<worldbody><geom type="mesh" mesh="c"/></worldbody>'
    main = tree(main='<include file="sub/a.xml"/>', sub__a=f'<asset><mesh name="c" file="cube.stl"/></asset>{body}')
    for place in ("cube.stl", "sub/cube.stl"):
        (tmp_path / place).write_bytes(mesh)
        assert mjcf.from_path(main).find("mesh", "c").file.contents == mesh
        mujoco.MjModel.from_xml_path(str(main))
        (tmp_path / place).unlink()


def test_models_that_hold_models(tree):
    inner = '<worldbody><body name="leg"><geom size="1"/></body></worldbody>'
    use = '<worldbody><body><attach model="m" body="{}" prefix="x_"/></body></worldbody>'
    main = tree(
        main='<asset><model name="m" file="sub/a.xml"/></asset>' + use.format("mid"),
        sub__a='<asset><model name="m" file="b.xml"/></asset>'
        + '<worldbody><body name="mid"><attach model="m" body="leg" prefix="y_"/></body></worldbody>',
        sub__b=inner,
    )
    model = mjcf.from_path(main)
    m = mujoco.MjModel.from_xml_string(model.to_xml_string(), model.get_assets())
    assert m.body("x_y_leg").id > 0 and len(model.get_assets()) == 2
    assert mujoco.MjModel.from_xml_path(str(main)).nbody == m.nbody


def test_a_model_may_not_hold_itself(tree):
    holds = '<asset><model name="m" file="{}.xml"/></asset>'
    main = tree(main=holds.format("a"), a=holds.format("main"))
    with pytest.raises(BadValue, match="model file '(a|main).xml' holds itself"):
        mjcf.from_path(main)


# ---------------------------------------------------------------- zip files


def test_zip(tmp_path):
    path = tmp_path / "model.zip"

    def write(**files):
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in files.items():
                archive.writestr(name.replace("__", "/").replace("_xml", ".xml").replace("_stl", ".stl"), text)

    write(robot__robot_xml='<mujoco><asset><mesh file="a.stl"/></asset></mujoco>', robot__a_stl="mesh")
    assert mjcf.from_zip(path).asset.mesh["a"].file.contents == b"mesh"
    write(a_xml="<mujoco/>", b_xml='<mujoco model="b"/>')
    assert mjcf.from_zip(path, model_file="b.xml").model == "b"
    with pytest.raises(ValueError, match="Multiple XML files found in .*none named model.xml"):
        mjcf.from_zip(path)
    write(a_stl="x")
    with pytest.raises(ValueError, match="No XML file found"):
        mjcf.from_zip(path)
    path.write_text("plain")
    with pytest.raises(ValueError, match="is not a zip file"):
        mjcf.from_zip(path)


def test_broken_zip_files(tmp_path, monkeypatch):
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.xml", "<mujoco>" + "<worldbody/>" * 50 + "</mujoco>")
    whole = path.read_bytes()
    assert mjcf.from_zip(path).model == "unnamed_model"
    chance = random.Random(0)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data)
        try:
            mjcf.from_zip(path)
        except KinemaError as error:
            assert str(error)
    monkeypatch.setattr("kinema.mjcf.parser.MAX_ZIP_BYTES", 100)
    path.write_bytes(whole)
    with pytest.raises(BadValue, match="more than the limit"):
        mjcf.from_zip(path)


# ---------------------------------------------------------------- untrusted text

LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><mujoco model="&b;"/>'
EXTERNAL = '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><mujoco model="&f;"/>'
PARAMETER = '<!DOCTYPE x [<!ENTITY % f SYSTEM "file:///etc/passwd">%f;]><mujoco/>'


@pytest.mark.parametrize("text", [LAUGHS, EXTERNAL, PARAMETER])
def test_entities_are_refused(text):
    with pytest.raises(SyntaxProblem, match="entit") as caught:
        mjcf.from_xml_string(text)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    "text",
    ["", " ", "<mujoco>", "<mujoco></mujoc>", "<mujoco a='1' a='2'/>", b"\xff\xfe<", "&amp;"]
    + [b"\x00" * 10, "<mujoco>\x00</mujoco>"],
)
def test_malformed_text_is_a_clear_error(text):
    with pytest.raises(SyntaxProblem, match="XML error"):
        mjcf.from_xml_string(text)


def test_depth_is_bounded():
    def nested(depth):
        return "<mujoco><worldbody>" + "<body>" * depth + "</body>" * depth + "</worldbody></mujoco>"

    assert len(mjcf.from_xml_string(nested(490)).find_all("body")) == 490
    with pytest.raises(SyntaxProblem, match="nested deeper than 500"):
        mjcf.from_xml_string(nested(100_000))


def test_size_is_bounded(monkeypatch):
    monkeypatch.setattr("kinema.mjcf.source.MAX_BYTES", 100)
    with pytest.raises(SyntaxProblem, match="larger than the limit"):
        mjcf.from_xml_string("<mujoco>" + " " * 200 + "</mujoco>")


def test_doctype_without_entities_is_fine():
    assert mjcf.from_xml_string('<!DOCTYPE mujoco><mujoco model="m"/>').model == "m"


def test_many_attributes_take_no_time():
    start = time.perf_counter()
    with pytest.raises(DocumentError):
        mjcf.from_xml_string("<mujoco>" + "".join(f'<x a{n}="1"/>' for n in range(20_000)) + "</mujoco>")
    assert time.perf_counter() - start < 5


def test_a_declaration_below_a_comment_is_told_where_to_go():
    with pytest.raises(SyntaxProblem, match=r"line 2: .*move the line <\?xml \.\.\.\?> to the top"):
        mjcf.from_xml_string('<!-- a licence -->\n<?xml version="1.0"?>\n<mujoco/>')
