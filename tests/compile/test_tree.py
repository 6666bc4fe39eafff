"""Bodies, frames, replicate and defaults in the tree, against MuJoCo."""

from __future__ import annotations

import pytest

from .oracle import agree, both_refuse

BALL = '<geom size=".1"/>'

TREES = {
    "order": f"""<worldbody><geom name="a" size="1"/><body name="b"><geom name="c" size=".1"/>
        <body name="d">{BALL}</body>
        <geom name="e" size=".2"/></body><geom name="f" size="1"/><body name="g">{BALL}</body><site name="s"/>
        </worldbody>""",
    "frames": """<worldbody><frame pos="1 2 3" euler="10 20 30"><geom name="a" size=".1 .2 .3" type="box" pos=".1 0 0"/>
        <frame name="inner" zaxis="1 1 0"><body pos="0 0 1"><joint axis="1 0 0" pos="0 .1 0"/><geom size=".1"/></body>
        <camera pos="1 0 0" xyaxes="1 0 0 0 0 1"/><light pos="0 1 0" dir="1 0 0"/><site pos="0 0 .3" quat="1 2 3 4"/>
        </frame></frame></worldbody>""",
    "frame in a moving body": """<worldbody><body><frame pos="0 0 1" axisangle="1 0 0 45">
        <joint axis="0 1 0" pos=".1 .2 .3"/>
        <geom type="capsule" fromto="0 0 0 0 0 1" size=".1"/></frame></body></worldbody>""",
    "replicate": """<worldbody><body name="arm"><joint name="root"/><geom size=".1"/>
        <replicate count="3" offset="0 .1 0" euler="0 0 30" sep="-"><body name="leg" pos="1 0 0">
        <joint name="hip" axis="0 1 0"/><geom name="shank" type="capsule" size=".02 .1"/><site name="foot"/></body>
        <geom name="plate" size=".05 .05 .01" type="box" pos="0 0 1"/></replicate></body></worldbody>""",
    "nested replicate": """<worldbody><replicate count="2" offset="1 0 0" sep="_"><replicate count="11" offset="0 1 0">
        <body name="b"><freejoint name="f"/><geom name="g" size=".1"/></body></replicate></replicate></worldbody>""",
    "replicate in a frame": """<default><default class="red"><geom rgba="1 0 0 1" size=".3"/></default></default>
        <worldbody><frame pos="0 0 1" euler="0 90 0">
        <replicate count="4" offset=".1 0 0" euler="90 0 0" childclass="red">
        <geom pos="1 0 0"/><site name="s" pos="0 1 0"/></replicate></frame></worldbody>""",
    "replicate and references": """<worldbody><body name="a"><joint name="ja"/><geom size=".1"/></body>
        <replicate count="3" offset="1 0 0"><body name="b"><joint name="j"/><geom name="g" size=".1"/><site name="s"/>
        </body></replicate></worldbody>
        <contact><exclude body1="a" body2="b"/><exclude name="bb" body1="b" body2="world"/></contact>
        <tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>
        <equality><joint joint1="j" polycoef="0 1"/></equality>""",
    "replicate and a tendon half inside": """<worldbody><site name="a" pos="0 0 3"/><replicate count="3" offset="1 0 0">
        <body><joint axis="0 1 0"/><geom size=".1"/><site name="b" pos="0 0 1"/></body></replicate></worldbody>
        <tendon><spatial name="t"><site site="a"/><site site="b"/></spatial></tendon>
        <actuator><motor name="t" tendon="t"/></actuator>""",
    "material layers in a class": """<default><default class="pbr"><material><layer role="rgb" texture="x"/>
        <layer role="normal" texture="x"/></material></default></default><asset>
        <texture name="x" type="2d" builtin="flat"
        width="4" height="4"/><texture name="y" type="2d" builtin="flat" width="4" height="4"/>
        <material name="m" class="pbr"/>
        <material name="n" class="pbr" texture="y"/></asset>""",
    "childclass": """<default><geom size=".1"/><default class="x"><geom size=".2"/><joint damping="3"/>
        <default class="y">
        <geom rgba="0 1 0 1"/></default></default></default><worldbody><body childclass="x"><joint/><geom/>
        <geom class="main"/>
        <body><joint axis="1 0 0"/><geom class="y"/><body childclass="y"><joint/><geom/></body></body></body>
        </worldbody>""",
    "mocap": """<worldbody><body name="m" mocap="true" pos="1 0 0"><geom size=".1"/><body>
        <geom type="plane" size="1 1 1"/>
        </body></body><body mocap="true" gravcomp="1"><site/></body></worldbody>""",
    "inertial": """<worldbody><body><freejoint/><inertial pos="0 0 1" mass="2" diaginertia="1 2 2.5" euler="30 0 0"/>
        <geom size="1"/></body><body><joint/><inertial pos="0 0 0" mass="1" fullinertia="1 1 1 .1 .2 .3"/></body>
        </worldbody>""",
    "gravcomp and user": """<size nuser_body="3"/><worldbody><body gravcomp=".5" user="1 2"><joint user="7"/>
        <geom size=".1"
        user="1 2 3"/><camera user="4"/><site user="5 6"/></body></worldbody>""",
    "sleep": """<option><flag sleep="enable"/></option><worldbody><body sleep="never"><freejoint/><geom size=".1"/>
        </body>
        <body sleep="allowed"><joint/><geom size=".1"/></body></worldbody>""",
    **{f"trees awake by an actuator on {act}": f"""<worldbody><site name="w"/><body><freejoint/><geom size=".1"/>
        <site name="s"/></body><body pos="1 0 0"><freejoint/><geom size=".1"/><site name="r"/></body></worldbody>
        <actuator>{act}</actuator>""" for act in (
            '<motor site="w" refsite="s"/>', '<motor site="s" refsite="w"/>', '<orientation site="w" refsite="r"/>',
            '<orientation site="s" refsite="r"/>', '<motor slidersite="s" cranksite="w" cranklength="2"/>',
        )},
    "not simple by the armature of an actuator on a tendon": """<worldbody><site name="w"/><body><freejoint/>
        <geom size=".1"/><site name="s" pos="0 0 .1"/></body></worldbody><tendon><spatial name="t"><site site="w"/>
        <site site="s"/></spatial></tendon><actuator><motor tendon="t" armature=".1"/></actuator>""",
    "simple": """<worldbody><body><joint type="slide"/><geom size=".1"/></body><body simple="false"><freejoint/>
        <geom size=".1"/></body><body><freejoint/><geom size=".1"/></body></worldbody>""",
    "aligned free body": """<compiler alignfree="true"/><worldbody><body pos="1 2 3"><freejoint/>
        <geom type="box" size=".1 .2 .3"
        pos="1 0 0" euler="10 20 30"/><geom size=".1"/><site pos="0 1 0"/><camera pos="0 0 1"/><light dir="1 0 0"/>
        </body>
        <body><freejoint align="false"/><geom size=".1" pos="1 0 0"/></body></worldbody>""",
    "empty": "",
}  # fmt: skip


