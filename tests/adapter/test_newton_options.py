"""Arguments of Newton's solvers do what they say, or say why they do not."""

import inspect

import numpy as np
import pytest

import kinema
from kinema.adapter.newton_options import FLAGS, NEEDLESS, OPTIONS, REFUSED, mujoco_options
from kinema.errors import ArgumentNotNeeded, BuildError
from kinema.mujoco_enums import Disable
from tests.conformance.staged import StagedEngine


def test_every_argument_of_newtons_solver_is_known():
    newton = pytest.importorskip("newton", reason="the newton package is the oracle of this test")
    theirs = set(inspect.signature(newton.solvers.SolverMuJoCo.__init__).parameters) - {"self", "model"}
    ours = set(inspect.signature(kinema.SolverConvex.__init__).parameters)
    assert not theirs - ours - {*OPTIONS, *FLAGS, *NEEDLESS, *REFUSED}


def test_options_and_switches_reach_the_engine(monkeypatch):
    monkeypatch.setattr("kinema.adapter.solver.Engine", StagedEngine)
    builder = kinema.ModelBuilder()
    body = builder.add_body(xform=(0, 0, 0.05, 0, 0, 0, 1))
    builder.add_shape_sphere(body, radius=0.1)
    builder.add_ground_plane()
    model = builder.finalize("cpu")
    ends = {}
    for flag in (False, True):
        solver = kinema.SolverConvex(model, ls_iterations=7, wind=(1.0, 0.0, 0.0), disable_contacts=flag, njmax=50)
        option = solver.batches[0].source.host.opt
        assert option.ls_iterations == 7 and np.asarray(option.wind).tolist() == [1.0, 0.0, 0.0]
        assert bool(int(option.disableflags) & Disable.CONTACT) == flag
        state = model.state()
        for _ in range(20):
            solver.step(state, state, None, None, 0.005)
        ends[flag] = float(state.body_q.numpy()[0, 2])
    assert ends[True] < 0.01 < 0.05 < ends[False]


def test_what_is_wrong_is_said():
    with pytest.raises(BuildError, match="no argument 'ls_iteration'.*ls_iterations"):
        mujoco_options({"ls_iteration": 3})
    with pytest.raises(BuildError, match="call model.save_mjcf"):
        mujoco_options({"save_to_mjcf": "a.xml"})
    with pytest.raises(BuildError, match="SolverStyle3D is not here; use SolverConvex"):
        kinema.solvers.SolverStyle3D(None, iterations=3)
    with pytest.raises(BuildError, match="SolverImplicitMPM is not here"):
        kinema.solvers.SolverImplicitMPM.register_custom_attributes(kinema.ModelBuilder())
    with pytest.raises(BuildError, match=r"SolverXPBD\(\) has no argument 'iteration'; did you mean 'iterations'"):
        kinema.solvers.SolverXPBD(None, iteration=3)
    assert kinema.solvers.SolverBase.Observables is kinema.SolverConvex.Observables
    with pytest.raises(AttributeError, match="SolverConvx"):
        kinema.solvers.SolverConvx  # noqa: B018


def test_meshes_take_what_newtons_take():
    mesh = kinema.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [0, 1, 2], compute_inertia=False, roughness=0.3)
    assert mesh.finalize("cpu") == mesh.finalize("cpu") != 0
    with pytest.raises(TypeError, match="no argument 'roughnes'.*roughness"):
        kinema.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [0, 1, 2], roughnes=0.3)


def test_targets_by_dof_are_for_builders_made_then(monkeypatch):
    monkeypatch.setattr(kinema, "use_coord_layout_targets", False, raising=False)
    assert kinema.ModelBuilder().use_coord_layout_targets is False
    monkeypatch.undo()
    assert kinema.ModelBuilder().use_coord_layout_targets is True and kinema.use_coord_layout_targets is True


def test_masses_of_a_description_can_be_ignored():
    text = """<mujoco><worldbody><body name="a"><joint/><inertial pos="0 0 0" mass="7" diaginertia="1 1 1"/>
      <geom type="sphere" size="0.1"/></body></worldbody></mujoco>"""
    masses = []
    for ignored in (False, True):
        builder = kinema.ModelBuilder()
        builder.add_mjcf(text, ignore_inertial_definitions=ignored)
        masses.append(float(builder.body_mass[0]))
    assert masses == pytest.approx([7.0, 1000.0 * 4.0 / 3.0 * np.pi * 1e-3], rel=1e-5)


NAMES = ("SolverXPBD", "SolverVBD", "SolverFeatherstone", "SolverSemiImplicit", "SolverKamino")


@pytest.mark.parametrize("name", NAMES)
def test_other_solvers_take_newtons_arguments(name):
    newton = pytest.importorskip("newton", reason="the newton package is the oracle of these tests")
    theirs = list(inspect.signature(getattr(newton.solvers, name)).parameters)[1:]
    ours = getattr(kinema.solvers, name)
    assert set(theirs) == set(ours.TAKEN) | ({"particle_enable_self_contact"} & set(theirs))


def test_a_solver_by_another_name_is_the_same_one(monkeypatch):
    monkeypatch.setattr("kinema.adapter.solver.Engine", StagedEngine)
    builder = kinema.ModelBuilder()
    builder.add_shape_sphere(builder.add_body(xform=((0.0, 0.0, 0.5), (0.0, 0.0, 0.0, 1.0))), radius=0.1)
    builder.add_ground_plane()
    model = builder.finalize("cpu")
    with pytest.warns(ArgumentNotNeeded, match="SolverXPBD is SolverConvex here: iterations is taken and not needed"):
        named = kinema.solvers.SolverXPBD(model, iterations=3)
    ends = []
    for solver in (named, kinema.SolverConvex(model)):
        state = model.state()
        for _ in range(5):
            solver.step(state, state, None, None, 0.01)
        ends.append(state.body_q.numpy())
    np.testing.assert_array_equal(*ends)
    assert ends[0][0, 2] < 0.499
