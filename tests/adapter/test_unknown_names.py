"""A builder, a model, its states and a solver refuse names they do not know."""

import pytest

from kinema import ModelBuilder, SolverConvex
from kinema.errors import UnknownKey


def pendulum() -> ModelBuilder:
    builder = ModelBuilder()
    link = builder.add_link(mass=1.0)
    builder.add_shape_box(link, hx=0.1, hy=0.1, hz=0.3)
    builder.add_articulation([builder.add_joint_revolute(parent=-1, child=link, axis=(0, 1, 0))])
    return builder


@pytest.fixture(scope="module")
def model():
    return pendulum().finalize(device="cpu")


def test_a_misspelt_column_of_a_builder():
    builder = pendulum()
    with pytest.raises(UnknownKey, match="has no attribute 'joint_targt_q'; did you mean 'joint_target_q'"):
        builder.joint_targt_q = [0.1]
    builder.joint_q = [0.2]
    builder.rigid_gap = 0.05
    assert builder.joint_q[0] == pytest.approx(0.2)


def test_misspelt_arrays_of_what_runs(model):
    state, control, contacts = model.state(), model.control(), model.contacts()
    for thing, name, near in (
        (state, "joint_qdd", "joint_qd"), (control, "joint_targt_q", "joint_target_q"),
        (model, "body_mas", "body_mass"), (contacts, "rigid_contact_cout", "rigid_contact_count"),
    ):  # fmt: skip
        with pytest.raises(UnknownKey, match=f"has no attribute '{name}'; did you mean '{near}'"):
            setattr(thing, name, 1)
    state.joint_q = state.joint_q
    control.joint_f = None
    model.soft_contact_ke = 5.0


def test_a_misspelt_attribute_of_a_solver(model):
    solver = SolverConvex(model)
    with pytest.raises(UnknownKey, match="a SolverConvex has no attribute 'batchs'; did you mean 'batches'"):
        solver.batchs = []


def test_subclasses_of_builders_keep_their_own():
    class Mine(ModelBuilder):
        def __init__(self):
            super().__init__()
            self.robots = []

    mine = Mine()
    mine.robots = [1]
    with pytest.raises(UnknownKey):
        mine.robotts = [1]
