"""Mechanisms built through the builder's adders, and the same ones as MJCF: (builder, xml) pairs."""

from __future__ import annotations

import numpy as np

from kinema.model import JointDofConfig, ModelBuilder, ShapeConfig

NO_MASS = ShapeConfig(density=0.0)
OPTION = '<compiler angle="radian"/><option integrator="implicitfast" timestep=".005"/>'


def link(builder, mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.2, 0.3), xform=None):
    return builder.add_link(mass=mass, com=com, inertia=np.diag(inertia), xform=xform, lock_inertia=True)


def double_pendulum():
    builder = ModelBuilder()
    upper = link(builder, com=(0, 0, -0.5))
    lower = link(builder, 0.5, (0, 0.1, -0.25), (0.02, 0.03, 0.04))
    first = builder.add_joint_revolute(-1, upper, axis=(0, 1, 0), parent_xform=((0, 0, 2), (0, 0, 0, 1)), armature=0.05,
                                       friction=0.1)  # fmt: skip
    second = builder.add_joint_revolute(
        upper, lower, axis=(1, 0, 0), parent_xform=((0, 0, -1), (0, 0, np.sin(0.3), np.cos(0.3))),
        child_xform=((0, 0.1, 0.2), (np.sin(0.2), 0, 0, np.cos(0.2))),
    )  # fmt: skip
    builder.add_articulation([first, second])
    # the child's frame: X_p X_c^-1, worked out by hand in the document with frames
    xml = f"""<mujoco>{OPTION}<worldbody><body pos="0 0 2">
      <joint axis="0 1 0" armature=".05" frictionloss=".1"/><inertial pos="0 0 -.5" mass="1" diaginertia=".1 .2 .3"/>
      <frame pos="0 0 -1" quat="{np.cos(0.3)} 0 0 {np.sin(0.3)}"><frame quat="{np.cos(0.2)} {-np.sin(0.2)} 0 0">
      <body pos="0 -.1 -.2"><joint axis="1 0 0" pos="0 .1 .2"/>
      <inertial pos="0 .1 -.25" mass=".5" diaginertia=".02 .03 .04"/></body></frame></frame></body></worldbody>
      </mujoco>"""
    return builder, xml, {"qpos": [0.7, -0.4], "qvel": [0.5, 1.0]}


def cartpole():
    """Drives, limits with stiffness, damping, an inertia that is not diagonal; the document leaves {solref} open."""
    builder = ModelBuilder()
    cart = link(builder, 2.0)
    turn = np.array([[0.3, 0.05, 0.02], [0.05, 0.25, 0.01], [0.02, 0.01, 0.2]])
    pole = builder.add_link(mass=0.3, com=(0, 0, 0.5), inertia=turn, lock_inertia=True)
    slide = builder.add_joint_prismatic(
        -1, cart, axis=(1, 0, 0), limit_lower=-0.3, limit_upper=0.3, limit_ke=2000.0, limit_kd=40.0, target_ke=30.0,
        target_kd=4.0, target_pos=0.2, effort_limit=5.0,
    )  # fmt: skip
    hinge = builder.add_joint_revolute(cart, pole, axis=(0, 1, 0), damping=0.2)
    builder.add_articulation([slide, hinge])
    xml = f"""<mujoco>{OPTION}<worldbody><body><joint name="slide" type="slide" axis="1 0 0" limited="true"
      range="-.3 .3" actuatorfrcrange="-5 5" solreflimit="{{solref}}"/><inertial pos="0 0 0" mass="2"
      diaginertia=".1 .2 .3"/><body><joint axis="0 1 0" damping=".2"/><inertial pos="0 0 .5" mass=".3"
      fullinertia=".3 .25 .2 .05 .02 .01"/></body></body></worldbody>
      <actuator><position joint="slide" kp="30"/><velocity joint="slide" kv="4"/></actuator></mujoco>"""
    return builder, xml, {"qpos": [0.0, 0.4], "qvel": [2.0, 0.0], "ctrl": [0.2, 0.0]}


