"""A page without a browser: a session and its panel over a server on the loopback, moved by hand."""

import pytest

from tests.viewer.models import ARM

pytest.importorskip("viser", reason="viser is not installed: pip install 'kinema[view]'")


@pytest.fixture(scope="session")
def arm_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM, encoding="utf-8")
    return path


@pytest.fixture
def open_viewer():
    """Opens viewers that are closed at the end of the test; nothing runs unless asked to."""
    from kinema.viewer import view

    opened = []

    def open_one(source, **options):
        options = {"port": 0, "open_browser": False, "run": False, "block": False} | options
        opened.append(view(source, **options))
        return opened[-1]

    yield open_one
    for viewer in opened:
        viewer.close()
