"""Small scenes that between them launch every function that a model of the corpus launches on CUDA, and more.

Each is there for kernels that the others do not have; `test_corpus_on_cuda.py` says what is missing. They are compared
with MuJoCo as fibres (tests/conformance/test_on_fibres.py).
"""

from __future__ import annotations

import numpy as np

from tests.convex.test_cuda_solver import arm

FLOOR = '<geom name="floor" type="plane" size="5 5 .1"/>'


def star(links: int, limbs: int, at: str, name: str) -> str:
    """A free body with arms that touch the floor, but not each other."""
    text = arm(links, at, 0.1, limbs=limbs).replace("<geom ", '<geom conaffinity="0" ')
    text = text.replace("<joint ", '<joint armature=".1" ')
    return text.replace("<body ", f'<body name="{name}" ', 1)


def limb(name: str, pos: str, inside: str = "", joint: str = "", geom: str = "") -> str:
    """A link that hinges on the world, and what else it bears."""
    return f"""
    <body name="{name}" pos="{pos}"><joint name="{name}" axis="0 1 0" {joint}/>
      <geom name="{name}" type="capsule" fromto="0 0 0 .25 0 0" size=".04" {geom}/><site name="{name}" pos=".25 0 0"/>
      {inside}</body>"""


def boxes(count: int, spacing: float = 0.18) -> str:
    """A tower that leans."""
    return "".join(
        f'<body pos="{2 + 0.03 * k} 0 {0.09 + spacing * k}" euler="{5 * k} 0 {20 * k}"><freejoint/>'
        f'<geom type="box" size=".1 .12 .1" condim="{(1, 3, 4, 6)[k % 4]}"/></body>'
        for k in range(count)
    )


def wheel(corners: int) -> str:
    """Points of a mesh with two faces of so many corners."""
    turn = 2 * np.pi * np.arange(corners) / corners
    ring = np.stack([0.15 * np.cos(turn), 0.15 * np.sin(turn), np.full(corners, 0.05)], axis=1)
    return " ".join(f"{x:.5f}" for x in np.concatenate([ring, ring * (1, 1, -1)]).ravel())


GYM = f"""
<mujoco>
  <option iterations="3" ls_iterations="6" density="1.2" viscosity=".01" wind="1 0 0"><flag energy="enable"/></option>
  <worldbody>{FLOOR}
    {star(7, 6, "0 -2 .2", "star")}
    {limb("a", "0 0 .5", joint='damping=".1" frictionloss=".05"')}
    {limb("b", ".6 0 .5", joint='damping=".1" actuatorfrcrange="-1 1" range="-40 40"')}
    {limb("c", "1.2 0 .03", joint='damping=".2"', geom='margin=".01" friction="1 .01 .01" condim="6"')}
    {limb("d", "1.8 0 .5", '<camera name="eye" pos="0 0 .2" resolution="64 48"/>')}
    {limb("e", "2.4 0 .5", joint='range="-10 10" limited="true"')}
    <body name="pad" pos="3 0 .05" gravcomp=".3"><freejoint/><geom name="pad" size=".05 .05 .05" type="box"/>
      <site name="pad" size=".1"/></body>
    <site name="slider" pos="1.8 0 1"/><site name="still" pos="0 0 1"/>
  </worldbody>
  <tendon>
    <fixed name="sum" armature=".02" limited="true" range="-.1 .1" damping=".1" actuatorfrclimited="true"
      actuatorfrcrange="-.5 .5"><joint joint="a" coef="1"/><joint joint="b" coef="-.5"/></fixed>
    <fixed name="other" frictionloss=".1"><joint joint="c" coef="1"/><joint joint="e" coef=".7"/></fixed>
    <spatial name="cord" armature=".1"><site site="still"/><site site="a"/></spatial>
  </tendon>
  <equality><joint joint1="d" joint2="e" polycoef="0 1 .2 0 0"/><tendon tendon1="other" tendon2="sum"/></equality>
  <actuator>
    <muscle name="pull" joint="a" lengthrange=".2 1.2" ctrlrange="0 1"/><position joint="b" kp="5" forcerange="-2 2"/>
    <general joint="c" dyntype="filterexact" dynprm=".02" gainprm="2" actlimited="true" actrange="-.5 .5"/>
    <intvelocity joint="d" kp="2" actrange="-1 1"/><motor tendon="sum"/>
    <general name="thrust" site="d" refsite="still" gear="0 0 1 0 .1 0"/><adhesion body="pad" ctrlrange="0 1" gain="3"/>
    <general cranksite="d" slidersite="slider" cranklength=".6"/>
  </actuator>
  <sensor>
    <touch site="pad"/><rangefinder site="a" cutoff="2"/><distance geom1="a" geom2="pad" cutoff="5"/>
    <normal geom1="b" geom2="c" cutoff="5"/><fromto geom1="d" geom2="pad" cutoff="5"/><actuatorfrc actuator="pull"/>
    <jointlimitpos joint="e"/><jointlimitfrc joint="e"/><tendonlimitfrc tendon="sum"/><clock/><e_potential/>
    <e_kinetic/><camprojection site="a" camera="eye"/><framepos objtype="site" objname="a"/>
    <framequat objtype="body" objname="b" reftype="body" refname="c"/><frameangvel objtype="geom" objname="pad"/>
    <jointactuatorfrc joint="b"/><tendonactuatorfrc tendon="sum"/><velocimeter site="d"/><magnetometer site="d"/>
    <framexaxis objtype="body" objname="d"/><subtreecom body="pad"/><tendonpos tendon="cord"/>
    <actuatorpos actuator="thrust"/>
  </sensor>
</mujoco>"""

