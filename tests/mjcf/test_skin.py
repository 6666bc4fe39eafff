"""Skin files: parsed and written back to the same bytes; broken ones are clear errors."""

import pathlib

import dm_control
import pytest

from kinema.mjcf import skin

FILE = pathlib.Path(dm_control.__file__).parent / "mjcf/test_assets/skins/test_skin.skn"


class Body:
    def __init__(self, name):
        self.full_identifier = name


def test_round_trip():
    contents = FILE.read_bytes()
    parsed = skin.parse(contents, Body)
    assert skin.serialize(parsed) == contents
    assert parsed.vertices.shape[1] == 3 and parsed.faces.max() < len(parsed.vertices)
    assert all(len(bone.vertex_ids) == len(bone.vertex_weights) for bone in parsed.bones)


@pytest.mark.parametrize("size", [0, 3, 16, 100])
def test_truncated_files(size):
    with pytest.raises(ValueError, match="skin file ends at byte"):
        skin.parse(FILE.read_bytes()[:size], Body)


def test_names_are_limited():
    parsed = skin.parse(FILE.read_bytes(), lambda name: Body("x" * 41))
    with pytest.raises(ValueError, match=r"longer than permitted by the skin file format \(maximum 40\)"):
        skin.serialize(parsed)