@pytest.mark.parametrize("name", TREES)
def test_tree(name):
    agree(f"<mujoco>{TREES[name]}</mujoco>")


def test_a_later_default_section_does_not_reach_earlier_classes():
    ours, _ = agree(
        """<mujoco><default><default class="early"><geom rgba="1 0 0 1"/></default></default>
        <default><geom size=".3"/><default class="late"/></default>
        <worldbody><geom/><geom class="late"/><geom class="early" size=".1"/></worldbody></mujoco>"""
    )
    assert ours.geom_size[:, 0].tolist() == [0.3, 0.3, 0.1]


def test_bodies_outside_the_world_are_passed_over():
    ours, _ = agree('<mujoco><body name="fragment"><geom size=".1"/></body></mujoco>')
    assert ours.nbody == 1


def test_short_vectors_keep_the_tail_of_the_class():
    ours, _ = agree(
        """<mujoco><default><geom type="box" size="1 2 3" friction="2"/><default class="c"><geom friction=".5 .6"/>
        </default>
        </default><worldbody><geom size="4"/><geom class="c"/></worldbody></mujoco>"""
    )
    assert ours.geom_size[0].tolist() == [4, 2, 3] and ours.geom_friction[1].tolist() == [0.5, 0.6, 0.0001]


def test_an_orientation_on_the_element_beats_another_form_in_its_class():
    agree(
        """<mujoco><default><geom size=".1 .1 .1" type="box" euler="30 0 0"/></default>
        <worldbody><geom quat="0 1 0 0"/></worldbody></mujoco>"""
    )


