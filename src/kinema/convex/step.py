"""The step as a recipe: one line a stage, in MuJoCo's order. Stages a model has no use for are left out.

A loop over nothing costs nothing, so only what is long to compile is left out, and models of all sizes share kernels.
"""

from dataclasses import replace

import numpy as np

from kinema.collide.sdf import Fields
from kinema.convex import (
    actuation,
    adhesion,
    ahead,
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
    metric,
    passive,
    plastic,
    sensors,
    smooth,
    tendon,
    transmission,
    velocity,
)
from kinema.convex.constraint import assemble, exact
from kinema.convex.extension import NONE, Extension
from kinema.convex.flex import contact as flex_contact
from kinema.convex.flex import corotation, edges, elasticity, rod_force, yielding
from kinema.convex.flex import kinematics as vertices
from kinema.convex.flex.lists import sizes as flex_sizes
from kinema.convex.flex.tables import has_edge_forces, has_flexes
from kinema.convex.integrate import actuator_slope, advance, discrete, euler, implicit, rk4
from kinema.convex.integrate import derivatives as derivatives_of
from kinema.convex.layout import body_levels, lone_bodies
from kinema.convex.metric_pattern import is_discrete
from kinema.convex.sleep import awake
from kinema.convex.solve import dual, sparse
from kinema.convex.solve.dense import (
    Blocks,
    blocks_of,
    discrete_stages,
    euler_stages,
    implicit_stages,
    noslip_stages,
    shifted_stages,
    smooth_stages,
)
from kinema.convex.solve.islands import NO_ISLANDS, newton_stages
from kinema.convex.solve.islands import sizes as island_sizes
from kinema.convex.solve.native import WARP
from kinema.convex.solve.primal import newton
from kinema.convex.stage import Stage
from kinema.mujoco_enums import Disable, Enable, Integrator, Sensor, Solver

COM_VEL = Stage(velocity.com_vel, sweep="down", own=("cdof_dot",))


def position(m, collision: list[Stage], fields: Fields | None = None, *, cuda: bool = False) -> list[Stage]:
    """All that depends on position, but for the mass matrix; and the controls, which depend on nothing."""
    controls = actuation.control_stages(m)
    if awake.sleeps(m):
        detection = [*collision, *flex_contact.stages(m, fresh=not collision, cuda=cuda, fields=fields)]
        again = [*awake.contact_stages(), *detection] if detection else []
        return [
            *awake.begin_stages(),
            Stage(check.check_joint, over="njnt", advances=True),
            *kinematics.stages(),
            *flex_positions(m),
            *controls,
            *com.stages(),
            *flex_lengths(m),
            Stage(camera.camera_pose, over="ncam"),
            Stage(camera.light_pose, over="nlight"),
            *tendon.stages(m),
            *awake.tendon_stages(m),
            *detection,
            *again,
            *awake.equality_stages(m),
            *transmission.stages(m),
        ]
    inertial, fresh = com.stages(), not collision
    if ahead.looks_ahead(m):  # detection then asks how geoms move
        motion = [COM_VEL, *ahead.stages()]
        collision, inertial = [*inertial, *motion, *collision], []
    flexes = flex_contact.stages(m, fresh=fresh, cuda=cuda, fields=fields)
    return [
        *kinematics.stages(),
        *flex_positions(m),
        *(stage for stage in flexes if stage.is_cohort),
        *controls[:1],
        *collision,
        *(stage for stage in flexes if not stage.is_cohort),
        *inertial,
        *flex_lengths(m),
        Stage(camera.camera_pose, over="ncam"),
        Stage(camera.light_pose, over="nlight"),
        *controls[1:],
        *tendon.stages(m),
        *transmission.stages(m),
    ]


def flex_positions(m) -> list[Stage]:
    """Where vertices and elements of flexes are: detection asks for it."""
    if not has_flexes(m):
        return []
    cells = [Stage(corotation.node_place, over="nflexnode"), Stage(corotation.cell_turn, over="nflexcell")]
    return [
        Stage(vertices.vertex_position, over="nflexvert"), Stage(vertices.element_box, over="nflexelem"),
        *(cells if np.any(m.flex_interp) else []), *rod_force.frame_stages(m),
    ]  # fmt: skip


