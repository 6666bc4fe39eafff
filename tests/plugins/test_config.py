"""Typed configuration: what is accepted, and that what is not is refused with file, line and the reason."""

import pytest

from kinema.compile import compile_model
from kinema.errors import CompileError, PluginError
from kinema.plugins import Path, field, find_plugin
from kinema.plugins.config import configured, fields_of


class Example:
    """All types of fields."""

    gain: float = field(1.5, min=0.0, max=10.0)
    count: int = 3
    on: bool = False
    mode: str = field("linear", choices=("linear", "cubic"))
    size: tuple[int, int] = (4, 5)
    file: Path = Path("")
    must: float = field(required=True, above=0.0)


FIELDS = fields_of(Example, "example")


def test_values():
    made = configured(Example, FIELDS, {"gain": " 2e0 ", "on": "true", "mode": "cubic", "size": "7 8", "must": "1"})
    assert (made.gain, made.count, made.on, made.mode, made.size, made.must) == (2.0, 3, True, "cubic", (7, 8), 1.0)
    assert FIELDS["mode"].numbers(made.mode) == [1.0] and FIELDS["size"].numbers(made.size) == [7.0, 8.0]
    assert configured(Example, FIELDS, {"must": "1", "gain": ""}).gain == 1.5


@pytest.mark.parametrize(
    ("key", "text", "reason"),
    [
        ("gain", "abc", "expected one number"),
        ("gain", "11", "at least 0 and at most 10"),
        ("gain", "nan", "at least 0"),
        ("count", "2.5", "whole number"),
        ("on", "maybe", "true or false"),
        ("mode", "cubik", "did you mean 'cubic'"),
        ("size", "3", "2 whole numbers"),
        ("must", "0", "above 0"),
        ("must", "", "required"),
    ],
)
def test_refused(key, text, reason):
    with pytest.raises(ValueError, match=reason):
        configured(Example, FIELDS, {"must": "1", key: text})


def test_declarations():
    with pytest.raises(PluginError, match="no default"):
        fields_of(type("NoDefault", (), {"__annotations__": {"a": float}, "a": field()}), "p")
    with pytest.raises(PluginError, match="use float, int"):
        fields_of(type("BadType", (), {"__annotations__": {"a": list}, "a": []}), "p")


XML = """<mujoco>
  <extension><plugin plugin="mujoco.pid"/><plugin plugin="mujoco.sensor.touch_grid"/></extension>
  <worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
  <actuator>
    <plugin plugin="mujoco.pid" joint="j">
      {}
    </plugin>
  </actuator>
</mujoco>"""


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ('<config key="kp" value="abc"/>', "kp='abc'"),
        ('<config key="imax" value="-1"/>', "at least 0"),
        ('<config key="slewmx" value="1"/>', "did you mean 'slewmax'"),
    ],
)
def test_refused_at_the_line(config, reason, tmp_path):
    file = tmp_path / "model.xml"
    file.write_text(XML.format(config))
    with pytest.raises(CompileError, match=reason) as caught:
        compile_model(file)
    assert caught.value.file == str(file) and caught.value.line == 6


def test_missing_actdim():
    with pytest.raises(CompileError, match='actdim="1"'):
        compile_model(XML.format('<config key="ki" value="1"/>'))


def test_number_of_states_follows_the_configuration():
    info = find_plugin("kinema.mlp_actuator").info
    assert info.states({"weights": "w.npz", "history": "3", "motors": "2"}) == 8
    assert find_plugin("mujoco.pid").info.activations({"ki": "1", "slewmax": "2"}) == 2


@pytest.mark.parametrize(
    "kind, default, said",
    [
        (float, "a", "'a', expected one number"),
        (int, 1.5, "1.5, expected one whole number"),
        (float, field(-1.0, min=0.0), "-1.0, which must be at least 0"),
        (str, field("cubc", choices=("linear", "cubic")), "expected one of linear, cubic"),
        (str, 3, "expected a text"),
        (tuple[float, float], (1.0, 2.0, 3.0), "expected 2 numbers"),
        (tuple[float, float], 1.0, "expected 2 numbers"),
        (tuple[float, ...], (1.0, 2.0, 3.0), "how many numbers"),
        (tuple[float, int], (1.0, 2), "of one kind"),
    ],
)
def test_a_default_that_is_no_value_is_refused(kind, default, said):
    wrong = type("Wrong", (), {"__annotations__": {"taps": kind}, "taps": default})
    with pytest.raises(PluginError, match=f"plugin wrong: .*field taps.*{said}"):
        fields_of(wrong, "wrong")