def falling_boxes():
    builder = ModelBuilder()
    cfg = ShapeConfig(density=500.0, mu=0.7)
    for k in range(2):
        turn = (np.sin(0.2 * k), 0, 0, np.cos(0.2 * k))
        box = builder.add_body(xform=((0.05 * k, 0, 0.2 + 0.3 * k), turn))
        builder.add_shape_box(box, hx=0.1, hy=0.12, hz=0.08, cfg=cfg)
    ball = builder.add_body(xform=((0.6, 0, 0.3), (0, 0, 0, 1)))
    builder.add_shape_sphere(ball, radius=0.1, cfg=cfg)
    builder.add_ground_plane()
    boxes = "".join(
        f'<body pos="{0.05 * k} 0 {0.2 + 0.3 * k}" quat="{np.cos(0.2 * k)} {np.sin(0.2 * k)} 0 0"><freejoint/>'
        '<geom type="box" size=".1 .12 .08" density="500" friction=".7"/></body>'
        for k in range(2)
    )
    xml = f"""<mujoco>{OPTION}<worldbody><geom type="plane" size="0 0 1"/>{boxes}
      <body pos=".6 0 .3"><freejoint/><geom size=".1" density="500" friction=".7"/></body></worldbody></mujoco>"""
    return builder, xml, {}


def quadruped():
    """Four legs of a D6 hip (two turns) and a sliding knee on a free trunk, driven to a stance, over a plane."""
    builder = ModelBuilder()
    cfg = ShapeConfig(density=400.0)
    trunk = builder.add_link(xform=((0, 0, 0.5), (0, 0, 0, 1)))
    builder.add_shape_box(trunk, hx=0.3, hy=0.15, hz=0.05, cfg=cfg)
    joints = [builder.add_joint_free(trunk)]
    legs, drives, targets = "", "", []
    for k, (x, y) in enumerate([(0.25, 0.2), (0.25, -0.2), (-0.25, 0.2), (-0.25, -0.2)]):
        thigh, shin = builder.add_link(), builder.add_link()
        at = ((0, 0, -0.1), (0, 0, 0, 1))
        builder.add_shape_capsule(thigh, radius=0.03, half_height=0.07, xform=at, cfg=cfg)
        builder.add_shape_sphere(shin, radius=0.04, cfg=cfg)
        turn = {"target_ke": 40.0, "target_kd": 2.0, "armature": 0.01}
        hip = [JointDofConfig(axis=(1, 0, 0), **turn), JointDofConfig(axis=(0, 1, 0), target_pos=0.2, **turn)]
        at = ((x, y, 0), (0, 0, 0, 1))
        joints.append(builder.add_joint_d6(trunk, thigh, parent_xform=at, angular_axes=hip))
        joints.append(builder.add_joint_prismatic(
            thigh, shin, axis=(0, 0, 1), parent_xform=((0, 0, -0.25), (0, 0, 0, 1)), target_ke=400.0, target_kd=20.0,
        ))  # fmt: skip
        legs += f"""<body name="thigh{k}" pos="{x} {y} 0"><joint name="a{k}" axis="1 0 0" armature=".01"/>
          <joint name="b{k}" axis="0 1 0" armature=".01"/>
          <geom type="capsule" size=".03 .07" pos="0 0 -.1" density="400"/>
          <body name="shin{k}" pos="0 0 -.25"><joint name="c{k}" type="slide" axis="0 0 1"/>
          <geom size=".04" density="400"/></body></body>"""
        for name, kp, kv, target in (("a", 40, 2, 0.0), ("b", 40, 2, 0.2), ("c", 400, 20, 0.0)):
            drives += f'<position joint="{name}{k}" kp="{kp}"/><velocity joint="{name}{k}" kv="{kv}"/>'
            targets += [target, 0.0]
    builder.add_articulation(joints)
    builder.add_ground_plane()
    xml = f"""<mujoco>{OPTION}<worldbody><geom type="plane" size="0 0 1"/><body pos="0 0 .5"><freejoint/>
      <geom type="box" size=".3 .15 .05" density="400"/>{legs}</body></worldbody>
      <actuator>{drives}</actuator></mujoco>"""
    return builder, xml, {"ctrl": targets}