def flex_lengths(m) -> list[Stage]:
    """Lengths of edges and their Jacobians."""
    if not has_flexes(m):
        return []
    return [
        Stage(edges.vertex_place, over="nflexvert"), Stage(edges.edge_length, over="nflexedge", own=("flexedge_J",)),
    ]  # fmt: skip


def velocities(m, dense: Blocks | None = None, extension: Extension = NONE) -> list[Stage]:
    """All that depends on velocity, sensors of plugins between; and the mass matrix, whose recursion is one of them."""
    moving = extension.subtrees or sensors.sensor_types(m) & {Sensor.SUBTREELINVEL, Sensor.SUBTREEANGMOM}
    momentum = [replace(stage, once=True) for stage in velocity.subtree_stages()] if moving else []
    recipe = [
        *extension.at("position", m),
        *([] if ahead.looks_ahead(m) else [COM_VEL]),
        Stage(bias.body_force, sweep="down", own=("cdof_dot",)),
        Stage(bias.subtree_force, sweep="up"),
        Stage(mass.composite_inertia, sweep="up"),
        *momentum[:1],
        Stage(mass.mass_row, over="nv"),
        *momentum[1:2],
        Stage(bias.bias_force, over="nv"),
        Stage(passive.joint_spring, over="njnt"),
        Stage(passive.joint_damper, over="nv"),
    ]
    recipe += [Stage(tendon.tendon_velocity, over="ntendon")] if m.ntendon else []
    recipe += [Stage(transmission.actuator_velocity, over="nactuator")] if m.nactuator else []
    if tendon.has_armature(m):
        recipe += [Stage(mass.tendon_armature), Stage(tendon.tendon_bias)]
    if is_factored(m, dense):
        recipe.append(Stage(factor.factor_mass))
    if m.ntendon:
        recipe.append(Stage(tendon.tendon_passive))
    if has_flexes(m):
        recipe.append(Stage(edges.edge_velocity, over="nflexedge"))
        recipe += [Stage(edges.edge_forces)] if has_edge_forces(m) else []
        recipe += elasticity.stages(m)
    if np.any(m.body_gravcomp):
        recipe.append(Stage(passive.gravity_compensation))
    if m.opt.density or m.opt.viscosity:
        recipe.append(Stage(fluid.fluid))
    recipe += adhesion.stages(m)
    recipe += [Stage(passive.passive_total, over="nv"), *extension.at("passive", m)]
    return recipe + momentum[2:] + extension.at("velocity", m)


def dofs_a_lane(m) -> int:
    """Dofs that a lane keeps while rows are filled: one, two where most rows act on them all, or 0, none."""
    if m.nv <= WARP:
        return 1
    return 2 if m.nv <= 2 * WARP and np.max(m.tree_dofnum) > WARP else 0


