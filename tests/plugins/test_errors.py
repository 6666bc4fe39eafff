"""Every error case of facts/plugins.md 2.3, through the whole compiler, beside MuJoCo where MuJoCo has the plugins.

What MuJoCo refuses is refused, with the element's line; what it lets pass is let pass, but for two mistakes it ignores.
"""

import mujoco
import pytest

from kinema.compile import compile_model
from kinema.errors import CompileError, DocumentError
from tests.plugins import samples  # noqa: F401 (registers plugins)

MODEL = """<mujoco>
  <extension>
    <plugin plugin="mujoco.pid"/>
    <plugin plugin="mujoco.sensor.touch_grid"/>
    <plugin plugin="mujoco.sdf.torus">{instances}</plugin>
    {extension}
  </extension>
  <asset><mesh name="ring">{mesh}</mesh></asset>
  <worldbody>
    <site name="s"/>
    <body>
      <joint name="j"/>
      <geom name="g" {geom_type}>{geom}</geom>
      {body}
    </body>
  </worldbody>
  <actuator>{actuator}</actuator>
  <sensor>{sensor}</sensor>
  {after}
</mujoco>"""

TORUS = '<plugin plugin="mujoco.sdf.torus"/>'
PLAIN = dict(
    instances="", extension="", mesh=TORUS, geom_type='type="sdf" mesh="ring"', geom=TORUS, body="", actuator="",
    sensor="", after="",
)  # fmt: skip
GRID = '<config key="size" value="3 3"/><config key="fov" value="30 30"/>'


def grid(attributes: str) -> str:
    return f'<plugin plugin="mujoco.sensor.touch_grid" {attributes}>{GRID}</plugin>'


REFUSED = {
    "plugin not found": (dict(extension='<plugin plugin="nope"/>'), "plugin nope not found", "nope"),
    "plugin undeclared": (
        dict(actuator='<plugin plugin="mujoco.pit" joint="j"/>'),
        "unrecognized plugin 'mujoco.pit'; did you mean 'mujoco.pid'", "mujoco.pit",
    ),
    "instance unknown": (
        dict(actuator='<plugin instance="zz" joint="j"/>'), "unrecognized name 'zz' for plugin instance", "zz",
    ),
    "instance unknown: mesh": (
        dict(mesh='<plugin instance="zz"/>'), "unrecognized name 'zz' for plugin instance", "<asset>",
    ),
    "neither: actuator": (dict(actuator='<plugin joint="j"/>'), "neither 'plugin' nor 'instance'", "<actuator>"),
    "neither: sensor": (dict(sensor="<plugin/>"), "neither 'plugin' nor 'instance'", "<sensor><plugin/>"),
    "neither: body": (dict(body="<plugin/>"), "neither 'plugin' nor 'instance'", "<plugin/>"),
    "neither: geom": (dict(geom="<plugin/>"), "neither 'plugin' nor 'instance'", "<plugin/>"),
    "neither: mesh": (dict(mesh="<plugin/>"), "neither 'plugin' nor 'instance'", "<plugin/>"),
    "capability: actuator": (
        dict(actuator='<plugin plugin="mujoco.sdf.torus" joint="j"/>'), "does not support actuators", "<actuator>",
    ),
    "capability: sensor": (
        dict(sensor='<plugin plugin="mujoco.pid"/>'), "does not support sensors", "<sensor>",
    ),
    "capability: passive": (
        dict(body='<plugin plugin="mujoco.sdf.torus"/>'), "does not support passive forces", f"      {TORUS}",
    ),
    "capability: geom": (
        dict(geom='<plugin plugin="mujoco.pid"/>'), "does not support signed distance fields", "<geom",
    ),
    "capability: mesh": (
        dict(mesh='<plugin plugin="mujoco.pid"/>'), "does not support signed distance fields", "<asset>",
    ),
    "key unknown": (
        dict(geom='<plugin plugin="mujoco.sdf.torus">\n<config key="zz" value="1"/></plugin>'),
        "unrecognized attribute 'plugin:zz'", 'key="zz"',
    ),
    "key twice": (
        dict(geom="""<plugin plugin="mujoco.sdf.torus"><config key="radius1" value=".3"/>
          <config key="radius1" value=".4"/></plugin>"""), "duplicate config key: radius1", 'value=".4"',
    ),
    "instance twice": (
        dict(instances='<instance name="i"/>\n<instance name="i"/>'), "repeated name 'i'", '<instance name="i"/>',
    ),
    "instance unnamed": (dict(instances="<instance/>"), "name", "<instance/>"),
    "objtype alone": (dict(sensor=grid('objtype="site"')), "obj", "objtype"),
    "objname alone": (dict(sensor=grid('objname="s"')), "obj", "objname"),
    "object unknown": (
        dict(sensor=grid('objtype="site" objname="zz"')), "'zz'", 'objname="zz"',
    ),
    "pid without actdim": (
        dict(actuator='<plugin plugin="mujoco.pid" joint="j"><config key="ki" value="1"/></plugin>'), "actdim", "ki",
    ),
    "field without mesh": (dict(geom_type='type="sdf"'), "mesh", 'type="sdf"'),
    "mesh scale": (
        dict(mesh=TORUS + "</mesh>" + f'<mesh name="other" scale="2 2 2">{TORUS}'), "scale", 'scale="2 2 2"',
    ),
    "bad number": (
        dict(geom='<plugin plugin="mujoco.sdf.torus">\n<config key="radius1" value="x"/></plugin>'),
        "radius1='x'", 'value="x"',
    ),
}  # fmt: skip
"""What a model says, a part of the message, and what stands in the line the message names."""


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_by_mujoco(name, tmp_path):
    changes, reason, place = REFUSED[name]
    file = tmp_path / "model.xml"
    file.write_text(MODEL.format(**{**PLAIN, **changes}))
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_path(str(file))
    with pytest.raises(DocumentError) as caught:
        compile_model(file)
    assert reason in str(caught.value)
    assert caught.value.file == str(file)
    assert place in file.read_text().splitlines()[caught.value.line - 1]


