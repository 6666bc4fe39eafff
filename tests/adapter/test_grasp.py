"""Robots of documents among cloth and soft bodies of a builder: grasping, draping, many worlds; by forces."""

import numpy as np
import pytest

from kinema import ModelBuilder
from kinema.solvers import SolverConvex

from .soft import GRAVITY, block, cloth, contacts, staged

__all__ = ["staged"]
pytestmark = pytest.mark.usefixtures("staged")

GRIPPER = """<mujoco><option timestep="0.002"/><worldbody>
  <body name="hand" pos="0 0 .3"><joint name="lift" type="slide" axis="0 0 1" damping="5"/>
    <geom type="box" size=".06 .03 .01" mass=".5" contype="0" conaffinity="0"/>
    <body name="left" pos="-.04 0 -.05"><joint name="left" type="slide" axis="1 0 0" damping="2"/>
      <geom name="left" type="box" size=".01 .02 .04" mass=".1" friction="1.5"/></body>
    <body name="right" pos=".04 0 -.05"><joint name="right" type="slide" axis="-1 0 0" damping="2"/>
      <geom name="right" type="box" size=".01 .02 .04" mass=".1" friction="1.5"/></body></body></worldbody>
  <actuator><position joint="lift" kp="5000" kv="100"/>
    <motor joint="left"/><motor joint="right"/></actuator></mujoco>"""


def gripper(soft, **more) -> ModelBuilder:
    builder = ModelBuilder()
    builder.add_mjcf(GRIPPER)
    soft(builder, **more)
    return builder


def squeeze(model, steps: int, grip: float, rise: float = 0.0):
    """Close the fingers, then lift, and hold."""
    solver = SolverConvex(model, cone="elliptic", impratio=10.0)  # what does not creep
    state, control = model.state(), model.control()
    ctrl = control.mujoco.ctrl.numpy().reshape(-1, 3)
    for k in range(steps):
        ctrl[:] = [rise * min(1.0, max(0.0, 3.0 * k / steps - 1.0)), grip, grip]
        control.mujoco.ctrl.assign(ctrl.ravel())
        solver.step(state, state, control, None, 1 / 250)
    return solver, state, control


def mean_forces(solver, state, control, model, steps: int = 40) -> tuple[dict[str, np.ndarray], float]:
    """What the fingers push what is soft with, and what would carry it as it moves: weight and gain of momentum."""
    mass = model.particle_mass.numpy()
    before, found = mass @ state.particle_qd.numpy()[:, 2], {"left": np.zeros(3), "right": np.zeros(3)}
    for _ in range(steps):
        table = contacts(solver, state, control)
        for name in found:
            found[name] = found[name] + table.between(name).world_force.sum(axis=0) / steps
        solver.step(state, state, control, None, 1 / 250)
    gained = mass @ state.particle_qd.numpy()[:, 2] - before
    return found, float(GRAVITY * mass.sum() + gained * 250 / steps)


def test_a_soft_block_is_squeezed_with_the_force_of_the_fingers_and_lifted():
    builder = gripper(
        block, cells=1, pos=(-0.02, -0.02, 0.23), cell_x=0.04, cell_y=0.04, cell_z=0.04, density=200.0, k_mu=5e3,
        k_lambda=5e3, k_damp=3.0, particle_radius=0.005,
    )  # fmt: skip
    builder.add_shape_box(-1, xform=((0, 0, 0.2145), (0, 0, 0, 1)), hx=0.012, hy=0.03, hz=0.01)
    model = builder.finalize(device="cpu")
    solver, state, control = squeeze(model, 150, grip=2.0, rise=0.04)
    q = state.particle_q.numpy()
    assert q[:, 2].min() > 0.26  # it went along
    found, risen = mean_forces(solver, state, control, model)
    for name, sign in (("left", 1.0), ("right", -1.0)):
        assert np.isclose(sign * found[name][0], 2.0, rtol=0.1), name  # each finger pushes with what it is given
    assert np.isclose((found["left"] + found["right"])[2], risen, rtol=0.1)


def light(builder: ModelBuilder, **more) -> None:
    """Cloth that takes few time steps a step."""
    cloth(builder, **{"tri_ke": 30.0, "tri_ka": 10.0, "tri_kd": 0.03, "edge_ke": 0.002, **more})


def test_cloth_is_pinched_and_carried():
    builder = gripper(light, cells=4, pos=(0.0, -0.1, 0.14), rot=(0.5, 0.5, 0.5, 0.5), particle_radius=0.005,
                      mass=0.01, tri_kd=0.06)  # fmt: skip
    model = builder.finalize(device="cpu")
    solver, state, control = squeeze(model, 150, grip=6.0, rise=0.04)
    q, start = state.particle_q.numpy(), model.particle_q.numpy()
    held = np.linalg.norm(start - [0.0, 0.0, 0.24], axis=1) < 0.03
    assert held.any()
    assert (q[held, 2] > start[held, 2] + 0.025).all()
    found, risen = mean_forces(solver, state, control, model)
    assert np.isclose((found["left"] + found["right"])[2], risen, rtol=0.1)


def test_cloth_drapes_over_a_sphere_which_bears_its_weight():
    builder = ModelBuilder()
    builder.add_shape_sphere(-1, xform=((0.1, 0.1, 0.0), (0, 0, 0, 1)), radius=0.06)
    light(builder, cells=4, pos=(0.0, 0.0, 0.0705), tri_kd=0.1)
    model = builder.finalize(device="cpu")
    model.soft_contact_mu = 2.0
    solver, state = SolverConvex(model), model.state()
    forces = []
    for k in range(160):
        solver.step(state, state, None, None, 1 / 200)
        if k >= 120:
            forces.append(contacts(solver, state).world_force.sum(axis=0))
    q = state.particle_q.numpy()
    assert np.linalg.norm(q - [0.1, 0.1, 0.0], axis=1).min() > 0.065
    assert q[[0, 4, 20, 24], 2].mean() < 0.02 < 0.06 < q[:, 2].max()  # around it, corners down
    weight = GRAVITY * model.particle_mass.numpy().sum()
    assert np.allclose(np.mean(forces, axis=0), [0.0, 0.0, weight], atol=0.05 * weight)


def test_cloth_and_a_robot_in_256_worlds():
    """A cloth falls onto a plate that a motor holds up; worlds with more gravity press harder."""
    template = ModelBuilder()
    template.add_mjcf("""<mujoco><option timestep="0.002"/><worldbody><body pos=".05 .05 0">
      <joint name="up" type="slide" axis="0 0 1" damping="20" stiffness="2000"/>
      <geom name="plate" type="box" size=".2 .2 .01" mass=".2"/></body></worldbody></mujoco>""")
    light(template, cells=1, pos=(0.0, 0.0, 0.021))
    builder = ModelBuilder()
    builder.replicate(template, 256, spacing=(1.0, 1.0, 0.0))
    model = builder.finalize(device="cpu")
    gravity = np.linspace(2.0, 12.0, 256)
    for world, g in enumerate(gravity.tolist()):
        model.set_gravity((0.0, 0.0, -g), world)
    solver, state = SolverConvex(model), model.state()
    for _ in range(60):
        solver.step(state, state, None, None, 1 / 200)
    table = contacts(solver, state)
    pressed = np.bincount(table.world, table.world_force[:, 2], 256)
    mass = model.particle_mass.numpy()[:4].sum()
    assert np.allclose(pressed, mass * gravity, rtol=0.05)
    down = state.joint_q.numpy()
    assert np.allclose(down, -(0.2 + mass) * gravity / 2000, rtol=0.05)
