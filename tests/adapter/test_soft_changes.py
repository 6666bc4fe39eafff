"""Numbers of cloth, soft bodies and ropes that change after a model was finalized: seen world by world, or refused."""

import numpy as np
import pytest
import warp as wp

from kinema import ModelBuilder
from kinema.errors import BuildError
from kinema.model import ModelFlags, ParticleFlags
from kinema.solvers import SolverConvex, SolverMuJoCo

from .soft import block, cloth, contacts, jittered, rope, staged

__all__ = ["staged"]
pytestmark = pytest.mark.usefixtures("staged")

PROPERTIES = ModelFlags.MODEL_PROPERTIES
ARM = """<mujoco><worldbody><body pos="3 0 1"><joint axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></worldbody></mujoco>"""


def soft(builder: ModelBuilder) -> None:
    rope(builder, 3)
    cloth(builder, 1)
    block(builder, 1, pos=(1.0, 0.0, 0.0))


def two_worlds(add, *, gravity: float = 0.0):
    template, builder = ModelBuilder(gravity=gravity), ModelBuilder(gravity=gravity)
    add(template)
    builder.replicate(template, 2)
    return builder.finalize(device="cpu")


def shaken(model):
    """A state in which both worlds are equally off their places, and move."""
    state, n = model.state(), model.particle_count // 2
    q, v = (np.tile(jittered(n, 0.003 * k), (2, 1)) for k in (1, 2))
    state.particle_q.assign((state.particle_q.numpy() + q).astype(np.float32))
    state.particle_qd.assign((20 * v).astype(np.float32))
    return state


def passive(solver, state) -> np.ndarray:
    """Elastic forces and damping of both worlds; of solvers with several engines in the order of worlds."""
    solver.forward(state)
    found = {}
    for batch in solver.batches:
        forces = [batch.engine.read(name) for name in ("qfrc_spring", "qfrc_damper")]
        for k, world in enumerate(batch.worlds.worlds):
            found[int(world)] = np.stack([force[k] for force in forces])
    return np.stack([found[0], found[1]])


