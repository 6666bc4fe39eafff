"""Fixed joints collapse: Newton's rows are left, and the model moves as it did."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import kinema
from kinema.errors import BuildError

from .newton_arrays import compared_fields, differences, quietly

INEXACT = ("body_inertia", "body_inv_inertia")
"""Newton 1.7 does not take a merged inertia to the new centre of mass."""


def at(x, y, z, angle=0.0):
    return wp.transform(wp.vec3(x, y, z), wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), angle))


def rig(library, *, base="free"):
    b = library.ModelBuilder()
    links = [b.add_link(xform=at(0.0, 0.0, k), label=f"link{k}") for k in range(5)]
    for k, link in enumerate(links):
        b.add_shape_box(link, hx=0.1 + 0.05 * k, hy=0.1, hz=0.2, xform=at(0.1 * k, 0.0, 0.0))
    hold = b.add_joint_free if base == "free" else lambda child: b.add_joint_fixed(-1, child, parent_xform=at(0, 0, 1))
    joints = [hold(links[0])]
    joints.append(b.add_joint_fixed(links[0], links[1], parent_xform=at(0.3, 0.0, 0.5, 0.7), label="glue"))
    joints.append(b.add_joint_revolute(links[1], links[2], axis=(0.0, 1.0, 0.0), parent_xform=at(0.0, 0.0, 0.6, 0.2),
                                       child_xform=at(0.0, 0.0, -0.6), label="hinge"))  # fmt: skip
    joints.append(b.add_joint_fixed(links[2], links[3], parent_xform=at(0.0, 0.4, 0.0),
                                    child_xform=at(0.0, 0.0, 0.3, 1.0)))  # fmt: skip
    joints.append(b.add_joint_fixed(links[3], links[4], parent_xform=at(0.0, 0.0, 0.8), label="tip"))
    b.add_articulation(joints, label="rig")
    ball = b.add_body(xform=at(9.0, 0.0, 0.0))
    b.add_shape_sphere(ball, radius=0.3)
    return b


@pytest.mark.parametrize("base", ["free", "fixed"])
@pytest.mark.parametrize("keep", [(), ("tip",), (1,)])
def test_rows_are_newtons(base, keep):
    newton = pytest.importorskip("newton", reason="the newton package is the oracle of this test")
    theirs, ours = rig(newton, base=base), rig(kinema, base=base)
    expected, found = (b.collapse_fixed_joints(joints_to_keep=list(keep)) for b in (theirs, ours))
    for name in ("body_remap", "joint_remap", "articulation_remap", "body_merged_parent"):
        assert found[name] == expected[name], name
    models = [quietly(lambda b=b: b.finalize("cpu")) for b in (theirs, ours)]
    names = [name for name in compared_fields("body_", "joint_", "articulation_", "shape_") if name not in INEXACT]
    assert not differences(*models, names)


def test_a_collapsed_model_moves_as_before():
    """The inertia that joints see is the same, at any angle."""
    whole, less = rig(kinema), rig(kinema)
    less.collapse_fixed_joints()
    models = [b.finalize("cpu") for b in (whole, less)]
    assert (models[0].body_count, models[1].body_count) == (6, 3)
    matrices = []
    for model in models:
        state = model.state()
        q = state.joint_q.numpy()
        q[7] = 0.4
        state.joint_q.assign(q)
        kinema.eval_fk(model, state.joint_q, state.joint_qd, state)
        matrices.append(kinema.eval_mass_matrix(model, state).numpy()[0][:7, :7])
    hinge = [m[6, 6] for m in matrices]
    assert hinge[0] == pytest.approx(hinge[1], rel=1e-5) and hinge[0] > 0.0
    assert matrices[0][0, 0] == pytest.approx(matrices[1][0, 0], rel=1e-5)


def test_copies_collapse_in_every_world():
    many = kinema.ModelBuilder()
    many.replicate(rig(kinema), 3)
    many.collapse_fixed_joints()
    one = rig(kinema)
    one.collapse_fixed_joints()
    again = kinema.ModelBuilder()
    again.replicate(one, 3)
    models = [b.finalize("cpu") for b in (many, again)]
    assert not differences(models[1], models[0], compared_fields("body_", "joint_", "articulation_", "shape_"))
    assert len(models[0].world_classes) == 1
    np.testing.assert_array_equal(models[0].body_world_start.numpy(), [0, 3, 6, 9, 9])


def test_a_joint_to_keep_must_be_there():
    with pytest.raises(BuildError, match="no joint 'tipp'.*tip"):
        rig(kinema).collapse_fixed_joints(joints_to_keep=["tipp"])
