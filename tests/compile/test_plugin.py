"""<extension> and the elements that use plugins, against MuJoCo: instances, configuration, and what is refused."""

import mujoco
import pytest
import warp as wp

from kinema.compile.plugin import compile_plugin
from kinema.errors import CompileError
from kinema.plugins import ActuatorInput, register, unregister
from tests.compile.sections import WORLD, document, element, prepare

PID = '<extension><plugin plugin="mujoco.pid">{}</plugin><plugin plugin="mujoco.sensor.touch_grid"/></extension>'
INSTANCE = '<instance name="i"><config key="kp" value="3"/></instance>'
GRID = """<plugin plugin="mujoco.sensor.touch_grid" objtype="site" objname="s1"><config key="nchannel" value="2"/>
  <config key="size" value="7 3"/><config key="fov" value="10 20"/></plugin>"""

GOOD = {
    "explicit": (INSTANCE, '<actuator><plugin instance="i" joint="hinge"/></actuator>'),
    "both names": (INSTANCE, '<actuator><plugin plugin="mujoco.pid" instance="i" joint="hinge"/></actuator>'),
    "shared": (INSTANCE, """<actuator><plugin instance="i" joint="hinge"/><plugin instance="i" joint="slide"/>
        </actuator>"""),
    "implicit": ("", """<actuator><plugin plugin="mujoco.pid" joint="hinge"><config key="kd" value=" 4 "/></plugin>
        </actuator>"""),
    "mixed": (INSTANCE, f"""<sensor>{GRID}</sensor><actuator><plugin plugin="mujoco.pid" joint="hinge"/>
        <motor joint="slide"/><plugin instance="i" joint="hinge"/></actuator>"""),
    "unset value": ("", """<actuator><plugin plugin="mujoco.pid" joint="hinge"><config key="kp" value=""/></plugin>
        </actuator>"""),
    "none": ("", ""),
}  # fmt: skip


def _compile(xml: str, oracle: str):
    c = prepare(xml, mujoco.MjModel.from_xml_string(oracle))
    for section in c.root.find("extension"):
        for plugin in section.find("plugin"):
            for node in plugin.find("instance"):
                c.elements["plugin"].append(element(c, node, "plugin"))
    compile_plugin(c)
    return c


@pytest.mark.parametrize("name", GOOD)
def test_agrees_with_mujoco(name):
    instances, section = GOOD[name]
    xml = document(PID.format(instances) + section)
    m = mujoco.MjModel.from_xml_string(xml)
    c = _compile(xml, xml)
    for array in ("plugin", "plugin_attradr", "plugin_stateadr", "plugin_statenum", "actuator_plugin", "sensor_plugin",
                  "body_plugin", "geom_plugin"):  # fmt: skip
        assert c.arrays[array].tolist() == getattr(m, array).tolist(), array
    assert c.arrays["plugin_attr"].tobytes() == m.plugin_attr.tobytes()
    for size in ("nplugin", "npluginattr", "npluginstate"):
        assert c.size(size) == getattr(m, size), size
    assert c.names("plugin") == [mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_PLUGIN, i) or "" for i in range(m.nplugin)]


BAD = {
    "not found": """<extension>
        <plugin plugin="nope"/></extension><actuator><plugin plugin="nope" joint="hinge"/></actuator>""",
    "not found, unused": '<extension>\n<plugin plugin="nope"/></extension>',
    "undeclared": '<actuator>\n<plugin plugin="mujoco.pid" joint="hinge"/></actuator>',
    "unknown": PID.format("") + '<actuator>\n<plugin plugin="mujoco.pit" joint="hinge"/></actuator>',
    "no instance": PID.format("") + '<actuator>\n<plugin instance="zz" joint="hinge"/></actuator>',
    "neither": PID.format("") + '<actuator>\n<plugin joint="hinge"/></actuator>',
    "neither sensor": PID.format("") + "<sensor>\n<plugin/></sensor>",
    "unknown key": PID.format("") + """<actuator><plugin plugin="mujoco.pid" joint="hinge">
        <config key="zz" value="1"/></plugin></actuator>""",
    "twice": PID.format("") + """<actuator><plugin plugin="mujoco.pid" joint="hinge"><config key="kp" value="1"/>
        <config key="kp" value="1"/></plugin></actuator>""",
    "no value": PID.format("") + """<actuator><plugin plugin="mujoco.pid" joint="hinge">
        <config key="kp"/></plugin></actuator>""",
    "no key": PID.format("") + """<actuator><plugin plugin="mujoco.pid" joint="hinge">
        <config value="1"/></plugin></actuator>""",
    "capability": PID.format("") + '<actuator>\n<plugin plugin="mujoco.sensor.touch_grid" joint="hinge"/></actuator>',
    "sensor capability": PID.format("") + '<sensor>\n<plugin plugin="mujoco.pid"/></sensor>',
    "unnamed": PID.format("\n<instance/>"),
    "repeated": PID.format(INSTANCE + "\n" + INSTANCE) + '<actuator><plugin instance="i" joint="hinge"/></actuator>',
    "idle pid": PID.format("\n" + INSTANCE),
    "negative imax": PID.format("") + """<actuator>
        <plugin plugin="mujoco.pid" joint="hinge" actdim="1"><config key="imax" value="-1"/>
        <config key="ki" value="1"/></plugin></actuator>""",
    "bad grid": PID.format("") + """<sensor>
        <plugin plugin="mujoco.sensor.touch_grid" objtype="site" objname="s1"><config key="fov" value="10 20"/>
        <config key="size" value="0 3"/></plugin></sensor>""",
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refuses_what_mujoco_refuses(name):
    xml = document(BAD[name])
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(CompileError) as caught:
        _compile(xml, document(""))
    assert caught.value.file == "model.xml" and caught.value.line > WORLD.count("\n") and caught.value.path


SILENT = {
    "config beside instance": """<actuator><plugin instance="i" joint="hinge"><config key="kp" value="5"/></plugin>
        </actuator>""",
    "two plugins": """<actuator><plugin plugin="test.other" instance="i" joint="hinge"/></actuator>""",
}


class Other:
    """A plugin that does nothing much."""

    kp: float = 0.0

    @wp.func
    def actuator(x: ActuatorInput) -> float:
        return x.ctrl


@pytest.mark.parametrize("name", SILENT)
def test_refuses_what_mujoco_silently_ignores(name):
    register(Other, "test.other")
    try:
        xml = document(PID.format(INSTANCE) + '<extension><plugin plugin="test.other"/></extension>' + SILENT[name])
        with pytest.raises(CompileError, match="instance"):
            _compile(xml, document(""))
    finally:
        unregister("test.other")
