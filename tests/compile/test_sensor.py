"""<sensor> against MuJoCo: every type and attribute, and what is refused."""

import pytest

from kinema.compile.actuator import compile_actuator
from kinema.compile.plugin import compile_plugin
from kinema.compile.sensor import _READERS, compile_sensor
from kinema.compile.tendon import compile_tendon
from kinema.errors import CompileError
from tests.compile.sections import assert_refused, differences, document, run

SECTIONS = """<tendon><fixed name="t" range="0 2"><joint joint="hinge" coef="1"/></fixed>
  <fixed name="u"><joint joint="hinge" coef="1"/></fixed></tendon>
  <actuator><motor name="m" joint="hinge" nsample="3"/><orientation name="o" joint="ballj"/></actuator>"""
BEFORE = """<asset><mesh name="tetra" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
  <extension><plugin plugin="mujoco.sensor.touch_grid"/></extension>"""
STAGES = [compile_plugin, compile_tendon, compile_actuator, compile_sensor]

on_site = "touch accelerometer velocimeter gyro force torque magnetometer".split()
GOOD = {
    **{tag: f'<{tag} site="s1" cutoff="2" noise=".1" user="1 2"/>' for tag in on_site},
    **{tag: f'<{tag} joint="hinge"/>' for tag in
       "jointpos jointvel jointactuatorfrc jointlimitpos jointlimitvel jointlimitfrc".split()},
    **{tag: f'<{tag} joint="ballj"/>' for tag in ("ballquat", "ballangvel")},
    **{tag: f'<{tag} tendon="t"/>' for tag in
       "tendonpos tendonvel tendonactuatorfrc tendonlimitpos tendonlimitvel tendonlimitfrc".split()},
    **{tag: f'<{tag} actuator="m"/><{tag} actuator="o"/>' for tag in ("actuatorpos", "actuatorvel", "actuatorfrc")},
    **{tag: f'<{tag} objtype="xbody" objname="b"/><{tag} objtype="camera" objname="eye" reftype="site" refname="s1"/>'
       for tag in "framepos framequat framexaxis frameyaxis framezaxis framelinvel frameangvel".split()},
    **{tag: f'<{tag} objtype="geom" objname="box"/>' for tag in ("framelinacc", "frameangacc")},
    **{tag: f'<{tag} body="a"/>' for tag in ("subtreecom", "subtreelinvel", "subtreeangmom")},
    **{tag: f'<{tag} cutoff="3"/>' for tag in ("e_potential", "e_kinetic", "clock")},
    **{tag: f'<{tag} geom1="ball" geom2="box"/><{tag} body1="a" geom2="pill" cutoff="1"/>'
       f'<{tag} geom1="ball" body2="c"/>'
       for tag in ("distance", "normal", "fromto")},
    "camprojection": '<camprojection site="s1" camera="eye"/>',
    "rangefinder": """<rangefinder site="s1"/><rangefinder site="s1" data="dist dir origin point normal depth"/>
        <rangefinder camera="eye" data="dist normal"/>""",
    "contact": """<contact/><contact geom1="ball" geom2="box" data="found force" num="3"/>
        <contact body1="a" subtree2="b" reduce="mindist" data="dist pos normal tangent"/>
        <contact site="s1" data="pos linvel"/><contact data="angvel"/>
        <contact subtree1="a" body2="loose" reduce="netforce"/>
        <contact data="torque"/><contact reduce="maxforce"/>""",
    "insidesite": """<insidesite site="s1" objtype="body" objname="b"/>
        <insidesite site="s1" objtype="geom" objname="box" enclosed="true"/>""",
    "tactile": '<tactile geom="ball" mesh="tetra" nsample="2"/>',
    "user": """<user dim="3"/><user dim="4" datatype="quaternion" needstage="vel" objtype="tendon" objname="t"/>
        <user dim="0"/>""",
    "plugin": """<plugin plugin="mujoco.sensor.touch_grid" objtype="site" objname="s1" reftype="body" refname="a"
        cutoff="2"><config key="size" value="4 5"/><config key="fov" value="40 50"/></plugin>""",
    "history": """<clock name="c" nsample="4" interp="cubic" delay=".02" interval=".1 -.05"/>
        <gyro site="s1" nsample="2"/><clock interval="0 -1"/>""",
}  # fmt: skip


