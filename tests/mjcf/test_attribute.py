"""Values of attributes: what may be set, what is read back, what is written."""

import hashlib

import numpy as np
import pytest

from kinema import mjcf
from kinema.errors import BadValue, DocumentError, UnknownAttribute


@pytest.fixture
def root():
    return mjcf.RootElement(model="test")


@pytest.fixture
def geom(root):
    return root.worldbody.add("geom", name="ball")


def test_float(geom):
    geom.mass = "2.5"
    assert geom.mass == 2.5 and isinstance(geom.mass, float)
    geom.mass = np.float32(3)
    assert geom.mass == 3.0
    with pytest.raises(ValueError, match="Expect a float value: got heavy"):
        geom.mass = "heavy"
    with pytest.raises(ValueError, match="Expect a float value"):
        geom.mass = [1, 2]
    assert geom.mass == 3.0


def test_integer(geom):
    for value in (3, 3.0, "3", "3.0"):
        geom.condim = value
        assert geom.condim == 3 and isinstance(geom.condim, int)
    for value in (3.5, "many", float("inf"), None.__class__):
        with pytest.raises(ValueError, match="Expect an integer value"):
            geom.condim = value


def test_keyword_takes_any_case_and_booleans(geom, root):
    geom.type = "BOX"
    assert geom.type == "box"
    geom.shellinertia = True
    assert geom.shellinertia == "true"
    root.option.integrator = "rk4"
    assert root.option.integrator == "RK4"
    with pytest.raises(ValueError, match=r"Expect keyword to be one of \['plane'.*got: spheer.*did you mean 'sphere'"):
        geom.type = "spheer"
    geom.type = ""
    assert geom.type is None