@pytest.mark.parametrize(
    "text",
    [
        '<worldbody><geom size="1" class="nothere"/></worldbody>',
        '<worldbody><body childclass="nothere"/></worldbody>',
        '<default class="other"/>',
        "<default><default/></default>",
        '<default><default class="a"/><default class="a"/></default>',
        "<worldbody><joint/></worldbody>",
        '<worldbody><body name="a"><geom size="1" name="g"/></body><geom name="g" size="1"/></worldbody>',
        '<worldbody><replicate count="2"><body name="a"/></replicate><body name="a0"/></worldbody>',
        '<worldbody><body><geom size="1"/><replicate count="2"><frame><joint/></frame></replicate></body></worldbody>',
        '<worldbody><body mocap="true"><joint/><geom size="1"/></body></worldbody>',
        '<worldbody><body><joint type="ball"/><joint/><geom size="1"/></body></worldbody>',
        '<worldbody><body><freejoint/><joint/><geom size="1"/></body></worldbody>',
        '<worldbody><body><geom size="1"/><body><freejoint/><geom size="1"/></body></body></worldbody>',
        '<worldbody><body><joint/><site/></body></worldbody>',
        '<worldbody><body sleep="never"><geom size="1"/></body></worldbody>',
        '<worldbody><body><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/></body></worldbody>',
        '<worldbody><body><joint/><inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/></body></worldbody>',
        '<worldbody><body><joint/><inertial pos="0 0 0" mass="1" fullinertia="1 1 -1 0 0 0"/></body></worldbody>',
        '<worldbody><body quat="0 0 0 0"/></worldbody>',
        '<worldbody><body euler="0 0 0" quat="1 0 0 0"/></worldbody>',
        '<worldbody><body xyaxes="1 0 0 1 0 0"/></worldbody>',
        '<worldbody><body zaxis="0 0 0"/></worldbody>',
        '<compiler eulerseq="xyw"/><worldbody><body euler="1 2 3"/></worldbody>',
        '<compiler eulerseq="xy"/>',
        '<compiler coordinate="global"/>',
    ],
)  # fmt: skip
def test_both_refuse(text):
    error = both_refuse(f"<mujoco>\n{text}</mujoco>")
    assert error.line == 2 or "line 2" in str(error)


def test_unknown_class_suggests_the_nearest():
    tree = '<worldbody><geom class="robt" size="1"/></worldbody>'
    error = both_refuse(f'<mujoco><default><default class="robot"/></default>{tree}</mujoco>')
    assert "did you mean 'robot'" in str(error)


@pytest.mark.parametrize("moments", ['diaginertia="1 1.1 1.2" euler="10 20 30"', 'fullinertia="1 2 2.5 .1 .2 .3"'])
def test_frames_move_the_inertia_they_hold(moments):
    agree(f"""<mujoco><worldbody><frame pos="3 0 0"><body><joint/>
      <frame pos="1 0 0" euler="0 0 90"><frame pos="0 .5 0" euler="30 0 0">
        <inertial pos=".1 .2 .3" mass="2" {moments}/></frame></frame>
      <geom size=".1"/></body></frame></worldbody></mujoco>""")