def acceleration(
    m, dense: Blocks | None = None, extension: Extension = NONE, rows: int = 0, *, cuda: bool = False
) -> list[Stage]:
    """Unconstrained and constrained acceleration."""
    forces = [*actuation.stages(m, extension.at("actuation", m)), *awake.actuator_stages(m)]
    forces.append(Stage(smooth.smooth_force, over="nv"))
    # a step of Runge and Kutta starts all of its solves from where the last step ended, and keeps its own last one
    keep = [] if m.opt.integrator == Integrator.RK4 else [Stage(smooth.keep_acceleration, over="nv", advances=True)]
    unconstrained = smooth_stages(dense) if dense else [Stage(smooth.smooth_acceleration)]
    regularize, alone = [], []
    if is_discrete(m):
        forces += [*metric.stages(m, factored=is_factored(m, dense)), Stage(metric.shifted_force, over="nv")]
        unconstrained = discrete_stages(dense) if dense else metric.acceleration_stages(m)
        regularize, alone = metric.row_stages(m), discrete.free_body_stages(m)
    if exact.is_exact(m):
        regularize = exact.stages(m)
    if m.opt.disableflags & Disable.CONSTRAINT:
        return [*forces, *unconstrained, Stage(smooth.unconstrained, over="nv"), *alone, *keep]
    addresses, assembled = assemble.stages(m, in_lanes=dofs_a_lane(m) if dense is not None else 0, cuda=cuda)
    addresses = [] if awake.sleeps(m) else addresses  # there they come before velocities
    early = next((k for k, stage in enumerate(addresses) if stage.over == "ncon"), 0)  # contacts come later
    noslip = []
    if m.opt.noslip_iterations > 0:
        noslip = [Stage(dual.noslip(**dual.kinds(m)), lanes=True)]
        noslip += metric.noslip_stages(m, noslip_stages(dense) if dense else []) if is_discrete(m) else []
    solve = solver(m, rows, cuda=cuda)
    return [
        *forces, *addresses[:early], *unconstrained, *addresses[early:], *assembled, *regularize, *solve, *noslip,
        *alone, *keep,
    ]  # fmt: skip


def is_factored(m, dense: Blocks | None) -> bool:
    """Is the sparse factor of M needed? Groups on CUDA hold M themselves; solvers that go through memory do not."""
    return not dense or dual.is_dual(m) or sparse.is_conjugate(m) or exact.is_exact(m)


def solver(m, rows: int = 0, *, cuda: bool = False) -> list[Stage]:
    """The constraint solver the model asks for; on CUDA with room for so many rows."""
    at_once = is_discrete(m)
    if m.opt.solver == Solver.PGS:
        return [Stage(dual.projected_gauss_seidel(discrete=at_once, sparse=has_flexes(m)), lanes=True)]
    if has_flexes(m) or sparse.is_conjugate(m):
        return [sparse.stage(m, cuda)]
    return newton_stages(m, rows) if cuda and m.nv else [Stage(newton(discrete=at_once), lanes=True, alone=True)]


def derivatives(m) -> list[Stage]:
    """qDeriv, for the integrators that are implicit in velocity."""
    alone = derivatives_of.is_diagonal(m)
    damper = derivatives_of.damper_diagonal if alone else derivatives_of.damper_derivative
    actuator = actuator_slope.actuator_diagonal if alone else actuator_slope.actuator_derivative
    recipe = [Stage(damper, over="nv", own=("qDeriv",))]
    recipe += [Stage(derivatives_of.tendon_derivative)] if m.ntendon else []
    if actuation.is_active(m):
        recipe += [*actuation.slope_stages(m), Stage(actuator, over="nv", own=("qDeriv",))]
    has_fluid = m.opt.density or m.opt.viscosity
    if m.opt.integrator == Integrator.IMPLICIT:
        recipe.append(Stage(derivatives_of.bias_and_fluid_derivative if has_fluid else derivatives_of.bias_derivative))
    elif has_fluid:
        recipe.append(Stage(derivatives_of.fluid_derivative))
    return recipe


def integrator(m, dense: Blocks | None = None) -> list[Stage]:
    """The acceleration to step with, from that of continuous time; a Runge-Kutta step moves the state as well."""
    kind = m.opt.integrator
    choose = {
        Integrator.EULER: euler_stages(m, dense) if dense else [Stage(euler.euler)],
        Integrator.RK4: [Stage(rk4.rk4)],
        Integrator.IMPLICIT: [*derivatives(m), Stage(implicit.implicit)],
        Integrator.IMPLICITFAST: fast_stages(m, dense),
        Integrator.DISCRETE: [Stage(discrete.step_map, over="nv")],
    }[kind]
    # before the state moves, and before solves that are kernels of their own; as late as that, for it needs barriers
    at = 0 if kind == Integrator.RK4 else next((k for k, stage in enumerate(choose) if stage.lanes), len(choose))
    choose.insert(at, Stage(check.check_acceleration, over="nv"))
    return [replace(stage, advances=True) for stage in choose]


