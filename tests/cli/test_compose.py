"""kinema compose: what it writes is what MuJoCo reads, and what attaching in Python gives."""

import zipfile

import mujoco
import numpy as np
import pytest

from kinema import mjcf


def test_attach_at_a_site(kinema, arm, hand, tmp_path):
    out = tmp_path / "out" / "both.xml"
    code, _, err = kinema("compose", arm, "--attach", f"{hand}@wrist", "--prefix", "left", "-o", out)
    assert code == 0 and f"wrote {out}" in err
    m = mujoco.MjModel.from_xml_path(str(out))
    body = m.body("left/palm")
    assert m.body(body.parentid[0]).name == "left/"
    assert m.body(m.body("left/").parentid[0]).name == "lower"
    np.testing.assert_allclose(m.body("left/").pos, [0.3, 0, 0])
    assert m.joint("left/turn").id >= 0


def test_standard_output_is_the_document(kinema, arm, hand):
    code, out, err = kinema("compose", arm, "--attach", f"{hand}@wrist", "--name", "both")
    expected = mjcf.from_path(arm)
    expected.model = "both"
    expected.find("site", "wrist").attach(mjcf.from_path(hand))
    assert code == 0 and err == ""
    assert out.strip() == expected.to_xml_string().strip()


def test_several_free_ones(kinema, arm, tmp_path):
    ball = tmp_path / "ball.xml"
    ball.write_text('<mujoco model="ball"><worldbody><geom name="ball" size=".1"/></worldbody></mujoco>')
    first = ("--attach", ball, "--pos", 0, 0, 2, "--free")
    code, out, _ = kinema("compose", arm, *first, "--attach", ball, "--prefix", "b", "--euler", 0, 0, 90)
    m = mujoco.MjModel.from_xml_string(out)
    assert code == 0
    np.testing.assert_allclose(m.body("ball/").pos, [0, 0, 2])
    assert m.jnt_type[m.body("ball/").jntadr[0]] == mujoco.mjtJoint.mjJNT_FREE
    assert m.body("b/").jntnum[0] == 0
    np.testing.assert_allclose(m.body("b/").quat, [np.sqrt(0.5), 0, 0, np.sqrt(0.5)], atol=1e-12)


def test_euler_is_about_the_moving_axes(kinema, arm, hand):
    out = kinema("compose", arm, "--attach", hand, "--euler", "30", "40", "50")[1]
    wanted = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body euler="30 40 50"><geom size="1"/></body></worldbody></mujoco>'
    )
    np.testing.assert_allclose(mujoco.MjModel.from_xml_string(out).body("hand/").quat, wanted.body_quat[1], atol=1e-12)


def test_a_zip_holds_all_files(kinema, arm, tmp_path):
    cube = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "cube.obj").write_text(cube)
    thing = tmp_path / "thing.xml"
    thing.write_text(
        '<mujoco model="thing"><asset><mesh name="cube" file="cube.obj"/></asset>'
        '<worldbody><geom type="mesh" mesh="cube"/></worldbody></mujoco>'
    )
    out = tmp_path / "all.zip"
    assert kinema("compose", arm, "--attach", f"{thing}@wrist", "-o", out)[0] == 0
    with zipfile.ZipFile(out) as archive:
        assert sum(name.endswith(".obj") for name in archive.namelist()) == 1
    code, text, _ = kinema("info", out, "--json")
    assert code == 0 and '"nmesh": 1' in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--attach", "{hand}@wirst"], "did you mean 'wrist'?"),
        (["--attach", "{hand}@wrist", "--free"], "--free works only for what hangs from the world"),
        (["--attach", "absent.xml"], "there is no such file"),
        (["-o", "out.txt"], ".xml or a .zip"),
    ],
)
def test_mistakes(kinema, arm, hand, words, said):
    code, out, err = kinema("compose", arm, *(word.format(hand=hand) for word in words))
    assert code == 2 and said in err and out == ""


@pytest.fixture
def two_meshes(tmp_path):
    """Two models, each with a mesh in a file called the same."""
    for k, name in enumerate(("one", "two")):
        folder = tmp_path / name
        folder.mkdir()
        cube = f"v 0 0 0\nv {k + 1} 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
        (folder / "cube.obj").write_text(cube)
        (folder / f"{name}.obj").write_text(cube)
        (folder / f"{name}.xml").write_text(
            f'<mujoco model="{name}"><asset><mesh name="cube" file="cube.obj"/>'
            f'<mesh name="own" file="{name}.obj"/></asset>'
            '<worldbody><body><geom type="mesh" mesh="cube"/><geom type="mesh" mesh="own"/></body></worldbody></mujoco>'
        )
    return tmp_path / "one" / "one.xml", tmp_path / "two" / "two.xml"


@pytest.mark.parametrize("flat", [False, True])
def test_every_file_that_is_written_is_named(kinema, two_meshes, tmp_path, flat):
    one, two = two_meshes
    out = tmp_path / "out" / "both.xml"
    code, _, err = kinema("compose", one, "--attach", two, "-o", out, *(["--flat"] if flat else []))
    written = sorted(path for path in out.parent.rglob("*") if path.is_file())
    assert code == 0 and sorted(err.splitlines()) == sorted(f"wrote {path}" for path in written)
    assert len(written) == 5 and {path.parent for path in written} == (
        {out.parent} if flat else {out.parent, out.parent / "both_assets"}
    )
    assert {"one.obj", "two.obj"} <= {path.name for path in written}  # no hash where none is needed
    assert mujoco.MjModel.from_xml_path(str(out)).nmesh == 4


def test_zip_by_option(kinema, two_meshes, tmp_path):
    from kinema.compile import compile_model

    one, two = two_meshes
    code, _, err = kinema("compose", one, "--attach", two, "--zip", "-o", tmp_path / "both.xml")
    with zipfile.ZipFile(tmp_path / "both.zip") as archive:
        names = archive.namelist()
    assert code == 0 and len(names) == 5 and all(name in err for name in names)
    assert compile_model(tmp_path / "both.zip").nmesh == 4
