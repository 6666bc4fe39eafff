"""What docs/plugins.md tells a newcomer works as it is written: the plugin, the model, the packaging."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from kinema import Simulation
from kinema.plugins import find_plugin, inputs, unregister

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}[^\n]*\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The page's plugin as a package, with its entry point, and its model, where Python finds them."""
    (tmp_path / "acme_motors.py").write_text(blocks("python")[0])
    (tmp_path / "robot.xml").write_text(blocks("xml")[0])
    info = tmp_path / "acme_motors-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-motors\nVersion: 1.0\n")
    name, target = re.search(r'"(.*?)" = "(.*?)"', blocks("toml")[0]).groups()
    (info / "entry_points.txt").write_text(f"[kinema.plugins]\n{name} = {target}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    unregister("acme.motor")
    sys.modules.pop("acme_motors", None)


def test_the_plugin_is_short():
    assert len([line for line in blocks("python")[0].splitlines() if line.strip()]) <= 30


def test_from_nothing_to_a_packaged_plugin(installed):
    assert "acme_motors" not in sys.modules
    sim = Simulation(installed / "robot.xml", worlds=2, device="cpu")  # the model's name is enough
    assert find_plugin("acme.motor").cls.__module__ == "acme_motors"
    sim.set_plugin_parameter("acme.motor", "gain", [[30.0], [10.0]])
    sim.d.ctrl = 2.0
    temperature = np.zeros(2)
    for _ in range(20):
        sim.step()
        np.testing.assert_allclose(sim.d.actuator_force[:, 0], [60, 20] / (1 + temperature), rtol=1e-5)
        np.testing.assert_allclose(sim.d.sensordata[:, 0], temperature, rtol=1e-5, atol=1e-9)
        temperature = temperature + 0.002 * 0.01 * 4


def test_the_tables_of_inputs_are_those_of_the_structs(monkeypatch):
    monkeypatch.syspath_prepend(str(PAGE.parents[1] / "scripts"))
    tables = importlib.import_module("plugin_inputs")
    assert tables.page_with(PAGE.read_text()) == PAGE.read_text(), "python scripts/plugin_inputs.py --write"
    named = {name for name in dir(inputs) if isinstance(getattr(inputs, name), type(inputs.Clock))}
    own = {name for name in named if getattr(inputs, name).cls.__module__ == inputs.__name__}
    assert own == set(tables.structs()) >= {"ActuatorInput", "SensorInput", "BodyInput", "Clock"}
    for name in own:
        rows = tables.members(tables.structs()[name])
        assert [row[0] for row in rows] == list(getattr(inputs, name).vars)
        assert all(meaning for _, _, meaning in rows), name