def fast_stages(m, dense: Blocks | None) -> list[Stage]:
    """implicitfast; free bodies on their own are solved in full."""
    diagonal = derivatives_of.is_diagonal(m)
    terms = implicit.implicitfast_diagonal if diagonal else implicit.implicitfast_row
    solve = [Stage(implicit.implicitfast_shifted if diagonal else implicit.implicitfast)]
    if dense:
        solve = shifted_stages(dense) if diagonal else implicit_stages(dense)
    alone = [Stage(implicit.free_body, over="njnt")] if np.any(lone_bodies(m)) else []
    return [*derivatives(m), Stage(terms, over="nv", own=("qDeriv",)), *solve, *alone]


def movement(m, extension: Extension = NONE) -> list[Stage]:
    """To the next state."""
    move = [*sensors.advance_stages(m), *actuation.advance_stages(m)]
    move += [Stage(rk4.advance_rk4)] if m.opt.integrator == Integrator.RK4 else advance.stages()
    if m.nplastic:
        move += [Stage(plastic.yield_springs), *rod_force.keep_stages(m), *yielding.stages(m)]
    move += extension.at("advance", m)
    return [replace(s, advances=True, once=True) for s in move]


def step(m, collision: list[Stage], extension: Extension = NONE, *, cuda: bool = False, rows: int = 0) -> list[Stage]:
    """mj_step; without the stages that advance, mj_forward. `rows`: room there is for them."""
    dense = blocks_of(m) if cuda and not has_flexes(m) else None
    if awake.sleeps(m):
        return sleeping_step(m, collision, extension, dense, rows, cuda=cuda)
    choose, read = integrator(m, dense), sensors.stages(m, extension)
    stages = [
        Stage(check.check_position, over="nq", advances=True),
        Stage(check.check_velocity, over="nv", advances=True),
        *position(m, collision, extension.fields, cuda=cuda),
        *velocities(m, dense, extension),
        *energies(m),
        *acceleration(m, dense, extension, rows, cuda=cuda),
        # only Runge-Kutta moves what sensors read
        *(read + choose if m.opt.integrator == Integrator.RK4 else choose + read),
        *movement(m, extension),
    ]
    return shared_out(m, stages) if cuda and m.ntree > 1 else stages


BY_TREE = {
    factor.factor_mass: factor.factor_tree_mass,
    smooth.smooth_acceleration: smooth.smooth_tree_acceleration,
    euler.euler: euler.euler_tree,
}
"""Stages over a world that trees may share out: on CUDA one thread would go through thousands of dofs."""


def shared_out(m, stages: list[Stage]) -> list[Stage]:
    """A recipe in which each tree is an item wherever it can be; where nothing is damped Euler asks no tree."""
    if not euler.has_damping(m):
        stages = [replace(s, func=euler.euler_undamped, over="nv") if s.func is euler.euler else s for s in stages]
    return [replace(s, func=BY_TREE[s.func], over="ntree") if s.func in BY_TREE else s for s in stages]


def sleeping_step(
    m, collision: list[Stage], extension: Extension, dense: Blocks | None, rows: int, *, cuda: bool = False
) -> list[Stage]:
    """mj_step where trees may sleep: who does is decided as soon as it is known who has rows."""
    choose, read = integrator(m, dense), sensors.stages(m, extension)
    addresses = [] if m.opt.disableflags & Disable.CONSTRAINT else assemble.stages(m)[0]
    return awake.awake_only([
        *position(m, collision, extension.fields, cuda=cuda),
        *addresses,
        *([] if m.opt.integrator == Integrator.RK4 else awake.fall_stages()),
        *velocities(m, dense, extension),
        *energies(m),
        *acceleration(m, dense, extension, rows, cuda=cuda),
        *(read + choose if m.opt.integrator == Integrator.RK4 else choose + read),
        *(awake.fall_at_the_end(movement(m, extension)) if m.opt.integrator == Integrator.RK4
          else movement(m, extension)),
        *awake.end_stages(),
    ], sensors.has_history(m))  # fmt: skip