CHANGES = {
    "spring_stiffness": lambda v: v * 1.5,
    "spring_damping": lambda v: v * 1.5,
    "spring_rest_length": lambda v: v * 1.5,
    "tri_materials": lambda v: v * np.float32([1.5, 1.2, 1.5, 1, 1]),
    "tri_poses": lambda v: v / np.float32(1.05),
    "edge_rest_angle": lambda v: v + np.float32(0.5),
    "edge_rest_length": lambda v: v * 1.5,
    "edge_bending_properties": lambda v: v * 1.5,
    "tet_materials": lambda v: v * np.float32([1.5, 1.2, 1.5]),
    "tet_poses": lambda v: v / np.float32(1.05),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_in_one_world_is_seen_there_and_nowhere_else(name):
    """By a solver that is notified and by a new one, in one engine: as where all worlds were built so."""
    model, other = two_worlds(soft), two_worlds(soft)
    solver, state = SolverConvex(model), shaken(model)
    before = passive(solver, state)
    values = getattr(model, name).numpy()
    half = len(values) // 2
    getattr(other, name).assign(CHANGES[name](values).astype(values.dtype))
    values[half:] = CHANGES[name](values[half:])
    getattr(model, name).assign(values)
    solver.notify_model_changed(PROPERTIES)
    fresh, changed = SolverConvex(model), SolverConvex(other)
    assert len(fresh.batches) == 1
    dt = min(each.stable_step for each in (solver, fresh, changed))
    for each in (solver, fresh, changed):
        each.batches[0].engine.set_parameter("timestep", dt)  # damping is that over a time step
    wanted = passive(changed, state)
    scale = np.abs(wanted).max()
    assert np.abs(wanted - before).max() > 1e-3
    for found in (passive(solver, state), passive(fresh, state)):
        assert np.abs(found[1] - wanted[1]).max() < 1e-5 * scale
        assert np.abs(found[0] - before[0])[0].max() < 1e-5 * scale


def test_a_stiffer_world_shortens_the_time_step_of_whoever_steps_the_engine():
    model = two_worlds(lambda b: cloth(b, 1))
    solver = SolverConvex(model)
    model.tri_materials.assign(model.tri_materials.numpy() * np.float32(400.0))
    solver.notify_model_changed(PROPERTIES)
    assert np.isclose(solver.batches[0].engine.read("timestep"), solver.stable_step).all()


@pytest.mark.parametrize("whole", [True, False])
def test_radii_of_elements_may_change(whole):
    def add(builder):
        cloth(builder, 1)
        builder.add_ground_plane()

    builder = ModelBuilder()
    add(builder)
    model = builder.finalize(device="cpu") if whole else two_worlds(add)
    solver, state = SolverConvex(model), model.state()
    assert not len(contacts(solver, state))
    model.particle_radius.fill_(0.08)
    solver.notify_model_changed(PROPERTIES)
    for each in (solver, SolverConvex(model)):
        assert np.isclose(contacts(each, state).dist.min(), 0.05 - 0.08, atol=1e-6)


@pytest.mark.parametrize("solver", [SolverConvex, lambda model: SolverMuJoCo(model, integrator="euler")])
def test_particles_that_are_fixed_later_need_a_new_solver_and_no_more(solver):
    """One world is pinned in a corner, the other is not: two engines."""
    model = two_worlds(lambda b: cloth(b, 2), gravity=-9.81)
    old = SolverConvex(model)
    flags = model.particle_flags.numpy()
    flags[2] = flags[2] & ~ParticleFlags.ACTIVE
    model.particle_flags = wp.array(flags, dtype=int, device="cpu")  # as Newton's programs do
    with pytest.raises(BuildError, match=r"structure of the model changed.*make a new solver"):
        old.notify_model_changed(PROPERTIES)
    new, state = solver(model), model.state()
    start, n = model.particle_q.numpy(), model.particle_count // 2
    assert len(new.batches) == 2
    for _ in range(5):
        new.step(state, state, None, None, 0.01)
    fallen = start[:, 2] - state.particle_q.numpy()[:, 2]
    assert fallen[2] == 0.0 and (np.delete(fallen, 2) > 1e-3).all()
    assert np.allclose(fallen[n:], 9.81 * 0.05**2 / 2, rtol=0.3)


def test_friction_of_shapes_may_differ_from_world_to_world_in_a_new_solver():
    """Contacts with flexes are mixed once an engine."""

    def add(builder):
        cloth(builder, 1, pos=(0.0, 0.0, 0.009))
        builder.add_ground_plane()

    model = two_worlds(add)
    old = SolverConvex(model)
    model.shape_material_mu.assign(np.float32([0.7, 0.9]))
    with pytest.raises(BuildError, match=r"geom_friction cannot differ per world.*new solver"):
        old.notify_model_changed(ModelFlags.SHAPE_PROPERTIES)
    new, state = SolverConvex(model), model.state()
    new.forward(state)
    found = {int(b.worlds.worlds[0]): b.engine.read("contact_friction")[0, 0, 0] for b in new.batches}
    assert found == pytest.approx({0: 0.7, 1: 0.9})


def test_rest_shapes_outlive_changes_beside_a_document():
    builder = ModelBuilder(gravity=0.0)
    builder.add_mjcf(ARM)
    rope(builder, 3)
    builder.spring_rest_length[:] = [0.08, 0.08]
    model = builder.finalize(device="cpu")
    solver, state = SolverConvex(model), model.state()
    model.particle_mass.assign(model.particle_mass.numpy() * np.float32(1.5))
    solver.notify_model_changed(PROPERTIES)
    solver.forward(state)
    host, engine = solver.batches[0].source.host, solver.batches[0].engine
    dof = int(host.body_dofadr[solver.batches[0].source.particles[2]])
    assert np.isclose(engine.read("qfrc_spring")[0, dof], -100.0 * 0.02, rtol=1e-5)


# ---------------------------------------------------------------------------------------------- arrays of states


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda s, m: setattr(s, "particle_q", None), r"State\.particle_q is None"),
        (lambda s, m: setattr(s, "particle_f", wp.zeros(3, dtype=wp.vec3, device="cpu")), "holds 3 of vec3f.* 4 of"),
        (lambda s, m: setattr(s, "particle_qd", wp.zeros(4, dtype=wp.vec3d, device="cpu")), "holds 4 of vec3d"),
        (lambda s, m: setattr(s, "particle_f", np.zeros((4, 3))), r"is a ndarray.*\.assign"),
    ],
)
def test_arrays_that_are_not_the_models_are_refused(spoil, words):
    builder = ModelBuilder()
    cloth(builder, 1)
    model = builder.finalize(device="cpu")
    solver, state = SolverConvex(model), model.state()
    spoil(state, model)
    with pytest.raises(BuildError, match=words):
        solver.step(state, state, None, None, 1e-3)


def test_forces_that_are_gone_do_not_act_any_more():
    """A state or control without forces has none, whatever the last one had."""
    builder = ModelBuilder(gravity=0.0)
    builder.add_particle((0, 0, 1), (0, 0, 0), 0.1, radius=0.01)
    builder.add_body(xform=((1, 0, 1), (0, 0, 0, 1)), mass=1.0, inertia=np.eye(3) * 0.01)
    model = builder.finalize(device="cpu")
    solver, state, control = SolverConvex(model), model.state(), model.control()
    state.particle_f.fill_(wp.vec3(0.0, 0.0, 1.0))
    state.body_f.fill_(wp.spatial_vector(0.0, 0.0, 1.0, 0.0, 0.0, 0.0))
    control.joint_f.fill_(1.0)
    solver.step(state, state, control, None, 1e-3)
    before = [np.array(array.numpy()) for array in (state.particle_qd, state.body_qd)]
    assert all(np.abs(v).max() > 1e-4 for v in before)
    state.particle_f = state.body_f = control.joint_f = None
    solver.step(state, state, control, None, 1e-3)
    for v, array in zip(before, (state.particle_qd, state.body_qd), strict=True):
        assert np.allclose(v, array.numpy(), atol=1e-7)