def test_every_type_is_covered():
    assert set(_READERS) <= set(GOOD)


@pytest.mark.parametrize("name", GOOD)
def test_agrees_with_mujoco(name):
    c, m = run(document(f"{SECTIONS}<sensor>{GOOD[name]}</sensor>", before=BEFORE), STAGES)
    assert m.nsensor > 0
    assert differences(c, m, ("sensor_",)) == []
    for size in ("nsensordata", "nhistory", "nuser_sensor"):
        assert c.sizes[size] == getattr(m, size), size


BAD = [
    "<gyro/>",
    '<gyro site="nope"/>',
    '<gyro site="s1" noise="-1"/>',
    '<gyro site="s1" cutoff="-1"/>',
    '<gyro site="s1" delay="1"/>',
    '<gyro site="s1" nsample="16777217"/>',
    '<gyro site="s1" interval="-1"/>',
    '<gyro site="s1" interval=".1 .05"/>',
    '<gyro site="s1" interval=".1 -.1"/>',
    '<gyro site="s1" interp="quintic"/>',
    '<jointpos joint="ballj"/>',
    '<jointactuatorfrc joint="free"/>',
    '<ballquat joint="hinge"/>',
    '<ballquat joint="ballj" cutoff="1"/>',
    '<jointlimitpos joint="ballj"/>',
    '<tendonlimitpos tendon="u"/>',
    '<tendonpos tendon="nope"/>',
    '<actuatorpos actuator="nope"/>',
    '<framepos objtype="body"/>',
    '<framepos objtype="joint" objname="hinge"/>',
    '<framepos objtype="body" objname="a" reftype="site"/>',
    '<framepos objtype="body" objname="a" refname="s1"/>',
    '<framexaxis objtype="body" objname="a" cutoff="1"/>',
    '<subtreecom body="nope"/>',
    "<rangefinder/>",
    '<rangefinder site="s1" camera="eye"/>',
    '<rangefinder site="s1" data="depth dist"/>',
    '<rangefinder site="s1" data="colour"/>',
    '<camprojection site="s1"/>',
    '<distance geom1="ball"/>',
    '<distance geom1="ball" geom2="ball"/>',
    '<distance geom1="ball" body1="a" geom2="box"/>',
    '<contact geom1="ball" body1="a"/>',
    '<contact num="0"/>',
    '<contact data="pos found"/>',
    '<contact reduce="most"/>',
    '<contact reduce="netforce" data="angvel"/>',
    '<insidesite site="s1" objtype="body"/>',
    '<tactile geom="ball" mesh="nope"/>',
    "<user/>",
    '<user dim="-1"/>',
    '<user dim="2" datatype="axis"/>',
    '<user dim="3" datatype="quaternion"/>',
    '<user dim="3" objtype="body"/>',
    '<clock name="c"/><clock name="c"/>',
    '<plugin plugin="mujoco.sensor.touch_grid" objtype="site"><config key="size" value="4 5"/>'
    '<config key="fov" value="40 50"/></plugin>',
]


@pytest.mark.parametrize("snippet", BAD)
def test_refuses_what_mujoco_refuses(snippet):
    assert_refused("sensor", snippet, STAGES, sections=SECTIONS, before=BEFORE)


def test_unknown_object_type_is_an_error():
    """MuJoCo takes an objtype it does not know for none at all; we say what is wrong."""
    xml = document('<sensor><user dim="3" objtype="bod" objname="a"/></sensor>', before=BEFORE)
    with pytest.raises(CompileError, match="did you mean 'body'"):
        run(xml, STAGES)