def energies(m) -> list[Stage]:
    """Energy, where the model asks for it or has a sensor of it."""
    wanted = m.opt.enableflags & Enable.ENERGY or sensors.sensor_types(m) & {Sensor.E_POTENTIAL, Sensor.E_KINETIC}
    return [Stage(energy.energy, once=True)] if wanted else []


def inverse_dynamics(m, collision: list[Stage], extension: Extension = NONE) -> list[Stage]:
    """mj_inverse."""
    convert = [Stage(inverse.given_acceleration)]
    if m.opt.enableflags & Enable.INVDISCRETE and not is_discrete(m):
        convert = {
            Integrator.EULER: [Stage(inverse.undo_euler)],
            Integrator.RK4: convert,  # has no discrete inverse
            Integrator.IMPLICIT: [*actuation.stages(m), *derivatives(m), Stage(inverse.undo_implicit)],
            Integrator.IMPLICITFAST: [*actuation.stages(m), *derivatives(m), Stage(inverse.undo_implicitfast)],
        }[m.opt.integrator]
    at_once = is_discrete(m)
    if at_once:
        convert += [*actuation.stages(m), *metric.stages(m, factored=exact.is_exact(m))]
    constraints = [Stage(inverse.no_constraint)]
    if not m.opt.disableflags & Disable.CONSTRAINT:
        addresses, rows = assemble.stages(m)
        regularize = metric.row_stages(m) if at_once else []
        regularize = exact.stages(m) if exact.is_exact(m) else regularize
        given = inverse.sparse_inverse_constraint if has_flexes(m) else inverse.inverse_constraint
        constraints = [*addresses, *rows, *regularize, Stage(given)]
    force = discrete.inverse_stages(m) if at_once else [Stage(inverse.inverse_force)]
    return [
        *position(m, collision, extension.fields), *velocities(m, None, extension), *convert, *constraints,
        *extension.at("acceleration", m), *force,
    ]  # fmt: skip


def motion() -> list[Stage]:
    """Poses and velocities of bodies, for whoever shows the state after a step."""
    return [*kinematics.stages(), *com.stages(), Stage(velocity.com_vel, sweep="down")]


def poses(m) -> list[Stage]:
    """Where everything is that can be seen, for whoever draws the state."""
    return [
        *kinematics.stages(),
        *com.stages(),
        Stage(camera.camera_pose, over="ncam"),
        Stage(camera.light_pose, over="nlight"),
        *tendon.stages(m),
    ]


def substeps(m) -> int:
    """How many times the recipe is run for one time step."""
    return 4 if m.opt.integrator == Integrator.RK4 else 1


def scratch_sizes(m, rows: int = 0, *, cuda: bool = False) -> dict[str, int]:
    """Room that only some integrators need, as sizes of arrays in data.py, and what kernels ask of geoms at once."""
    rk4_only = int(m.opt.integrator == Integrator.RK4)
    implicit_only = int(m.opt.integrator in (Integrator.IMPLICIT, Integrator.IMPLICITFAST, Integrator.DISCRETE))
    return {
        "nq_rk4": rk4_only * m.nq,
        "nv_rk4": rk4_only * m.nv,
        "na_rk4": rk4_only * m.na,
        "nbody_implicit": implicit_only * m.nbody,
        "nlevel": (depth := int(body_levels(m).max()) + 1),
        "nlevelend": depth + 1,
        "flg_surfacevel": int(np.any(m.geom_surfacevel)),
        **metric.sizes(m),
        **flex_sizes(m),
        **sparse.sizes(m, rows, cuda),
        **ahead.sizes(m),
        **assemble.sizes(m),
        **exact.sizes(m, cuda=cuda),
        **awake.sizes(m),
        **(island_sizes(m, rows) if cuda and not has_flexes(m) else NO_ISLANDS),
        **dual.sizes(m),
    }
