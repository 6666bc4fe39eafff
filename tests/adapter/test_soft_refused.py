"""What is said of particles and does nothing is refused by name or warned of; what looks odd and has a meaning acts."""

import numpy as np
import pytest

from kinema import ModelBuilder
from kinema.adapter.deformables import SMALLEST_RADIUS
from kinema.errors import ArgumentNotNeeded, BuildError
from kinema.solvers import SolverConvex, SolverMuJoCo

from .soft import GRAVITY, block, cloth, contacts, elastic_force, rope, staged

__all__ = ["staged"]
pytestmark = pytest.mark.usefixtures("staged")


def built(*adders, **options):
    builder = ModelBuilder(**options)
    for add in adders:
        add(builder)
    return builder.finalize(device="cpu")


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (lambda b: cloth(b, tri_ke=0.0, tri_ka=0.0, tri_kd=1.0), r"tri_materials\[0\].*no stiffness.*tri_kd=0"),
        (lambda b: cloth(b, edge_ke=0.0, edge_kd=1.0), r"edge_bending_properties\[1\].*edge_kd=0"),
        (lambda b: block(b, k_mu=0.0, k_lambda=0.0), r"tet_materials\[0\].*k_damp=0"),
    ],
)
def test_damping_without_stiffness(add, words):
    with pytest.raises(BuildError, match=words):
        SolverConvex(built(add))


def test_springs_do_not_act_by_themselves():
    model = built(rope)
    model.spring_control.fill_(0.5)
    with pytest.raises(BuildError, match=r"spring_control.*springs"):
        SolverConvex(model)


def test_a_spring_joins_two_particles():
    with pytest.raises(BuildError, match="both ends are particle 0"):
        built(lambda b: (b.add_particle((0, 0, 0), (0, 0, 0), 1.0), b.add_spring(0, 0, 1.0, 0.0, 0.0)))


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("name", ["soft_contact_ke", "soft_contact_kd", "soft_contact_mu"])
def test_contacts_of_particles_have_numbers_that_mean_something(name, value):
    model = built(cloth)
    setattr(model, name, value)
    with pytest.raises(BuildError, match=f"model.{name} is"):
        SolverConvex(model)


@pytest.mark.parametrize("name", ["particle_cohesion", "particle_adhesion"])
def test_particles_do_not_stick(name):
    model = built(cloth)
    setattr(model, name, 0.1)
    with pytest.raises(BuildError, match=f"model.{name} is 0.1"):
        SolverConvex(model)


@pytest.mark.parametrize("name", ["particle_mu", "particle_max_velocity", "soft_contact_kf"])
def test_what_counts_for_newtons_solvers_alone_is_warned_of(name):
    model = built(cloth)
    setattr(model, name, 0.25)
    with pytest.warns(ArgumentNotNeeded, match=f"model.{name}=0.25 is without effect"):
        SolverConvex(model)


def test_a_fixed_particle_is_fixed_by_its_mass_or_its_flag():
    model = built(cloth)
    inverse = model.particle_inv_mass.numpy()
    inverse[3] = 0.0
    model.particle_inv_mass.assign(inverse)
    with pytest.raises(BuildError, match=r"particle 3 .* particle_inv_mass 0 and particle_mass 0.02: write both"):
        SolverConvex(model)


@pytest.mark.parametrize(
    ("array", "words"),
    [(np.zeros(16), r"particle_mass is a ndarray.*\.assign"), (None, "particle_mass has 3 rows where .* has 16")],
)
def test_arrays_of_the_model_are_its_arrays(array, words):
    model = built(cloth)
    model.particle_mass = model.particle_mass[:3] if array is None else array
    with pytest.raises(BuildError, match=words):
        SolverConvex(model)


def test_mujoco_steps_what_was_built_by_hand_without_being_told_how():
    model = built(cloth)
    solver, state = SolverMuJoCo(model), model.state()
    solver.step(state, state, None, None, 1e-3)
    assert np.allclose(state.particle_qd.numpy()[:, 2], -GRAVITY * 1e-3, rtol=1e-4)
    with pytest.raises(BuildError, match=r"implicitfast: use integrator='euler'"):
        SolverMuJoCo(model, integrator="implicitfast")


# ---------------------------------------------------------------------------------------------- odd, and done