RUNGE = f"""
<mujoco>
  <option integrator="RK4" solver="PGS" iterations="5" timestep=".004"/>
  <worldbody>{FLOOR}{boxes(3)}
    {limb("a", "0 0 .05", limb("b", ".25 0 0", joint='range="-30 30" frictionloss=".1"'))}
  </worldbody>
  <actuator><general joint="a" dyntype="integrator" gainprm=".5"/><muscle joint="b" lengthrange=".2 1.2"/></actuator>
</mujoco>"""

IMPLICIT = f"""
<mujoco>
  <option integrator="implicit" cone="elliptic" iterations="2" density="800" viscosity=".1"/>
  <worldbody>{FLOOR}{boxes(2)}
    <body pos="0 0 .11"><freejoint/><geom type="ellipsoid" size=".2 .15 .1" fluidshape="ellipsoid"/>
      <body pos=".2 0 0"><joint type="ball" damping=".1" range="0 30" limited="true"/>
        <geom type="box" size=".1 .02 .05" fluidshape="ellipsoid"/></body></body>
    {limb("a", "0 1 .05", joint='damping=".3"')}
  </worldbody>
  <actuator><damper joint="a" kv=".4" ctrlrange="0 1"/></actuator>
</mujoco>"""

DIAGONAL = f"""
<mujoco>
  <option integrator="implicitfast" iterations="1"/>
  <worldbody>{FLOOR}{boxes(2)}{limb("a", "0 0 .05", joint='damping=".3"')}</worldbody>
  <actuator><position name="servo" joint="a" kp="9" kv=".5"/></actuator>
  <sensor><actuatorvel actuator="servo"/></sensor>
</mujoco>"""

DISCRETE = f"""
<mujoco>
  <option integrator="discrete" iterations="4"/>
  <worldbody>{FLOOR}{boxes(3)}
    {limb("a", "0 0 .05", limb("b", ".25 0 0", joint='stiffness="5" damping=".1"'))}</worldbody>
  <actuator><position name="servo" joint="a" kp="9" kv=".5"/></actuator>
</mujoco>"""

LARGE_TREE = f"""
<mujoco>
  <option iterations="2"/>
  <worldbody>{FLOOR}{star(13, 10, "0 0 .2", "star")}<frame pos="6 0 0">{boxes(2)}</frame></worldbody>
</mujoco>"""

LARGE_ISLAND = f"""
<mujoco>
  <option iterations="1" ls_iterations="4"/>
  <worldbody>{FLOOR}
    {"".join(star(10, 3, f"0 {k} .05", f"s{k}") for k in range(4))}
    <frame pos="6 0 0">{boxes(2)}</frame></worldbody>
  <equality>
    {"".join(f'<connect body1="s{k}" body2="s{k + 1}" anchor="0 .5 0" solref=".05 1"/>' for k in range(3))}
  </equality>
</mujoco>"""

MESHES = f"""
<mujoco>
  <option solver="CG" iterations="6" cone="elliptic" ccd_iterations="50" timestep=".003"/>
  <asset><mesh name="wheel" vertex="{wheel(40)}"/></asset>
  <worldbody>{FLOOR}
    {"".join(f'<body pos="{0.02 * k} 0 {0.05 + 0.1 * k}"><freejoint/><geom type="mesh" mesh="wheel"/></body>'
             for k in range(3))}
    <body pos="0 0 .44"><freejoint/><geom type="cylinder" size=".1 .1"/></body>{boxes(2)}</worldbody>
</mujoco>"""



