"""Every message that docs/troubleshooting.md explains is one that Kinema can give."""

import ast
import re

import numpy as np
import pytest

from tests.docs.pages import ROOT

GAP = "\0"
PAGE = ROOT / "docs/troubleshooting.md"
MESSAGES = re.findall(r"^### `(.+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
NUMPYS = "assignment destination is read-only"
PUT_TOGETHER = {
    "attribute … of <…>: invalid keyword …, expected one of …",
    "… is computed: it cannot be assigned",
    "…: an array of shape … does not fit …: to let worlds differ, call sim.expand(…) first",
    "world …: state is not finite",
    "world …: a control is not finite",
    "world …: contact list is full",
    "world …: plugin … (instance …) gave a number that is not finite",
}
"""Messages whose parts stand in different places of the source."""


def written_messages() -> list[str]:
    """All texts in the source, with a gap where something is put in."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else GAP for part in node.values]
                found.append("".join(parts))
    return found


@pytest.fixture(scope="module")
def written() -> list[str]:
    return written_messages()


def test_there_are_messages():
    assert len(MESSAGES) > 30 and len(set(MESSAGES)) == len(MESSAGES)


@pytest.mark.parametrize("message", [message for message in MESSAGES if message != NUMPYS])
def test_message_is_in_the_source(message, written):
    if message in PUT_TOGETHER:
        parts = [part.strip() for part in re.split("…|: ", message) if part.strip(" <>,():")]
        missing = [part for part in parts if not any(part in text for text in written)]
        assert not missing, missing
        return
    parts = [re.escape(part) for part in message.split("…") if part]
    pattern = re.compile(".*".join(parts), re.DOTALL)
    assert any(pattern.search(text) for text in written), message


def test_message_of_numpy():
    array = np.zeros(2)
    array.flags.writeable = False
    with pytest.raises(ValueError, match=NUMPYS):
        array[0] = 1
