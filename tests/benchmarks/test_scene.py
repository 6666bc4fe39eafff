"""The workcell of the benchmark: what a builder puts together is the document that attaches the parts."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from benchmarks.scene import OBJECTS, arm, composed, home_of, objects, several

from kinema.adapter.view import view

MENAGERIE = Path(__file__).parents[3] / "shared" / "models" / "menagerie"
PUBLIC = [MENAGERIE / "trossen_wx250s" / "wx250s.xml", MENAGERIE / "wonik_allegro" / "right_hand.xml"]
BODIES = ("body_mass", "body_inertia", "body_ipos", "body_invweight0", "body_subtreemass")
FIELDS = ("jnt_type", "jnt_range", "jnt_axis", "dof_damping", "dof_armature", "dof_invweight0", "dof_M0", "qpos0",
          "actuator_gainprm", "actuator_biasprm", "actuator_ctrlrange", "actuator_forcerange", "eq_data")  # fmt: skip


@pytest.mark.parametrize("public", [False, True], ids=["own arms", "public ones"])
def test_is_one_document(public, tmp_path):
    if public and not all(path.exists() for path in PUBLIC):
        pytest.skip("the public models are not here")
    arms = [str(path) for path in PUBLIC] if public else [arm("first", 0.16), arm("second", 0.19)]
    documents = [*arms, objects(OBJECTS)]
    if public:  # options of these two are their own: the first document's hold for the world
        documents[2] = documents[2].replace('<option integrator="implicitfast"/>', "")
    model = several(documents, 2, "cpu")
    host = view(model, model.world_classes[0]).host
    theirs = mujoco.MjModel.from_xml_path(str(composed(documents, tmp_path)))
    assert (host.nq, host.nv, host.nu, host.ngeom) == (theirs.nq, theirs.nv, theirs.nu, theirs.ngeom)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(host, name), getattr(theirs, name), rtol=1e-5, atol=1e-7, err_msg=name)
    for name in BODIES:  # a document's world is a body of its own in the joined model
        mine, yours = (np.asarray(getattr(m, name))[np.asarray(m.body_mass) > 0] for m in (host, theirs))
        np.testing.assert_allclose(mine, yours, rtol=1e-5, atol=1e-7, err_msg=name)
    mine = sorted(np.round(np.column_stack([host.geom_size, host.geom_friction]), 5).tolist())
    yours = sorted(np.round(np.column_stack([theirs.geom_size, theirs.geom_friction]), 5).tolist())
    np.testing.assert_allclose(mine, yours, atol=2e-5)
    assert host.nkey == theirs.nkey and len(home_of(host)["qpos"]) == host.nq