def cloths(solver: str, iterations: int) -> str:
    """Two cloths that fall on things, and boxes that touch neither."""
    cloth = """<flexcomp name="{0}" type="grid" dim="2" count="4 3 1" spacing=".1 .1 .1" radius=".02" mass=".2"
        pos="{1} 0 .12"><edge equality="true" damping=".01"/></flexcomp>"""
    return f"""
    <mujoco>
      <option solver="{solver}" iterations="{iterations}"/>
      <worldbody>{FLOOR}{cloth.format("one", 0)}{cloth.format("two", -1)}
        <geom size=".1"/><body pos="-1 0 .05"><freejoint/><geom type="box" size=".06 .06 .05"/></body>
        <frame pos="1 0 0">{boxes(2)}</frame></worldbody>
    </mujoco>"""


LATTICE = f"""
<mujoco>
  <option solver="CG" iterations="20" timestep=".001"/>
  <worldbody>{FLOOR}
    <body name="block" pos="0 0 .2">
      <flexcomp name="cells" type="grid" dim="3" count="8 8 5" spacing=".03 .03 .03" radius=".005" mass="1"
        dof="trilinear"><elasticity young="2e4" poisson=".2" damping=".002"/><contact selfcollide="none"/></flexcomp>
    </body>
    <body pos="0 0 .42"><freejoint/><geom size=".08"/></body></worldbody>
</mujoco>"""

MANY = f"""
<mujoco>
  <worldbody>{FLOOR}{boxes(2)}
    {"".join(f'''<body pos="{k} 2 .019"><freejoint/><geom type="box" size=".3 .2 .02" mass="1"/>
      <replicate count="60" offset=".01 0 0"><geom size=".03" pos="-.3 -.2 .03" mass=".01"/>
        <geom size=".03" pos="-.3 .2 .03" mass=".01"/></replicate></body>''' for k in range(3))}</worldbody>
</mujoco>"""

ASLEEP = f"""
<mujoco>
  <option><flag sleep="enable"/></option>
  <worldbody>{FLOOR}{boxes(3)}
    <body pos="0 0 .1" sleep="init"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
    <body pos="0 .5 .1" sleep="init"><freejoint/><geom size=".1" condim="6"/></body>
    {limb("a", "-1 0 .05")}</worldbody>
</mujoco>"""

AHEAD = f"""
<mujoco>
  <option><flag speculative="enable"/></option>
  <asset><mesh name="wheel" vertex="{wheel(12)}"/></asset>
  <worldbody>{FLOOR}{boxes(2)}
    <body pos="0 0 .07"><freejoint/><geom type="mesh" mesh="wheel"/></body>
    <body pos="0 0 .3"><freejoint/><geom type="capsule" size=".05 .1"/></body>
    <body pos="0 1 .06"><freejoint/><geom size=".05"/></body></worldbody>
</mujoco>"""

FREE = """
<mujoco>
  <option><flag constraint="disable"/></option>
  <worldbody><body><joint axis="0 1 0" damping=".1"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
</mujoco>"""

CONTROLLED = """
<mujoco>
  <extension><plugin plugin="mujoco.pid"><instance name="pid"><config key="kp" value="4"/><config key="ki" value="3"/>
    <config key="kd" value=".4"/><config key="slewmax" value="3"/></instance></plugin></extension>
  <worldbody><body><joint name="slide" type="slide" axis="0 0 1"/><geom size=".1"/></body></worldbody>
  <actuator><plugin joint="slide" plugin="mujoco.pid" instance="pid" actdim="2"/></actuator>
</mujoco>"""

NOTHING_MOVES = f"<mujoco><worldbody>{FLOOR}<geom size='.1'/></worldbody></mujoco>"

SCENES = {
    "gym": GYM, "Runge-Kutta, Gauss-Seidel": RUNGE, "implicit": IMPLICIT, "diagonal": DIAGONAL, "discrete": DISCRETE,
    "large tree": LARGE_TREE, "large island": LARGE_ISLAND, "meshes": MESHES, "nothing moves": NOTHING_MOVES,
    "many geoms": MANY, "asleep": ASLEEP, "ahead of impact": AHEAD, "no rows": FREE, "controlled": CONTROLLED,
    "cloths": cloths("Newton", 2), "cloths, conjugate": cloths("CG", 5), "lattice": LATTICE,
}  # fmt: skip
