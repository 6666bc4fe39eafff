"""The README's example runs as printed, and says what the README says it does."""

import contextlib
import io
import re
from pathlib import Path


def test_the_example_gives_the_printed_output():
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(?P<code>.*?)```\n\n(?P<output>(?:    [^\n]+\n)+)", text, re.DOTALL)
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        exec(compile(found["code"], "README.md", "exec"), {})
    expected = [line.strip() for line in found["output"].strip().splitlines()]
    assert heard.getvalue().strip().splitlines()[-len(expected) :] == expected
