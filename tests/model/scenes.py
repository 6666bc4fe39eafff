"""Scenes built through calls that Newton and Kinema share; each takes the library and returns a builder."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import warp as wp


def turned(x: float, y: float, z: float, angle: float = 0.0, axis: tuple = (0.0, 0.0, 1.0)) -> wp.transform:
    return wp.transform(wp.vec3(x, y, z), wp.quat_from_axis_angle(wp.vec3(*axis), angle))


def arm(lib: ModuleType) -> Any:
    b = lib.ModelBuilder()
    base = b.add_link(xform=turned(0, 0, 1), mass=2.0, inertia=np.diag([0.1, 0.2, 0.25]), label="base")
    upper = b.add_link(com=(0.0, 0.1, 0.2), label="upper")
    lower = b.add_link(mass=0.5, inertia=np.eye(3) * 0.01)
    b.add_shape_box(base, hx=0.1, hy=0.2, hz=0.3, xform=turned(0.1, 0, 0, 0.3))
    b.add_shape_capsule(upper, radius=0.05, half_height=0.3, xform=turned(0, 0.1, 0, 1.0, (1, 0, 0)))
    b.add_shape_sphere(lower, radius=0.1)
    joints = [
        b.add_joint_fixed(-1, base, parent_xform=turned(0, 0, 1)),
        b.add_joint_revolute(base, upper, axis=(0, 1, 0), parent_xform=turned(0, 0, 0.3),
                             child_xform=turned(0, 0, -0.3),
                             limit_lower=-1.0, limit_upper=2.0, target_pos=3.0, target_ke=10.0, target_kd=1.0,
                             armature=0.1, friction=0.2, damping=0.3, effort_limit=5.0, velocity_limit=7.0),
        b.add_joint_prismatic(upper, lower, axis=(0, 0, 1), limit_lower=0.0, limit_upper=float("inf"), target_kd=2.0),
    ]  # fmt: skip
    b.add_articulation(joints, label="arm")
    b.add_shape_cylinder(lower, radius=0.1, half_height=0.2)
    return b


def arm_alone(lib: ModuleType) -> Any:
    return arm(lib)


def all_joints(lib: ModuleType) -> Any:
    b = lib.ModelBuilder(up_axis=lib.Axis.Y, gravity=(0.0, -1.62, 0.0))
    cfg = b.JointDofConfig
    bodies = [b.add_link(xform=turned(i, 0.1 * i, 0, 0.2 * i), mass=1.0, inertia=np.eye(3)) for i in range(8)]
    joints = [
        b.add_joint_free(bodies[0], parent_xform=turned(0, 1, 0, 0.5), child_xform=turned(0.1, 0, 0)),
        b.add_joint_ball(bodies[0], bodies[1], armature=0.2, friction=0.1),
        b.add_joint_distance(bodies[1], bodies[2], min_distance=0.1, max_distance=2.0),
        b.add_joint_d6(
            bodies[2], bodies[3],
            linear_axes=[cfg(axis=lib.Axis.X, limit_lower=-1, limit_upper=1), cfg(axis=(0, 1, 1))],
            angular_axes=[cfg(axis=lib.Axis.Z, target_ke=5.0, target_pos=0.3)],
        ),
        b.add_joint_revolute(bodies[3], bodies[4], axis=cfg(axis=(1, 1, 0), target_vel=2.0), enabled=False),
        b.add_joint_prismatic(bodies[4], bodies[5], collision_filter_parent=False),
        b.add_joint_fixed(bodies[5], bodies[6]),
        b.add_joint_rod(bodies[6], bodies[7], stretch_damping=1.0, bend_stiffness=2.0, twist_damping=0.3),
    ]  # fmt: skip
    b.add_articulation(joints)
    b.add_constraint_mimic(joints[4], joints[5], coef0=0.5, coef1=2.0, label="mimic")
    b.set_joint_mimic(joints[4], joints[5], coeffs=(0.1, 0.2))
    return b


def all_shapes(lib: ModuleType) -> Any:
    b = lib.ModelBuilder()
    body = b.add_body(label="thing")
    other = b.add_body(xform=turned(3, 0, 0, 0.7))
    cfg = b.ShapeConfig(density=250.0, mu=0.3, ke=1.0, margin=0.01, gap=0.02, collision_group=2)
    b.add_shape_sphere(body, radius=0.3, cfg=cfg)
    b.add_shape_box(body, hx=0.1, hy=0.2, hz=0.3, xform=turned(0.5, 0, 0, 0.3, (1, 0, 0)))
    b.add_shape_capsule(body, radius=0.1, half_height=0.4, color=(0.1, 0.2, 0.3))
    b.add_shape_cylinder(body, radius=0.2, half_height=0.1, barrel_radius=0.5)
    b.add_shape_cone(other, radius=0.2, half_height=0.3, xform=turned(0, 0, 0.2, 0.4, (0, 1, 0)))
    b.add_shape_ellipsoid(other, rx=0.1, ry=0.2, rz=0.3)
    b.add_shape_plane((0.0, 1.0, 1.0, 0.5), width=2.0, length=3.0)
    b.add_shape_box(other, hx=0.2, hy=0.2, hz=0.2, cfg=b.ShapeConfig(is_solid=False, margin=0.02))
    b.add_shape_cone(other, radius=0.2, half_height=0.3, cfg=b.ShapeConfig(is_solid=False, margin=0.02))
    b.add_site(body, xform=turned(0, 0, 1), label="tip")
    b.add_shape_sphere(other, radius=0.1, as_site=True)
    b.add_ground_plane(height=-0.5)
    locked = b.add_body(mass=1.0, inertia=np.eye(3), lock_inertia=True, is_kinematic=True)
    b.add_shape_box(locked)
    return b


def meshes(lib: ModuleType) -> Any:
    b = lib.ModelBuilder()
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], np.float32)
    mesh = lib.Mesh(corners, np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], np.int32))
    first, second = b.add_body(), b.add_body()
    b.add_shape_mesh(first, mesh=mesh, scale=(0.5, 0.5, 0.5))
    b.add_shape_convex_hull(second, mesh=mesh, xform=turned(0, 1, 0, 0.4))
    heights = lib.Heightfield(np.arange(12.0).reshape(3, 4), nrow=3, ncol=4, hx=2.0, hy=1.0)
    b.add_shape_heightfield(heightfield=heights)
    return b


def worlds_of_arms(lib: ModuleType) -> Any:
    b = lib.ModelBuilder()
    b.add_ground_plane()
    b.replicate(arm(lib), 3, spacing=(2.0, 0.0, 0.0))
    return b


def mixed_worlds(lib: ModuleType) -> Any:
    b = lib.ModelBuilder()
    b.add_ground_plane()
    b.add_world(arm(lib), label_prefix="a")
    b.add_world(all_shapes(lib), xform=turned(1, 2, 3, 0.5))
    b.add_world(arm(lib), label_prefix="b")
    b.begin_world(gravity=(0.0, 0.0, -1.0))
    b.add_builder(arm(lib), xform=turned(0, 0, 1, 0.3, (1, 0, 0)))
    b.add_builder(arm(lib), xform=turned(0, 5, 1))
    b.end_world()
    b.add_shape_box(-1, hx=1.0)
    return b


def turned_worlds(lib: ModuleType) -> Any:
    robot = lib.ModelBuilder()
    body = robot.add_body(xform=turned(0.1, 0.2, 0.3, 0.6, (1, 0, 0)), mass=1.0, inertia=np.eye(3))
    robot.joint_qd[:6] = [1, 2, 3, 4, 5, 6]
    robot.body_qd[body] = wp.spatial_vector(1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    robot.add_shape_sphere(-1, xform=turned(1, 0, 0), radius=0.1)
    arm_base = robot.add_link(mass=1.0, inertia=np.eye(3))
    robot.add_articulation([robot.add_joint_revolute(-1, arm_base, parent_xform=turned(0, 1, 0, 0.2))])
    b = lib.ModelBuilder()
    b.replicate(robot, 2, xforms=[turned(1, 2, 3, 0.5, (0, 1, 0)), turned(0, 0, 0)], label_prefixes=["x", None])
    return b


def direct_worlds(lib: ModuleType) -> Any:
    b = lib.ModelBuilder()
    ground = b.add_ground_plane()
    for w in range(3):
        b.begin_world()
        body = b.add_body(xform=turned(w, 0, 0), mass=1.0, inertia=np.eye(3))
        shape = b.add_shape_sphere(body, radius=0.1 + 0.1 * w)
        b.add_shape_box(b.add_body(mass=1.0, inertia=np.eye(3)))
        if w == 1:
            b.add_shape_collision_filter_pair(ground, shape)
        b.end_world()
    return b


def groups_and_filters(lib: ModuleType) -> Any:
    template = lib.ModelBuilder()
    for group in (1, 2, -1, -2, 0):
        body = template.add_body(mass=1.0, inertia=np.eye(3))
        template.add_shape_sphere(body, radius=0.1, cfg=template.ShapeConfig(collision_group=group))
        template.add_shape_box(body, cfg=template.ShapeConfig(has_shape_collision=group != 2))
    template.add_shape_collision_filter_pair(0, 3)
    b = lib.ModelBuilder()
    b.add_shape_box(-1)
    b.replicate(template, 2)
    return b


def cloth(lib: ModuleType) -> Any:
    b = lib.ModelBuilder()
    b.add_cloth_grid(pos=wp.vec3(0, 0, 2), rot=wp.quat_from_axis_angle(wp.vec3(1, 0, 0), 0.5), vel=wp.vec3(0, 0, 1),
                     dim_x=4, dim_y=3, cell_x=0.1, cell_y=0.2, mass=0.1, fix_left=True, tri_ke=1.0,
                     edge_ke=2.0, particle_radius=0.05)  # fmt: skip
    vertices = [wp.vec3(0, 0, 0), wp.vec3(1, 0, 0), wp.vec3(1, 1, 0.2), wp.vec3(0, 1, 0)]
    b.add_cloth_mesh(pos=wp.vec3(3, 0, 0), rot=wp.quat_identity(), scale=0.5, vel=wp.vec3(0, 0, 0), vertices=vertices,
                     indices=[0, 1, 2, 0, 2, 3], density=0.3, color=(0.1, 0.2, 0.3), opacity=0.5)  # fmt: skip
    return b


def soft(lib: ModuleType) -> Any:
    template = lib.ModelBuilder()
    template.add_soft_grid(pos=wp.vec3(0, 0, 1), rot=wp.quat_identity(), vel=wp.vec3(0, 0, 0), dim_x=2, dim_y=1,
                           dim_z=2, cell_x=0.1, cell_y=0.2, cell_z=0.3, density=10.0, k_mu=1.0, k_lambda=2.0,
                           k_damp=0.1, fix_bottom=True)  # fmt: skip
    vertices = [wp.vec3(0, 0, 0), wp.vec3(1, 0, 0), wp.vec3(0, 1, 0), wp.vec3(0, 0, 1)]
    template.add_soft_mesh(pos=wp.vec3(3, 0, 0), rot=wp.quat_identity(), scale=2.0, vel=wp.vec3(0, 0, 0),
                           vertices=vertices, indices=[0, 1, 2, 3], density=4.0, k_mu=5.0, k_lambda=6.0,
                           k_damp=0.2)  # fmt: skip
    b = lib.ModelBuilder()
    b.replicate(template, 2, spacing=(1.0, 1.0, 0.0))
    return b


def elements(lib: ModuleType) -> Any:
    b = lib.ModelBuilder()
    for i in range(5):
        b.add_particle(wp.vec3(i % 2, i // 2, 0.5 * i), wp.vec3(0, 0, i), float(i), radius=0.1 * (i + 1))
    b.add_particles([wp.vec3(5, 0, 0), wp.vec3(6, 0, 0)], [wp.vec3(0, 0, 0)] * 2, [1.0, 2.0])
    b.add_spring(0, 1, 10.0, 1.0, 0.5)
    b.add_triangle(0, 1, 2, tri_ke=1.0)
    b.add_edge(0, 3, 1, 2)
    b.add_edge(-1, 3, 1, 2, rest=0.3, edge_ke=4.0)
    b.add_tetrahedron(0, 1, 2, 4)
    bodies = [b.add_body(mass=1.0, inertia=np.eye(3)) for _ in range(2)]
    b.add_muscle(bodies, [wp.vec3(0, 0, 0), wp.vec3(0, 0, 1)], 1.0, 2.0, 3.0, 4.0, 5.0)
    b.add_particle_grid(pos=wp.vec3(0, 0, 3), rot=wp.quat_identity(), vel=wp.vec3(0, 0, 0), dim_x=2, dim_y=2, dim_z=1,
                        cell_x=0.1, cell_y=0.1, cell_z=0.1, mass=0.5, jitter=0.01, radius_std=0.001)  # fmt: skip
    return b


def attributes(lib: ModuleType) -> Any:
    frequency, assignment = lib.Model.AttributeFrequency, lib.Model.AttributeAssignment

    def register(b: Any) -> Any:
        attribute = b.CustomAttribute
        b.add_custom_frequency(b.CustomFrequency(name="pair", namespace="mine"))
        for name, kind, dtype, more in (
            ("weight", frequency.BODY, wp.float32, {"default": 2.5}),
            ("spin", frequency.JOINT_DOF, wp.float32, {}),
            ("home", frequency.JOINT_COORD, wp.float32, {"default": -1.0}),
            ("tag", frequency.SHAPE, wp.vec2i, {"default": wp.vec2i(-1, -1)}),
            ("turn", frequency.ARTICULATION, wp.quat, {}),
            ("heat", frequency.BODY, wp.float32, {"assignment": assignment.STATE, "namespace": "mine"}),
            ("push", frequency.JOINT, wp.vec3, {"assignment": assignment.CONTROL, "namespace": "mine"}),
        ):
            b.add_custom_attribute(attribute(name=name, frequency=kind, dtype=dtype, **more))
        for name, dtype, references in (
            ("pair_a", wp.int32, "shape"), ("pair_b", wp.int32, "body"), ("pair_dof", wp.int32, "joint_dof"),
            ("pair_world", wp.int32, "world"), ("pair_next", wp.int32, "mine:pair"), ("pair_size", wp.float32, None),
        ):  # fmt: skip
            b.add_custom_attribute(attribute(name=name, namespace="mine", frequency="mine:pair", dtype=dtype,
                                             default=-1 if references else 0.5, references=references))  # fmt: skip
        return b

    template = register(lib.ModelBuilder())
    first = template.add_link(mass=1.0, inertia=np.eye(3), custom_attributes={"weight": 7.0, "mine:heat": 300.0})
    second = template.add_link(mass=1.0, inertia=np.eye(3))
    j0 = template.add_joint_free(first, custom_attributes={"spin": [1, 2, 3, 4, 5, 6], "home": {2: 9.0}})
    j1 = template.add_joint_revolute(first, second, custom_attributes={"spin": 3.0, "mine:push": wp.vec3(1, 2, 3)})
    template.add_articulation([j0, j1], custom_attributes={"turn": wp.quat(0.0, 1.0, 0.0, 0.0)})
    shapes = [template.add_shape_sphere(body, custom_attributes={"tag": (body, 5)}) for body in (first, second)]
    template.add_shape_box(second)
    for i in range(3):
        template.add_custom_values(
            **{"mine:pair_a": shapes[i % 2], "mine:pair_b": -1 if i == 1 else second, "mine:pair_dof": 6,
               "mine:pair_next": i - 1, "mine:pair_size": 0.1 * i}
        )  # fmt: skip
    b = register(lib.ModelBuilder())
    b.add_ground_plane()
    b.add_world(template)
    b.add_world(template)
    return b


SCENES = (
    arm_alone, all_joints, all_shapes, meshes, worlds_of_arms, mixed_worlds, turned_worlds, direct_worlds,
    groups_and_filters, cloth, soft, elements, attributes,
)  # fmt: skip