ACCEPTED = {
    "instance that nothing uses": dict(instances='<instance name="idle"/>'),
    "plugin declared twice": dict(extension='<plugin plugin="mujoco.pid"/>'),
    "extension after its users": dict(
        geom='<plugin instance="later"/>',
        after="""<extension><plugin plugin="mujoco.sdf.torus"><instance name="later"/></plugin></extension>""",
    ),
    "field on a sphere": dict(geom_type='size=".1"'),
    "name of plugin and instance": dict(
        instances='<instance name="i"/>', geom='<plugin plugin="mujoco.sdf.torus" instance="i"/>'
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted_as_by_mujoco(name):
    xml = MODEL.format(**{**PLAIN, **ACCEPTED[name]})
    theirs, ours = mujoco.MjModel.from_xml_string(xml), compile_model(xml)
    for field in ("plugin", "geom_plugin", "plugin_stateadr", "geom_type"):
        assert getattr(ours, field).tolist() == getattr(theirs, field).tolist(), field


IGNORED = {
    "config beside an instance": (
        dict(geom='<plugin instance="i"><config key="radius1" value=".3"/></plugin>'), "cannot configure it",
    ),
    "instance of another plugin": (
        dict(geom='<plugin plugin="mujoco.sdf.bowl" instance="i"/>', extension='<plugin plugin="mujoco.sdf.bowl"/>'),
        "does not match that of the instance",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IGNORED)
def test_refused_though_mujoco_ignores_it(name, tmp_path):
    changes, reason = IGNORED[name]
    file = tmp_path / "model.xml"
    file.write_text(MODEL.format(**{**PLAIN, "instances": '<instance name="i"/>', **changes}))
    mujoco.MjModel.from_xml_path(str(file))
    with pytest.raises(CompileError, match=reason) as caught:
        compile_model(file)
    assert caught.value.file == str(file) and "<geom" in file.read_text().splitlines()[caught.value.line - 1]
