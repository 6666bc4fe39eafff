"""The page in a real Chromium: nothing from elsewhere, colours, sliders, scrubbing, and a recording from disk.

A test acts, waits until the page or the session says that it was done, and only then acts again; no outcome depends on
how long anything takes. A page says that it is connected and has its panel by the panel's status line, which then tells
the frame that is shown and the body that is pulled; the session tells what it was asked for. Software rendering on a
loaded machine is slow, so there is one browser, a small window, and much patience, which only a failure uses up.
"""

import io
import os
import shutil
import time

import numpy as np
import pytest

from kinema.simulation import Simulation
from kinema.viewer import write_html
from tests.viewer.models import ARM

PATIENCE = 120
TOP = 140
SIZE = {"width": 520, "height": 340}
CHROMIUM = next((path for path in ("/usr/bin/chromium", "/usr/bin/chromium-browser") if os.path.exists(path)), None)
CHROMIUM = CHROMIUM or shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (Debian: apt-get install chromium)"),
    pytest.mark.slow,
]
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


class Tab:
    """A page and all it asked for, said and got wrong."""

    def __init__(self, browser):
        self.width = 250  # the panel begins here
        self.page = browser.new_page(viewport=SIZE)
        self.page.set_default_timeout(1000 * PATIENCE)
        self.requests, self.errors, self.said = [], [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.said.append(message.text))

    def picture(self) -> np.ndarray:
        """The 3D view, left of the panel, as (height, width, 3)."""
        from PIL import Image

        data = self.page.screenshot(
            clip={"x": 0, "y": TOP, "width": self.width, "height": self.page.viewport_size["height"] - TOP}
        )
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)

    def wait_for(self, seen, what: str) -> np.ndarray:
        """The first picture in which something is seen."""
        until = time.time() + PATIENCE
        while time.time() < until:
            picture = self.picture()
            if seen(picture):
                return picture
            time.sleep(0.2)
        raise AssertionError(f"not seen: {what}; red {red(picture).sum()}, errors {self.errors}, said {self.said[-5:]}")

    def open(self, viewer) -> np.ndarray:
        """Open a viewer's page; the first picture with all of the arm, when the panel is there and connected."""
        self.page.goto(viewer.url)
        self.reads("t = 0.00 s")
        return self.wait_for(all_there, "a red, a green and a blue thing")

    def reads(self, text: str) -> None:
        """Wait until the panel's status line says something."""
        self.page.get_by_text(text).first.wait_for()

    def type(self, label: str, value) -> None:
        """Type a value into the field of a slider."""
        field = self.page.locator(f"xpath=//label[.='{label}']/following::input[not(@type='hidden')][1]")
        field.fill(str(value))
        field.press("Enter")


def wait_until(done, what: str) -> None:
    until = time.time() + PATIENCE
    while not done():
        assert time.time() < until, f"did not happen: {what}"
        time.sleep(0.1)


def red(picture):
    r, g, b = np.moveaxis(picture, -1, 0)
    return (r > 90) & (r > 2 * g) & (r > 2 * b)


def green(picture):
    r, g, b = np.moveaxis(picture, -1, 0)
    return (g > 90) & (g > 2 * r) & (g > 2 * b)


def blue(picture):
    r, g, b = np.moveaxis(picture, -1, 0)
    return (b > 90) & (b > 2 * r) & (b > 2 * g)


def middle(mask) -> float:
    """Mean row of the pixels of a mask."""
    return float(np.nonzero(mask)[0].mean())


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def tab(browser):
    tab = Tab(browser)
    yield tab
    tab.page.close()


def aim(viewer):
    """A camera that has the arm where neither the panel nor a notice covers it: left and below."""
    viewer.session.options.shadows = False  # half of what a picture costs in software
    viewer.session.stage.light()
    viewer.server.initial_camera.position = (1.6, -4.5, 1.7)
    viewer.server.initial_camera.look_at = (1.6, 0.0, 1.4)


def all_there(picture):
    return red(picture).sum() > 60 and green(picture).sum() > 60 and blue(picture).sum() > 60


def test_page(tab, open_viewer):
    """Loads from this machine alone, without an error; shapes and colours are there; sliders move the simulation."""
    sim = Simulation(ARM, threads=1)
    viewer = open_viewer(sim, run=True, paused=True)
    aim(viewer)
    before = tab.open(viewer)
    assert tab.errors == []
    assert any("Connected!" in line for line in tab.said)
    assert tab.requests and all(url.startswith((viewer.url, f"blob:{viewer.url}", "data:")) for url in tab.requests), (
        tab.requests
    )
    assert red(before).sum() < 0.3 * before[..., 0].size  # a thing, not the whole view

    tab.page.get_by_text("Move", exact=True).click()
    tab.type("shoulder", -1)
    wait_until(lambda: abs(float(sim.d.qpos[0, 0]) + 1.0) < 0.01, "the shoulder at -1 rad")
    height = middle(blue(before))
    tab.wait_for(lambda p: blue(p).sum() > 20 and middle(blue(p)) < height - 10, "the fore arm, raised")
    pull_up(tab, viewer, *(int(v.mean()) for v in np.nonzero(green(before))))
    assert tab.errors == []


def pull_up(tab, viewer, row: int, column: int) -> None:
    """Pull the green ball up, with Control held.

    A browser merges moves of the mouse that come faster than it draws, and the move that makes a press a drag says
    where it began and nothing else. So the next move is made when the session has taken hold.
    """
    session, mouse = viewer.session, tab.page.mouse
    body = session.sim.model.id("body", "post")
    tab.page.keyboard.down("Control")
    mouse.move(column, row + TOP)
    mouse.down()
    mouse.move(column, row + TOP - 10)
    wait_until(lambda: session.grip is not None, "a grip on the ball")
    assert (session.grip.world, session.grip.body) == (0, body)
    tab.reads("pulling post")
    raised = session.sim.d.xpos[0, body, 2] + 0.2
    mouse.move(column, row + TOP - 30)
    wait_until(lambda: session.grip.target[2] > raised, "the pull upwards")
    mouse.up()
    tab.page.keyboard.up("Control")
    wait_until(lambda: session.grip is None, "letting go")
    tab.reads("body post")


def test_scrubbing_changes_the_picture(tab, open_viewer):
    sim = Simulation(ARM, threads=1)
    sim.record(every=4)
    sim.step(60)
    recording = sim.stop_recording()
    viewer = open_viewer(recording, run=True)
    aim(viewer)
    before = tab.open(viewer)
    last = len(recording) - 1
    tab.type("Frame", last)
    tab.reads(f"frame {last} of {len(recording)}")
    assert viewer.session.timeline.at == last
    height = middle(blue(before))
    tab.wait_for(lambda p: blue(p).sum() > 20 and middle(blue(p)) > height + 10, "the fore arm, fallen")
    assert tab.errors == []


def test_a_recording_plays_from_disk(tab, tmp_path):
    sim = Simulation(ARM, threads=1)
    sim.record(every=4)
    sim.step(120)
    path = write_html(sim.stop_recording(), tmp_path / "run.html")
    tab.width = SIZE["width"]
    tab.page.goto(path.as_uri())
    first = tab.wait_for(lambda p: blue(p).sum() > 30, "the fore arm")
    height = middle(blue(first))
    tab.wait_for(lambda p: blue(p).sum() > 10 and abs(middle(blue(p)) - height) > 8, "the fore arm, moving")
    assert tab.errors == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in tab.requests), tab.requests