def test_array(geom):
    given = np.array([1.0, 2.0, 3.0])
    geom.pos = given
    given[0] = 9
    np.testing.assert_array_equal(geom.pos, [1, 2, 3])
    geom.pos = "4 5 6"
    np.testing.assert_array_equal(geom.pos, [4, 5, 6])
    geom.size = 0.5
    np.testing.assert_array_equal(geom.size, [0.5])
    geom.pos = [1, 2]
    assert len(geom.pos) == 2
    for value, message in [
        ([1, 2, 3, 4], "no more than 3 entries"),
        (np.zeros((2, 2)), "one-dimensional array"),
        ("left", "array of numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            geom.pos = value
    assert len(geom.pos) == 2


def test_integer_array_is_not_truncated(root):
    root.compiler.inertiagrouprange = [0, 3]
    assert root.compiler.inertiagrouprange.dtype.kind == "i"
    with pytest.raises(ValueError, match="array of integers"):
        root.compiler.inertiagrouprange = [0, 2.5]


def test_string(root):
    with pytest.raises(ValueError, match="Expect a string value: got 5"):
        root.size.memory = 5


def test_clearing(geom):
    for clear in (lambda: delattr(geom, "pos"), lambda: setattr(geom, "pos", None), lambda: setattr(geom, "pos", "")):
        geom.pos = [1, 2, 3]
        clear()
        assert geom.pos is None and "pos" not in geom.get_attributes()


def test_required_attribute_cannot_be_cleared(root):
    inertial = root.worldbody.add("body").add("inertial", mass=1, pos=[0, 0, 0])
    with pytest.raises(AttributeError, match="Attribute 'mass' of element <inertial> is required"):
        del inertial.mass
    with pytest.raises(AttributeError, match="during initialization of attribute 'pos'.*is required"):
        root.worldbody.add("body").add("inertial", mass=1)
    assert inertial.mass == 1


def test_identifier_rules(root):
    root.worldbody.add("body", name="torso")
    other = root.worldbody.add("body", name="other")
    with pytest.raises(ValueError, match="Duplicated identifier 'torso' in namespace <body>"):
        other.name = "torso"
    assert other.name == "other"
    with pytest.raises(ValueError, match="reserved for scoping"):
        other.name = "a/b"
    with pytest.raises(ValueError, match="cannot be named 'world'"):
        other.name = "world"
    root.worldbody.add("geom", name="torso")
    root.actuator.add("motor", name="m", joint="j")
    with pytest.raises(ValueError, match="Duplicated identifier 'm' in namespace <actuator>"):
        root.actuator.add("position", name="m", joint="j")
    other.name = "renamed"
    assert root.find("body", "other") is None and root.find("body", "renamed") is other


def test_reference_follows_the_element(root):
    body = root.worldbody.add("body", name="arm")
    joint = body.add("joint", name="elbow")
    motor = root.actuator.add("motor", joint=joint)
    joint.name = "wrist"
    assert motor.joint is joint and motor.get_attribute_xml_string("joint") == "wrist"
    with pytest.raises(ValueError, match="whose type is 'joint': got 'body'"):
        motor.joint = body
    with pytest.raises(ValueError, match="Expect a string or `mjcf.Element` value"):
        motor.joint = 5
    motor.joint = np.array("by_name")
    assert motor.joint == "by_name"
    motor.joint = joint
    joint.remove()
    assert motor.joint is None
    assert "joint=" not in motor.to_xml_string()


def test_reference_whose_kind_another_attribute_says(root):
    body = root.worldbody.add("body", name="arm")
    site = body.add("site", name="tip")
    sensor = root.sensor.add("framepos", objtype="xbody", objname=body)
    with pytest.raises(ValueError, match="whose type is 'body': got 'site'"):
        sensor.objname = site
    body.remove()
    # A required reference whose target is gone reads as None rather than raising.
    assert sensor.objname is None and sensor.objtype is None


def test_reference_to_the_worldbody(root):
    weld = root.equality.add("weld", body1=root.worldbody)
    assert weld.get_attribute_xml_string("body1") == "world"


def test_numbers_are_written_exactly(geom):
    geom.pos = [0.1, 1e-20, 1 / 3]
    assert geom.get_attribute_xml_string("pos") == "0.10000000000000001 9.9999999999999995e-21 0.33333333333333331"
    assert geom.get_attribute_xml_string("pos", precision=3) == "0.1 1e-20 0.333"
    assert geom.get_attribute_xml_string("pos", zero_threshold=1e-10).split()[1] == "0"
    with np.printoptions(precision=2):
        assert np.array_equal(np.array(geom.get_attribute_xml_string("pos").split(), float), geom.pos)
    geom.mass = 1e-12
    assert geom.get_attribute_xml_string("mass", zero_threshold=1e-6) == "0"


def test_assets_are_named_by_content(root):
    contents = b"picture"
    digest = hashlib.sha1(contents).hexdigest()
    plain = mjcf.Asset(contents, ".png")
    named = mjcf.Asset(contents, ".png", prefix="wood")
    assert plain.get_vfs_filename() == f"{digest}.png"
    assert named.get_vfs_filename() == f"wood-{digest}.png"
    assert named.get_vfs_filename(filename_with_hash=False) == "wood.png"
    assert plain == mjcf.Asset(contents, ".png") and plain != named
    assert len(mjcf.Asset(contents, ".png", prefix="x" * 2000).get_vfs_filename()) == 998
    texture = root.asset.add("texture", name="t", file=named)
    assert texture.file is named
    assert root.get_assets() == {named.get_vfs_filename(): contents}
    assert {file.value for file in root.namescope.files} == {named}
    texture.file = None
    assert root.get_assets() == {}
    with pytest.raises(ValueError, match="Expect either a string or `Asset` value"):
        texture.file = 5


def test_asset_contents_can_change(root):
    asset = mjcf.Asset(b"one", ".png")
    before = asset.get_vfs_filename()
    asset.contents = b"two"
    assert asset.get_vfs_filename() != before


def test_mesh_files(root, tmp_path):
    (tmp_path / "a.ply").write_bytes(b"x")
    model = mjcf.RootElement(model_dir=str(tmp_path))
    with pytest.raises(ValueError, match=r"Mesh files must have one of .*got \.ply"):
        model.asset.add("mesh", file="a.ply")
    with pytest.raises(OSError, match="cannot open.*missing.stl"):
        model.asset.add("mesh", file="missing.stl")
    assert not model.asset.mesh


@pytest.mark.parametrize(
    ("folders", "path"),
    [({"meshdir": "m"}, "m/a.stl"), ({"assetdir": "s"}, "s/a.stl"), ({"meshdir": "m", "assetdir": "s"}, "m/a.stl")],
)
def test_folders_of_files(tmp_path, folders, path):
    (tmp_path / path).parent.mkdir()
    (tmp_path / path).write_bytes(b"mesh")
    model = mjcf.RootElement(model_dir=str(tmp_path))
    model.compiler.set_attributes(**folders)
    assert model.asset.add("mesh", file="a.stl").file.contents == b"mesh"
    assert model.asset.mesh[0].name == "a"
    assert "dir" not in model.to_xml_string()
    given = mjcf.RootElement(assets={path: b"given"})
    given.compiler.set_attributes(**folders)
    assert given.asset.add("mesh", file="a.stl").file.contents == b"given"


def test_unknown_attributes_suggest_the_nearest(root, geom):
    with pytest.raises(UnknownAttribute, match="object has no attribute: fricton; did you mean 'friction'"):
        geom.fricton  # noqa: B018
    with pytest.raises(AttributeError, match="can't set attribute: fricton; did you mean 'friction'"):
        geom.fricton = 1
    with pytest.raises(AttributeError, match="'fricton' is not a valid attribute for <geom>; did you mean 'friction'"):
        root.worldbody.add("geom", fricton=1)
    assert not hasattr(geom, "fricton")


def test_set_attributes_is_all_or_nothing(root, geom):
    geom.set_attributes(pos=[1, 1, 1], type="box")
    with pytest.raises(ValueError, match="during assignment to attribute 'pos' of element <geom>: .*no more than 3"):
        geom.set_attributes(name="other", type="sphere", pos=[1, 2, 3, 4])
    assert geom.name == "ball" and geom.type == "box" and root.find("geom", "other") is None
    geom.set_attributes(dclass="soft")
    assert geom.dclass == "soft" and getattr(geom, "class") == "soft"


def test_errors_of_attributes_are_of_one_tree(geom):
    with pytest.raises(DocumentError) as caught:
        geom.pos = "x"
    assert isinstance(caught.value, BadValue) and caught.value.path == "worldbody/geom[ball]"


def test_a_document_has_the_shortest_numbers_that_are_the_same():
    rng = np.random.default_rng(0)
    sizes = [0.1, 1 / 3, 1e-20, 123456789.0, 5e300, *rng.normal(size=20) * 10.0 ** rng.integers(-9, 9, size=20)]
    root = mjcf.RootElement()
    for size in sizes:
        root.worldbody.add("site", size=[size], pos=[0.1, np.float64(0.2), 1.0])
    text = root.to_xml_string()
    assert 'pos="0.1 0.2 1"' in text and "0.10000000000000001" not in text
    again = mjcf.from_xml_string(text, escape_separators=True)
    assert [site.size[0] for site in again.worldbody.site] == sizes
    assert "0.10000000000000001" in root.to_xml_string(precision=17)
    assert "0.10000000000000001" in root.worldbody.site[0].to_xml_string()
