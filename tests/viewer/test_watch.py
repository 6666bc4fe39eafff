"""Which files a model is made of, and when they change."""

import os

from kinema.viewer.watch import Watch, files_of


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def model(tmp_path):
    main = write(
        tmp_path / "main.xml",
        '<mujoco><compiler meshdir="meshes"/><include file="sub/arm.xml"/>'
        '<asset><mesh file="a.stl"/><texture fileup="up.png"/><model name="m" file="other.xml"/></asset></mujoco>',
    )
    arm = write(tmp_path / "sub" / "arm.xml", '<mujocoinclude><asset><hfield file="h.png"/></asset></mujocoinclude>')
    other = write(tmp_path / "other.xml", '<mujoco><asset><mesh file="b.stl"/></asset></mujoco>')
    files = [write(tmp_path / name, "x") for name in ("meshes/a.stl", "up.png", "sub/h.png", "meshes/b.stl")]
    write(tmp_path / "unused.xml", "<mujoco/>")
    return main, {main, arm, other, *files}


def test_files(tmp_path):
    main, want = model(tmp_path)
    assert {path.resolve() for path in files_of(main)} == {path.resolve() for path in want}


def test_changes_are_told_once(tmp_path):
    main, files = model(tmp_path)
    watch = Watch(main)
    assert not watch.changed()
    for path in files:
        stat = path.stat()
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10_000_000))
        assert watch.changed(), path
        assert not watch.changed()


def test_a_broken_document_is_watched_on(tmp_path):
    main, _ = model(tmp_path)
    text = main.read_text()
    watch = Watch(main)
    write(main, "<mujoco><broken")
    assert watch.changed()
    write(tmp_path / "meshes" / "a.stl", "longer than before")
    assert watch.changed()
    main.unlink()
    assert watch.changed()
    write(main, text)
    assert watch.changed()
    assert not watch.changed()


def test_a_document_that_names_itself(tmp_path):
    main = write(tmp_path / "loop.xml", '<mujoco><include file="loop.xml"/></mujoco>')
    assert {path.resolve() for path in files_of(main)} == {main.resolve()}
