"""The step as a recipe: one line a stage, in MuJoCo's order. Stages a model has no use for are left out.

A loop over nothing costs nothing, so only what is long to compile is left out, and models of all sizes share kernels.
"""

from dataclasses import replace

import numpy as np

from kinema.convex import (
    actuation,
    bias,
    camera,
    check,
    com,
    energy,
    factor,
    fluid,
    inverse,
    kinematics,
    mass,
    passive,
    plastic,
    sensors,
    smooth,
    tendon,
    transmission,
    velocity,
)
from kinema.convex.constraint import assemble
from kinema.convex.extension import NONE, Extension
from kinema.convex.integrate import actuator_slope, advance, euler, implicit, rk4
from kinema.convex.integrate import derivatives as derivatives_of
from kinema.convex.solve import dual
from kinema.convex.solve.dense import euler_stages, fits, smooth_stages
from kinema.convex.solve.primal import conjugate_gradient, newton
from kinema.convex.stage import Stage
from kinema.errors import BuildError

DISABLE_CONSTRAINT = 1
ENABLE_ENERGY, ENABLE_INVDISCRETE = 2, 8
POTENTIAL, KINETIC = 43, 44  # of mjtSensor
PGS, CG, NEWTON = range(3)
EULER, RK4, IMPLICIT, IMPLICITFAST, DISCRETE = range(5)


def position(m, collision: list[Stage], dense: bool = False) -> list[Stage]:
    """All that depends on position."""
    return [
        *kinematics.stages(),
        *com.stages(),
        Stage(camera.camera_pose, over="ncam"),
        Stage(camera.light_pose, over="nlight"),
        *tendon.stages(m),
        *mass.stages(),
        *([Stage(mass.tendon_armature)] if tendon.has_armature(m) else []),
        *([] if dense and not dual.is_dual(m) else [Stage(factor.factor_mass)]),
        *collision,
        *transmission.stages(m),
    ]


def velocities(m, extension: Extension = NONE) -> list[Stage]:
    """All that depends on velocity; sensors of plugins between."""
    recipe = extension.at("position", m)
    recipe += [Stage(tendon.tendon_velocity, over="ntendon")] if m.ntendon else []
    recipe += [Stage(transmission.actuator_velocity, over="nactuator")] if m.nactuator else []
    recipe += [
        Stage(velocity.com_vel),
        Stage(passive.joint_spring, over="njnt"),
        Stage(passive.joint_damper, over="nv"),
    ]
    if m.ntendon:
        recipe.append(Stage(tendon.tendon_passive))
    if np.any(m.body_gravcomp):
        recipe.append(Stage(passive.gravity_compensation))
    if m.opt.density or m.opt.viscosity:
        recipe.append(Stage(fluid.fluid))
    recipe += [Stage(passive.passive_total, over="nv"), *extension.at("passive", m)]
    recipe += [Stage(bias.bias_wrenches), Stage(bias.bias_force, over="nv")]
    if tendon.has_armature(m):
        recipe.append(Stage(tendon.tendon_bias))
    if extension.subtrees:
        recipe.append(Stage(velocity.subtree_velocity, once=True))
    return recipe + extension.at("velocity", m)


def acceleration(m, dense: bool = False, extension: Extension = NONE) -> list[Stage]:
    """Unconstrained and constrained acceleration."""
    forces = [
        *actuation.stages(m, extension.at("actuation", m)),
        Stage(smooth.smooth_sum, over="nv"),
        Stage(smooth.smooth_wrenches),
    ]
    unconstrained = smooth_stages(m.nv) if dense else [Stage(smooth.smooth_acceleration)]
    if m.opt.disableflags & DISABLE_CONSTRAINT:
        return [*forces, *unconstrained, Stage(smooth.unconstrained)]
    addresses, rows = assemble.stages(m)
    noslip = [Stage(dual.noslip(), lanes=True)] if m.opt.noslip_iterations > 0 else []
    return [*forces, *addresses, *unconstrained, *rows, solver(m), *noslip, Stage(smooth.keep_acceleration)]


def solver(m) -> Stage:
    """The constraint solver the model asks for."""
    if m.opt.solver == PGS:
        return Stage(dual.projected_gauss_seidel(), lanes=True)
    if m.opt.solver == CG:
        return Stage(conjugate_gradient(), lanes=True)
    return Stage(newton(m.nv), lanes=True, alone=True, blocks=4)


