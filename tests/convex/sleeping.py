"""Scenes in which trees fall asleep and wake, for tests/convex/test_sleep.py."""

BOX = '<body pos="{}"{}><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
SPHERE = '<body pos="{}"{}><freejoint/><geom size=".1"/></body>'
FLOOR = '<geom type="plane" size="5 5 .1"/>'


def scene(worldbody: str, more: str = "", option: str = "", compiler: str = "") -> str:
    """A model with sleep enabled."""
    return (
        f'<mujoco>{compiler}<option {option}><flag sleep="enable"/></option><worldbody>{FLOOR}{worldbody}</worldbody>'
        f"{more}</mujoco>"
    )


def box(pos: str, more: str = "") -> str:
    return BOX.format(pos, more)


def sphere(pos: str, more: str = "") -> str:
    return SPHERE.format(pos, more)


STACK = box("0 0 .1") + box("0 0 .3005") + box(".5 0 .13") + sphere("-1 0 .1")
PILE = box("0 0 .1") + box(".15 .25 .1") + box(".02 .1 .301") + box("1 0 .1")
NEVER, INIT = ' sleep="never"', ' sleep="init"'
ARM = """<body pos="-1 0 .6"><joint name="a" axis="0 1 0" damping="2"/>
    <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0"/><body pos=".4 0 0"><joint name="b" axis="0 1 0" damping="2"/>
    <geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/></body></body>"""

SCENES = {
    "stack": scene(STACK),
    "elliptic stack": scene(STACK, option='cone="elliptic"'),
    "rolling": scene(
        '<body pos="0 0 .1"><joint type="slide" axis="1 0 0" damping=".2"/><geom size=".1" mass="1" condim="1"/></body>'
        '<body pos="2 0 .1"><freejoint/><geom size=".1" condim="6" friction="1 .01 .02"/></body>'
        '<body pos="0 1 .0995"><freejoint/><geom type="capsule" size=".1 .1" euler="90 0 0" condim="6"'
        ' friction="1 .02 .02"/></body>',
        '<keyframe><key qpos="0 2 0 .0995 1 0 0 0 0 1 .0995 1 0 0 0" qvel=".5 -.3 0 0 0 -3 0 .4 0 0 0 4 0"/>'
        "</keyframe>",
    ),
    "pile hit by a ball": scene(
        PILE + '<body pos="-3 .1 .3"><freejoint/><geom size=".1" density="3000"/></body>',
        f'<keyframe><key qvel="{"0 " * 24}6 0 1 0 0 0"/></keyframe>',
    ),
    "ball comes late": scene(
        PILE + '<body pos="0 .1 8"><freejoint/><geom size=".1" density="2000"/></body>',
    ),
    "hanging": scene(
        '<body pos="0 0 1"><joint axis="0 1 0" damping=".5"/>'
        '<geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/></body>'
        '<body pos="1 0 1"><joint axis="0 1 0" range="-40 40" limited="true" damping=".3"/>'
        '<geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/></body>'
        '<body pos="2 0 1"><joint axis="0 1 0" frictionloss=".5"/>'
        '<geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/></body>'
    ),
    "tied by a tendon": scene(
        '<body pos="0 0 .1"><joint type="slide" axis="1 0 0" damping="2"/><geom type="box" size=".1 .1 .1" mass="1"/>'
        '<site name="one"/></body>'
        '<body pos=".5 0 .1"><joint type="slide" axis="1 0 0" damping="2"/><geom type="box" size=".1 .1 .1" mass="1"/>'
        '<site name="two"/></body>',
        '<tendon><spatial range="0 .8" limited="true"><site site="one"/><site site="two"/></spatial></tendon>'
        '<keyframe><key qvel="-1.5 0"/></keyframe>',
        option='gravity="0 0 0"',
    ),
    "tied by equalities": scene(
        '<body name="one" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
        '<body name="two" pos=".3 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
        '<body name="three" pos=".8 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
        '<body pos="2 0 .5"><joint name="p" axis="0 1 0" damping=".5"/><geom size=".1" pos=".2 0 0"/></body>'
        '<body pos="2 1 .5"><joint name="q" axis="0 1 0" damping=".5"/><geom size=".1" pos=".2 0 0"/></body>',
        '<equality><weld body1="one" body2="two"/><connect body1="two" body2="three" anchor=".1 0 0" active="false"/>'
        '<joint joint1="p" joint2="q"/></equality>',
    ),
    "policies": scene(
        box("0 0 .1", NEVER) + box("1 0 .1", ' sleep="allowed"') + box("2 0 .1") + box("3 0 .1", INIT)
        + box("3 0 .298", INIT) + box("-2 0 1", INIT) + box("0 2 .1") + box("0 2.05 .31", NEVER)
    ),
    "woken where it hangs": scene(
        box("0 0 1", INIT) + box("0 0 1.3", INIT) + sphere("0 0 2") + box("3 0 .1"),
    ),
    "a robot and things": scene(
        ARM + box("-.4 0 .1") + box("0 0 .1") + box("1 1 .1") + sphere("-1 1 .3"),
        '<actuator><position joint="a" kp="40"/><position joint="b" kp="20"/></actuator>',
    ),
    "a mocap body": scene(
        '<body mocap="true" pos="-1 0 .11"><geom size=".1"/></body>' + sphere("0 0 .0995") + box("1 0 .0995"),
    ),
    "no islands": scene(box("0 0 .1") + sphere("1 0 2"), option="").replace("<flag ", '<flag island="disable" '),
}
