"""Joints, geoms, sites, cameras, lights and inertia against MuJoCo."""

from __future__ import annotations

import pytest

from .oracle import agree, both_refuse

SHAPES = {
    "sphere": ".3", "capsule": ".1 .4", "cylinder": ".2 .3", "ellipsoid": ".1 .2 .3", "box": ".1 .2 .3",
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("shell", ["false", "true"])
def test_inertia_of_shapes(shape, shell):
    geom = f'<geom type="{shape}" size="{SHAPES[shape]}" shellinertia="{shell}" '
    agree(
        f"""<mujoco><worldbody><body><freejoint/>{geom} density="300"/></body><body><freejoint/>{geom} mass="3"/></body>
        <body><freejoint/>{geom} euler="10 20 30"/><geom size=".1" pos="0 0 1" mass="2"/></body></worldbody></mujoco>"""
    )


@pytest.mark.parametrize("shape", ["capsule", "cylinder", "ellipsoid", "box"])
def test_fromto(shape):
    agree(
        f"""<mujoco><worldbody><geom type="{shape}" size=".1" fromto="0 0 0 0 0 1"/>
        <geom type="{shape}" size=".1" fromto="1 2 3 -.5 1 2"/><site type="{shape}" size=".1" fromto="0 0 1 0 0 0"/>
        </worldbody></mujoco>"""
    )


JOINTS = {
    "ranges in degrees": """<joint range="-30 45" ref="10" springref="20" stiffness="1 2 3" damping="1 .5"/>""",
    "radians": """<joint range="-1 1" ref=".5"/>""",
    "slide": '<joint type="slide" range="-1 1" ref=".1" axis="1 2 3" armature=".1" frictionloss=".2" margin=".01"/>',
    "ball": '<joint type="ball" range="0 60" pos=".1 0 0" axis="1 0 0" springyield="3" stiffness="1"/>',
    "springdamper": '<joint springdamper=".1 1"/>',
    "plastic": '<joint springyield="5" stiffness="2"/><joint type="slide" axis="1 0 0" springyield=".1"/>',
    "limits off": '<joint limited="false" range="-1 1" actuatorfrcrange="-1 1" actuatorgravcomp="true" group="3"/>',
    "solver": '<joint solreflimit=".1" solimplimit=".8 .9" solreffriction=".05 .5" solimpfriction=".7"/>',
    "force limits": '<joint actuatorfrcrange="-2 3"/><joint axis="1 0 0" actuatorfrclimited="false"/>',
}  # fmt: skip


@pytest.mark.parametrize("name", JOINTS)
def test_joint(name):
    angle = '<compiler angle="radian"/>' if name == "radians" else ""
    agree(f'<mujoco>{angle}<worldbody><body>{JOINTS[name]}<geom size=".1" pos=".3 0 0"/></body></worldbody></mujoco>')


GEOMS = {
    "contact": """<geom size=".1" contype="2" conaffinity="4" condim="6" priority="2" friction=".1 .2" solmix="3"
        solref=".1" solimp=".1 .2 .3" margin=".1" gap=".05" group="2" adhesion="3" surfacevel="1 0 0 0 1"
        castshadow="false"/>""",
    "fluid": """<geom type="box" size=".1 .2 .3" fluidshape="ellipsoid"/><geom size=".1" fluidshape="ellipsoid"
        fluidcoef="1 2 3"/><geom type="capsule" size=".1 .2" fluidshape="ellipsoid"/>
        <geom type="cylinder" size=".1 .2" fluidshape="ellipsoid"/>""",
    "plane": '<geom type="plane" size="0 0 1"/><geom type="plane" size="1 2 1" zaxis="0 1 1"/>',
    "many": "".join(f'<geom type="box" size=".1 .2 .{k}" pos="{k} {k % 3} 0" zaxis="1 {k} 0"/>' for k in range(1, 8)),
}  # fmt: skip


@pytest.mark.parametrize("name", GEOMS)
def test_geom(name):
    agree(f"<mujoco><worldbody>{GEOMS[name]}</worldbody></mujoco>")


INERTIAS = {
    "group range": '<compiler inertiagrouprange="1 2"/>',
    "from geoms always": '<compiler inertiafromgeom="true"/>',
    "bounds": '<compiler boundmass="5" boundinertia="2"/>',
    "total mass": '<compiler settotalmass="7"/>',
    "balance": '<compiler balanceinertia="true"/>',
    "radians": '<compiler angle="radian" eulerseq="ZyX"/>',
}


@pytest.mark.parametrize("name", INERTIAS)
def test_inertia_settings(name):
    wide = "1 1 3" if name == "balance" else "1 1 1.5"
    agree(
        f"""<mujoco>{INERTIAS[name]}<worldbody><body euler="1 .2 .3"><freejoint/><geom size=".1" group="1"/>
        <geom size=".2" pos="1 0 0"/></body><body><joint/><inertial pos="0 0 1" mass="1" diaginertia="{wide}"/>
        <geom size=".3" group="2" pos="0 1 0"/></body></worldbody></mujoco>"""
    )


def test_camera_and_light():
    agree(
        """<mujoco><visual><map znear=".02"/><headlight active="0"/></visual><worldbody><body name="b"><joint/>
        <geom size=".1"/>
        <camera name="c" mode="targetbody" target="b" fovy="30" ipd=".1" resolution="640 480" output="rgb depth"/>
        <camera sensorsize=".02 .01" focal=".03 .03" principal=".001 0" resolution="100 50"/>
        <camera sensorsize=".02 .01" focalpixel="50 60" principalpixel="1 2" resolution="100 50"
        projection="orthographic"/>
        <light mode="trackcom" dir="1 1 0" type="directional" castshadow="false" cutoff="30" exponent="3"
        softness=".5"/>
        <light directional="true" active="false" attenuation="1 2 3" ambient=".1 .2 .3" intensity="5" bulbradius=".3"/>
        </body></worldbody></mujoco>"""
    )


def test_options_and_sizes():
    agree(
        """<mujoco model="named">
        <option timestep=".01" integrator="implicitfast" cone="elliptic" solver="CG" jacobian="dense"
        iterations="7" gravity="0 0 -1" o_solimp=".5" actuatorgroupdisable="1 3"><flag contact="disable" energy="enable"
        multiccd="disable" speculative="enable" island="disable"/></option><option impratio="3"/>
        <size nuserdata="4" nkey="2" njmax="100" nconmax="50"/><statistic extent="3" center="1 2 3" meanmass="2"/>
        <visual><global fovy="60" offwidth="100"/><rgba haze="1 0 0 1"/><quality numslices="3"/></visual></mujoco>"""
    )


FUSED = """<mujoco><compiler fusestatic="true" {more}/><option density="{density}"/><worldbody>
  <body name="s1" pos="1 0 0"><geom name="g1" size=".1"/><site name="t1"/><body name="m1"><joint/><geom size=".1"/>
    <body name="s2" pos="0 1 0" euler="10 20 30"><geom size=".2"/><site name="t2"/><camera/><light dir="1 2 3"/>
      <body name="m2"><joint/><geom size=".1"/></body><body pos="0 0 1" {fuse}><geom size=".1"/></body></body>
    <body name="m3"><joint/><geom size=".1"/></body><geom size=".1"/></body></body>
  <body name="e1"/><body name="keep"><geom size=".1"/></body><camera mode="targetbody" target="keep"/></worldbody>
        </mujoco>"""


@pytest.mark.parametrize(
    "more", ["", 'boundmass="3"', 'inertiafromgeom="true"', 'inertiafromgeom="true" boundmass="9"']
)
@pytest.mark.parametrize("fuse", ["", 'fuse="false"', 'gravcomp="1"'])
@pytest.mark.parametrize("density", [0, 1])
def test_fusestatic(more, fuse, density):
    agree(FUSED.format(more=more, fuse=fuse, density=density))


def test_materials_of_meshes():
    ours, _ = agree(
        """<mujoco><asset><material name="m"/><material name="n"/><mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1"
        material="m"/></asset><worldbody><geom type="mesh" mesh="t"/><geom type="box" mesh="t"/>
        <geom type="mesh" mesh="t" material="n"/></worldbody></mujoco>"""
    )
    assert ours.geom_matid.tolist() == [0, 0, 1]


def test_discardvisual():
    ours, _ = agree(
        """<mujoco><compiler discardvisual="true"/><asset><material name="m"/></asset><worldbody>
        <site name="s" material="m"/><body><freejoint/>
        <geom name="seen" contype="0" conaffinity="0" size=".3" mass="2"/>
        <geom size=".1" material="m"/><geom name="kept" contype="0" conaffinity="0" size=".1"/>
        <geom contype="0" conaffinity="0" size=".1" fluidshape="ellipsoid"/></body></worldbody>
        <tendon><spatial material="m"><site site="s"/><geom geom="kept"/><site site="s"/></spatial></tendon></mujoco>"""
    )
    assert ours.nmat == 0 and "seen" not in ours.names("geom") and ours.body_mass[1] > 2


@pytest.mark.parametrize(
    "text",
    [
        '<geom type="box" size="1 1"/>',
        '<geom size="-1"/>',
        '<geom size="1" condim="2"/>',
        '<geom type="mesh"/>',
        '<geom type="hfield"/>',
        '<geom type="mesh" mesh="none"/>',
        '<geom size="1" material="none"/>',
        '<geom type="capsule" size=".1" fromto="0 0 0 0 0 0"/>',
        '<geom type="sphere" size=".1" fromto="0 0 0 0 0 1"/>',
        '<geom type="capsule" size=".1" fromto="0 0 0 0 0 1" pos="1 0 0"/>',
        '<geom size="1 2 3 4"/>',
        '<geom size="a"/>',
        '<geom type="plane" size="1 1 0"/>',
        '<body><joint/><geom type="plane" size="1 1 1"/><geom size="1"/></body>',
        '<body><joint range="1 -1" limited="true"/><geom size="1"/></body>',
        '<body><joint type="ball" range="1 2"/><geom size="1"/></body>',
        '<body><joint axis="0 0 0"/><geom size="1"/></body>',
        '<body><joint springdamper="1 0"/><geom size="1"/></body>',
        '<body><joint/><joint axis="1 0 0"/><joint/><joint/><joint/><joint/><joint/><geom size="1"/></body>',
        '<body><joint/><geom size="1" mass="-1"/></body>',
        '<site type="plane"/>',
        '<site size="0"/>',
        '<camera fovy="180"/>',
        '<camera focal="1 1"/>',
        '<camera target="none" mode="targetbody"/>',
        '<light dir="0 0 0"/>',
        '<light softness="2"/>',
        '<light type="spot" directional="true"/>',
    ],
)  # fmt: skip
def test_both_refuse(text):
    error = both_refuse(f"<mujoco><worldbody>\n{text}</worldbody></mujoco>")
    assert "line 2" in str(error)


def test_autolimits_off_needs_limited():
    tree = '<worldbody><body><joint range="0 1"/><geom size="1"/></body></worldbody>'
    both_refuse(f'<mujoco><compiler autolimits="false"/>{tree}</mujoco>', "limited")


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "ellipsoid", "box"])
@pytest.mark.parametrize("size", ["", 'size=".7"', 'size=".7 .8"', 'size=".7 .8 .9"'])
def test_a_fitted_primitive_keeps_the_sizes_it_does_not_use(kind, size):
    agree(f"""<mujoco><asset><mesh name="m" builtin="cone" params="6 1"/></asset><worldbody><body><joint/>
      <geom type="{kind}" mesh="m" {size}/></body></worldbody></mujoco>""")
