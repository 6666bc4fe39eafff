"""Every message that docs/troubleshooting.md explains is one that Kinema can give."""

import ast
import re

import numpy as np
import pytest

from kinema import Simulation
from kinema.errors import KinemaError
from tests.docs.pages import ROOT, blocks

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


ARM = next(block.text for block in blocks(ROOT / "docs/first-model.md") if block.title == "arm.xml")


def arm(old: str, new: str) -> str:
    assert old in ARM
    return ARM.replace(old, new)


def model(section: str) -> str:
    return f"<mujoco>{section}</mujoco>"


DOCUMENTS = {
    "cannot open …: there is no such file…": "no_such_file.xml",
    "XML error: …": arm("</mujoco>", ""),
    "<…> is not a valid child of <…>…": arm('<geom name="upper"', '<gem name="upper"'),
    "… is not a valid attribute for <…>…": arm('damping="0.5"', 'dampin="0.5"'),
    "attribute … of <…>: invalid keyword …, expected one of …": arm('type="capsule"', 'type="capsul"'),
    "unknown … …": arm('joint="elbow" kp', 'joint="elbo" kp'),
    "repeated name … in …": arm('body name="fore"', 'body name="upper"'),
    "mass and inertia of moving bodies must be larger than mjMINVAL; give it a geom or <inertial>": model(
        "<worldbody><body><freejoint/></body></worldbody>"
    ),
    "plugin … not found…": model('<extension><plugin plugin="mujoco.pidd"/></extension>'),
    "cannot open …: the scheme … may reach the network and is not allowed; …": model(
        '<asset><mesh file="https://example.org/a.obj"/></asset>'
    ),
    "… is not simulated: …": model('<option integrator="discrete"><flag ipc="enable"/></option>'),
    "no decoder found for … … (…); readable are: …": model(
        '<asset><mesh file="data:text/plain,abc" name="a"/></asset>'
    ),
}
"""Messages, and documents that bring them about."""

CALLS = {
    "no … named …": lambda sim: sim.joint("elbo"),
    "a … has no field …": lambda sim: sim.joint("elbow").qps,
    "… is computed…: it cannot be assigned…": lambda sim: setattr(sim.joint("elbow"), "xanchor", 1),
    "…: an array of shape … does not fit … or …": lambda sim: setattr(sim.d, "ctrl", [1, 2, 3]),
    "…: an array of shape … does not fit …: to let worlds differ, call sim.expand(…) first": lambda sim: setattr(
        sim.body("fore"), "mass", [[1.0], [2.0], [3.0]]
    ),
    "m.… cannot be written while running…": lambda sim: setattr(sim.m, "nq", 1),
    "assignment destination is read-only": lambda sim: np.copyto(sim.d.qpos, 1),
    "m.….… is fixed when the simulation is made…": lambda sim: setattr(sim.m.opt, "solver", 1),
    "a Simulation has no attribute …": lambda sim: setattr(sim, "crtl", 1),
    "…=…: expected a whole number, … or more": lambda sim: sim.step(-1),
    "… is no parameter that may differ per world…": lambda sim: sim.expand("nq"),
    "mask of shape …: expected one boolean a world, (…,)": lambda sim: sim.reset([True, False]),
    "nothing is being recorded: call record() first": lambda sim: sim.stop_recording(),
}
"""Messages, and calls on a simulation of three worlds that bring them about."""


def as_pattern(message: str) -> str:
    assert message in MESSAGES
    return ".*".join(re.escape(part) for part in message.split("…"))


@pytest.mark.parametrize("message", DOCUMENTS)
def test_message_of_a_document(message):
    with pytest.raises(KinemaError) as error:
        Simulation(DOCUMENTS[message])
    assert re.search(as_pattern(message), str(error.value)), str(error.value)


@pytest.fixture(scope="module")
def sim() -> Simulation:
    return Simulation(ARM, worlds=3, device="cpu")


@pytest.mark.parametrize("message", CALLS)
def test_message_of_a_call(message, sim):
    with pytest.raises((KinemaError, ValueError)) as error:
        CALLS[message](sim)
    assert re.search(as_pattern(message), str(error.value)), str(error.value)