@pytest.mark.parametrize("kind", ["triangle", "tetrahedron", "spring"])
def test_elements_twice_are_twice_as_stiff(kind):
    def add(builder, count):
        for x in ((0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)):
            builder.add_particle(x, (0, 0, 0), 0.1, radius=0.01)
        for _ in range(count):
            if kind == "triangle":
                builder.add_triangle(0, 1, 2, tri_ke=100.0, tri_ka=50.0, tri_kd=0.0)
            elif kind == "tetrahedron":
                builder.add_tetrahedron(0, 1, 2, 3, 1e3, 1e3, 0.0)
            else:
                builder.add_spring(0, 1, 100.0, 0.0, 0.0)

    found = []
    for count in (1, 2):
        model = built(lambda b, count=count: add(b, count))
        state = model.state()
        q = state.particle_q.numpy()
        q[1, 0] += 0.01
        state.particle_q.assign(q)
        found.append(elastic_force(SolverConvex(model), state))
    assert np.abs(found[0]).max() > 0.1
    assert np.allclose(found[1], 2 * found[0], rtol=1e-5, atol=1e-6)


def test_a_particle_without_radius_is_a_point_that_touches():
    model = built(lambda b: b.add_particle((0, 0, 1e-3), (0, 0, 0), 0.1, radius=0.0), lambda b: b.add_ground_plane())
    solver, state = SolverConvex(model), model.state()
    for _ in range(100):
        solver.step(state, state, None, None, 5e-3)
    assert abs(state.particle_q.numpy()[0, 2] - SMALLEST_RADIUS) < 1e-3
    assert np.isclose(contacts(solver, state).world_force[:, 2].sum(), 0.1 * GRAVITY, rtol=1e-3)


@pytest.mark.parametrize("table", ["plane", "box"])
def test_buffers_have_room_for_contacts_of_cloth_and_say_where_they_have_not(table):
    def add(builder):
        if table == "plane":
            builder.add_ground_plane()
        else:
            builder.add_shape_box(-1, xform=((0.05, 0.05, -0.1), (0, 0, 0, 1)), hx=0.3, hy=0.3, hz=0.1)
        cloth(builder, 2, pos=(0.0, 0.0, 0.0099), tri_kd=1.0)

    model = built(add)
    solver, state = SolverConvex(model), model.state()
    for _ in range(60):
        solver.step(state, state, None, None, 5e-3)
    model.request_contact_attributes("force")
    found = model.contacts()
    solver.update_contacts(found)
    count = int(found.rigid_contact_count.numpy()[0])
    assert 0 < count <= found.rigid_contact_max
    sides = np.column_stack([found.rigid_contact_shape0.numpy(), found.rigid_contact_shape1.numpy()])[:count]
    assert set(map(tuple, sides.tolist())) <= {(0, -1), (-1, 0)}  # the plane, and what is no shape
    weight = GRAVITY * model.particle_mass.numpy().sum()
    up = np.where(sides[:, 0] == 0, -1.0, 1.0) * found.force.numpy()[:count, 2]
    assert np.isclose(up.sum(), weight, rtol=2e-3)
    small = type(found)(1, 0, device=model.device)
    with pytest.warns(UserWarning, match=r"has \d+ contacts, the buffers room for 1: .*get_max_contact_count"):
        solver.update_contacts(small)


@pytest.mark.parametrize(("ke", "kd"), [(1e5, 1e-5), (1e4, 0.0), (1e5, 0.0)])
def test_contacts_are_as_stiff_as_they_are_told_to_be_whatever_their_damping(ke, kd):
    """An undamped particle falls as deep as a mass on a spring, v / sqrt(k), and comes up again, on whatever geom."""
    model = built(lambda b: b.add_particle((0, 0, 0.05), (0, 0, 0), 0.1, radius=0.01), lambda b: b.add_ground_plane())
    model.soft_contact_ke, model.soft_contact_kd = ke, kd
    solver, state, heights = SolverConvex(model), model.state(), []
    for _ in range(200):
        solver.step(state, state, None, None, 1e-3)
        heights.append(float(state.particle_q.numpy()[0, 2]))
    deep = np.sqrt(2 * GRAVITY * 0.04) / np.sqrt(2500.0 * ke / 1e3)
    assert np.isclose(0.01 - min(heights), deep, rtol=0.15)
    assert 0.045 < max(heights[100:]) < 0.052