def test_a_state_of_a_smaller_model_is_refused():
    """A kernel would write beyond its end."""
    models = []
    for count in (3, 1):
        builder = ModelBuilder()
        for k in range(count):
            builder.add_body(xform=((k, 0, 0), (0, 0, 0, 1)), mass=1.0, inertia=np.eye(3) * 0.01)
        models.append(builder.finalize(device="cpu"))
    solver, state = SolverConvex(models[0]), models[1].state()
    with pytest.raises(BuildError, match=r"State\.joint_q holds 7 of float32, the solver's model 21"):
        solver.step(state, state, None, None, 1e-3)


# ---------------------------------------------------------------------------------------------- sleep


def at_rest(**more):
    """A cloth on the ground, in a solver that lets things sleep, until it does."""
    builder = ModelBuilder()
    builder.add_ground_plane()
    cloth(builder, 1, **{"pos": (0.0, 0.0, 0.0099), "tri_kd": 1.0, "edge_kd": 0.01, **more})
    model = builder.finalize(device="cpu")
    solver, state = SolverConvex(model, enable_sleeping=True), model.state()
    for _ in range(100):
        solver.step(state, state, None, None, 5e-3)
    return model, solver, state


def asleep(solver) -> np.ndarray:
    return solver.batches[0].engine.read("tree_asleep")[0] >= 0


def test_what_sleeps_goes_on_sleeping_wherever_its_world_was_placed():
    """Places of particles are rounded on the way to a state and back."""
    template, builder = ModelBuilder(), ModelBuilder()
    template.add_ground_plane()
    cloth(template, 1, pos=(0.0, 0.0, 0.0099), tri_kd=1.0, edge_kd=0.01)
    for k in range(3):
        builder.add_world(template, xform=((1.3 * k, 0.7 * k, 0.0), (0.0, 0.0, np.sin(0.2 * k), np.cos(0.2 * k))))
    model = builder.finalize(device="cpu")
    solver, state = SolverConvex(model, enable_sleeping=True), model.state()
    slept = []
    for _ in range(120):
        solver.step(state, state, None, None, 5e-3)
        slept.append((solver.batches[0].engine.read("tree_asleep") >= 0).all())
    assert all(slept[80:])


def test_cloth_sleeps_and_is_woken_by_forces_states_and_changes_of_the_model():
    def push(model, solver, state):
        force = state.particle_f.numpy()
        force[0] = [0.0, 0.0, 5.0]
        state.particle_f.assign(force)

    def lift(model, solver, state):
        state.particle_q.assign(state.particle_q.numpy() + np.float32([0.0, 0.0, 0.5]))

    def grow(model, solver, state):
        model.tri_poses.assign(model.tri_poses.numpy() / np.float32(1.05))
        solver.notify_model_changed(PROPERTIES)

    def turn(model, solver, state):
        model.set_gravity((0.0, 0.0, 3.0))
        solver.notify_model_changed(PROPERTIES)

    model, solver, state = at_rest()
    start, poses = state.particle_q.numpy().copy(), model.tri_poses.numpy().copy()
    for change in (push, lift, grow, turn):
        state.particle_q.assign(start)
        state.particle_qd.zero_()
        state.clear_forces()
        for _ in range(60):
            solver.step(state, state, None, None, 5e-3)
        assert asleep(solver).all(), change.__name__
        change(model, solver, state)
        for _ in range(5):
            solver.step(state, state, None, None, 5e-3)
        assert not asleep(solver).any() and np.abs(state.particle_qd.numpy()).max() > 1e-2, change.__name__
        model.tri_poses.assign(poses)
        model.set_gravity((0.0, 0.0, -9.81))
        solver.notify_model_changed(PROPERTIES)


def test_cloth_on_fixed_particles_stays_awake():
    """A state may move them."""
    _, solver, state = at_rest(fix_left=True)
    assert not asleep(solver).any()
    q = state.particle_q.numpy()
    state.particle_q.assign(q + np.float32([0.0, 0.0, 0.1]) * (q[:, :1] < 1e-6))
    for _ in range(10):
        solver.step(state, state, None, None, 5e-3)
    assert np.abs(state.particle_qd.numpy()).max() > 0.1