def derivatives(m) -> list[Stage]:
    """qDeriv, for the integrators that are implicit in velocity."""
    recipe = [Stage(derivatives_of.clear_derivative), Stage(derivatives_of.passive_derivative)]
    if actuation.is_active(m):
        recipe += [*actuation.slope_stages(m), Stage(actuator_slope.actuator_derivative)]
    has_fluid = m.opt.density or m.opt.viscosity
    if m.opt.integrator == IMPLICIT:
        recipe.append(Stage(derivatives_of.bias_and_fluid_derivative if has_fluid else derivatives_of.bias_derivative))
    elif has_fluid:
        recipe.append(Stage(derivatives_of.fluid_derivative))
    return recipe


def integration(m, dense: bool = False, extension: Extension = NONE) -> list[Stage]:
    """From acceleration to the next state."""
    kind = m.opt.integrator
    if kind == DISCRETE:
        raise BuildError("option integrator=\"discrete\" is not supported: use implicitfast, or Euler, implicit, RK4")
    choose = {
        EULER: euler_stages(m.nv) if dense else [Stage(euler.euler)],
        RK4: [Stage(rk4.rk4)],
        IMPLICIT: [*derivatives(m), Stage(implicit.implicit)],
        IMPLICITFAST: [*derivatives(m), Stage(implicit.implicitfast)],
    }[kind]
    move = [*sensors.advance_stages(m), *actuation.advance_stages(m)]
    move.append(Stage(rk4.advance_rk4 if kind == RK4 else advance.advance))
    if m.nplastic:
        move.append(Stage(plastic.yield_springs))
    move += extension.at("advance", m)
    return [
        *(replace(s, advances=True) for s in [Stage(check.check_acceleration), *choose]),
        *(replace(s, advances=True, once=True) for s in move),
    ]


def step(m, collision: list[Stage], extension: Extension = NONE, *, cuda: bool = False) -> list[Stage]:
    """mj_step; without the stages that advance, mj_forward."""
    dense = cuda and fits(m.nv) and m.opt.integrator in (EULER, RK4)
    return [
        Stage(check.check_state, advances=True),
        *position(m, collision, dense),
        *velocities(m, extension),
        *energies(m),
        *acceleration(m, dense, extension),
        *sensors.stages(m, extension),
        *integration(m, dense, extension),
    ]


def energies(m) -> list[Stage]:
    """Energy, where the model asks for it or has a sensor of it."""
    wanted = m.opt.enableflags & ENABLE_ENERGY or sensors.sensor_types(m) & {POTENTIAL, KINETIC}
    return [Stage(energy.energy, once=True)] if wanted else []


def inverse_dynamics(m, collision: list[Stage], extension: Extension = NONE) -> list[Stage]:
    """mj_inverse."""
    convert = [Stage(inverse.given_acceleration)]
    if m.opt.enableflags & ENABLE_INVDISCRETE:
        convert = {
            EULER: [Stage(inverse.undo_euler)],
            RK4: convert,  # has no discrete inverse
            IMPLICIT: [*actuation.stages(m), *derivatives(m), Stage(inverse.undo_implicit)],
            IMPLICITFAST: [*actuation.stages(m), *derivatives(m), Stage(inverse.undo_implicitfast)],
        }[m.opt.integrator]
    constraints = [Stage(inverse.no_constraint)]
    if not m.opt.disableflags & DISABLE_CONSTRAINT:
        addresses, rows = assemble.stages(m)
        constraints = [*addresses, *rows, Stage(inverse.inverse_constraint)]
    return [
        *position(m, collision), *velocities(m, extension), *convert, *constraints, *extension.at("acceleration", m),
        Stage(inverse.inverse_force),
    ]  # fmt: skip


def motion() -> list[Stage]:
    """Poses and velocities of bodies, for whoever shows the state after a step."""
    return [*kinematics.stages(), *com.stages(), Stage(velocity.com_vel)]


def substeps(m) -> int:
    """How many times the recipe is run for one time step."""
    return 4 if m.opt.integrator == RK4 else 1


def scratch_sizes(m) -> dict[str, int]:
    """Room that only some integrators need, as sizes of arrays in data.py."""
    rk4_only = int(m.opt.integrator == RK4)
    implicit_only = int(m.opt.integrator in (IMPLICIT, IMPLICITFAST))
    return {
        "nq_rk4": rk4_only * m.nq,
        "nv_rk4": rk4_only * m.nv,
        "na_rk4": rk4_only * m.na,
        "nbody_implicit": implicit_only * m.nbody,
        **dual.sizes(m),
    }
