"""A model that has something of everything."""

from __future__ import annotations

import warnings

import numpy as np
import warp as wp

from kinema.model import EqType, Heightfield, Mesh, Model, ModelBuilder


class Splats:
    """The least a Gaussian source needs."""

    count = 3


def rich_template() -> ModelBuilder:
    b = ModelBuilder()
    base = b.add_link(mass=1.0, inertia=np.eye(3), label="base")
    tip = b.add_link(mass=1.0, inertia=np.eye(3) * 0.1)
    joints = [
        b.add_joint_free(base),
        b.add_joint_revolute(base, tip, axis=(0, 1, 0), parent_xform=((0, 0, 0.5), (0, 0, 0, 1))),
    ]
    b.add_articulation(joints, label="robot")
    b.add_shape_box(base, hx=0.1, hy=0.1, hz=0.1)
    b.add_shape_capsule(tip, radius=0.05, half_height=0.1)
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    mesh = Mesh(corners, [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3])
    b.add_shape_mesh(b.add_body(label="lump"), mesh=mesh)
    b.add_shape_gaussian(tip, gaussian=Splats())
    b.add_constraint_mimic(joints[1], joints[0], label="follow")
    b.add_equality_constraint_connect(base, tip, (0.0, 0.0, 0.1), label="hold")
    b.add_equality_constraint_weld(base, tip)
    b.add_equality_constraint(EqType.JOINT, joint1=joints[1], polycoef=[0, 1, 0, 0, 0])
    b.add_muscle([base, tip], [(0, 0, 0), (0, 0, 1)], 1, 1, 1, 1, 1)
    b.add_soft_grid(pos=(0, 0, 2), rot=(0, 0, 0, 1), vel=(0, 0, 0), dim_x=1, dim_y=1, dim_z=1, cell_x=0.1, cell_y=0.1,
                    cell_z=0.1, density=1.0, k_mu=1.0, k_lambda=1.0, k_damp=0.0)  # fmt: skip
    b.add_spring(0, 1, 1.0, 0.1, 0.0)
    b.color()
    return b


def rich_builder(worlds: int = 2, **options: object) -> ModelBuilder:
    b = ModelBuilder()
    for name, value in options.items():
        setattr(b, name, value)
    b.add_ground_plane()
    b.add_shape_heightfield(heightfield=Heightfield(np.arange(6.0), nrow=2, ncol=3))
    b.replicate(rich_template(), worlds, spacing=(1.0, 0.0, 0.0))
    return b


def rich_model(worlds: int = 2, **options: object) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rich_builder(worlds, **options).finalize("cpu")


def host(value: object) -> object:
    return value.numpy() if isinstance(value, wp.array) else value
