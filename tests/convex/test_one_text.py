"""Cone maths, the line search and the rule that ends a solve stand in one native text each, whatever includes them."""

from importlib.resources import files

import pytest

FOLDER = files("kinema.convex.solve")
TEXTS = {
    "1.0f + mu * mu": "cone.cpp",  # the stiffness of a cone
    "mu * N + T <= 0.0f ||": "cone.cpp",  # its zones
    "0.5f * bound": "cone.cpp",  # friction loss
    "ls_iterations": "line_search.cpp",
    "ls_tolerance": "line_search.cpp",
    "- 1.0f) < 1e-3f": "line_search.cpp",  # a full step
}


@pytest.mark.parametrize("text", TEXTS)
def test_stands_once(text):
    owners = {path.name for path in FOLDER.iterdir() if path.name.endswith(".cpp") and text in path.read_text("utf-8")}
    assert owners == {TEXTS[text]}


@pytest.mark.parametrize("solver", ["primal.cpp", "island.cpp"])
def test_both_paths_of_newton_search_alike(solver):
    text = FOLDER.joinpath(solver).read_text("utf-8")
    for part in ('#include "line_search.cpp"', "= line_search(", "is_flat(", "is_minimum("):
        assert text.count(part) == 1, part
