"""Cables and cloth of a stage are Newton's arrays, and move."""

from __future__ import annotations

import numpy as np
import pytest

import kinema
from tests.conformance.staged import StagedEngine
from tests.model.newton_arrays import compared_fields, differences, quietly

pytest.importorskip("pxr", reason="stages are read with usd-core")

HEAD = """#usda 1.0
(
    metersPerUnit = 1
    upAxis = "Z"
)
def Scope "Looks" {
    def Material "Cord" (
        prepend apiSchemas = ["PhysicsCurvesDeformableMaterialAPI", "NewtonCurvesDeformableMaterialAPI"]
    )
    {
        float physics:youngsModulus = 2e6
        float physics:curvesTwistStiffness = 0.003
        float physics:density = 1200
        float newton:curvesBendDamping = 0.0002
    }
    def Material "Silk" (prepend apiSchemas = ["PhysicsSurfaceDeformableMaterialAPI"])
    {
        float physics:youngsModulus = 5e5
        float physics:surfaceBendStiffness = 0.0001
        float physics:density = 300
    }
}
"""
CURVES = """
def Xform "Rope" (prepend apiSchemas = ["PhysicsDeformableBodyAPI"]) {{
    {body}
    double3 xformOp:translate = (0.1, 0.2, 0.3)
    double3 xformOp:scale = (1, 2, 1)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
    def BasisCurves "sim" (prepend apiSchemas = ["PhysicsCurvesDeformableSimAPI", "MaterialBindingAPI"{more}]) {{
        uniform token type = "linear"
        uniform token wrap = "{wrap}"
        int[] curveVertexCounts = [4, 3]
        point3f[] points = [(0, 0, 1), (0.1, 0, 1), (0.2, 0.05, 1), (0.3, 0, 1.1),
                            (1, 0, 1), (1.1, 0, 1), (1.1, 0.1, 1)]
        {words}
        {bound}
    }}
}}
"""
CORD, SILK = (f"rel material:binding:physics = </Looks/{name}>" for name in ("Cord", "Silk"))
CLOTH = """
def Xform "Sheet" (prepend apiSchemas = ["PhysicsDeformableBodyAPI"]) {{
    {body}
    double3 xformOp:scale = (1, {mirror}, 1)
    uniform token[] xformOpOrder = ["xformOp:scale"]
    def Mesh "sim" (
        prepend apiSchemas = ["PhysicsSurfaceDeformableSimAPI", "PhysicsCollisionAPI", "MaterialBindingAPI"]
    ) {{
        point3f[] points = [(0, 0, 1), (0.2, 0, 1), (0.2, 0.2, 1), (0, 0.2, 1), (0.4, 0, 1.1), (0.4, 0.2, 1.1)]
        int[] faceVertexCounts = [4, 3, 3]
        int[] faceVertexIndices = [0, 1, 2, 3, 1, 4, 5, 1, 5, 2]
        {words}
        {bound}
    }}
}}
"""


def elements(name, values, kind):
    return f'float[] physics:{name} = {values}\n        uniform token physics:{name}:elementType = "{kind}"\n'


STAGES = {
    "cables": CURVES.format(body="", more=', "PhysicsCollisionAPI"', wrap="nonperiodic", bound=CORD,
                            words=elements("thicknesses", [0.02], "constant")),
    "uneven cables": CURVES.format(body="float physics:mass = 0.7", more="", wrap="nonperiodic", bound=CORD,
                                   words=elements("thicknesses", [0.02, 0.03, 0.02, 0.01, 0.04], "segment")),
    "rings": CURVES.format(body="", more="", wrap="periodic", bound=CORD,
                           words=elements("masses", [0.1, 0.2, 0.1, 0.1, 0.3, 0.1, 0.2], "point")
                           + elements("thicknesses", [0.02, 0.04], "curve")),
    "plain cables": CURVES.format(body="float physics:density = 500", more="", wrap="nonperiodic", bound="", words=""),
    "cloth": CLOTH.format(body="", mirror=1, bound=SILK, words=elements("thicknesses", [0.001], "constant")),
    "uneven cloth": CLOTH.format(body="float physics:mass = 0.2", mirror=-1, bound=SILK,
                                 words=elements("thicknesses", [0.001, 0.002, 0.003], "face")),
    "thick points": CLOTH.format(body="", mirror=1, bound=SILK, words='uniform token physics:restBendAnglesDefault = '
                                 '"restShape"\n' + elements("thicknesses", [0.001, 0.002, 0.003, 0.001, 0.002, 0.001],
                                                            "point")),
    "plain cloth": CLOTH.format(body="", mirror=1, bound="", words=elements("masses", [0.1, 0.2, 0.3], "face")),
}  # fmt: skip


def built(library, text):
    from pxr import Usd

    stage = Usd.Stage.CreateInMemory()
    stage.GetRootLayer().ImportFromString(text)
    builder = library.ModelBuilder()
    found = quietly(lambda: builder.add_usd(stage, return_deformable_results=True))
    return quietly(lambda: builder.finalize("cpu")), found


@pytest.mark.parametrize("name", STAGES)
def test_arrays_are_newtons(name):
    newton = pytest.importorskip("newton", reason="the newton package is the oracle of these tests")
    pytest.importorskip("newton_usd_schemas", reason="Newton reads stages with its schemas")
    theirs, ours = (built(library, HEAD + STAGES[name]) for library in (newton, kinema))
    assert not differences(theirs[0], ours[0], compared_fields())
    for key in ("path_cable_map", "path_cloth_map"):
        assert {path: list(map(list, rows.values() if isinstance(rows, dict) else rows)) for path, rows in
                ours[1][key].items()} == {path: list(map(list, rows.values() if isinstance(rows, dict) else rows))
                                          for path, rows in theirs[1][key].items()}  # fmt: skip
    assert ours[0].particle_count + ours[0].body_count > 4


@pytest.mark.parametrize("name", ["cables", "cloth"])
def test_they_fall(name, monkeypatch):
    monkeypatch.setattr("kinema.adapter.solver.Engine", StagedEngine)
    model, _ = built(kinema, HEAD + STAGES[name])
    solver, state = kinema.SolverConvex(model), model.state()
    before = (state.particle_q if name == "cloth" else state.body_q).numpy()[:, 2].mean()
    for _ in range(5):
        solver.step(state, state, None, None, 0.002)
    after = (state.particle_q if name == "cloth" else state.body_q).numpy()[:, 2].mean()
    np.testing.assert_allclose(after - before, -0.5 * 9.81 * 0.01**2, rtol=0.25)


def test_what_makes_no_sense_is_left_out_and_said():
    from pxr import Usd

    stage = Usd.Stage.CreateInMemory()
    text = STAGES["cables"].replace("[4, 3]", "[4, 4]") + STAGES["cloth"].replace("[4, 3, 3]", "[4, 3, 2]")
    stage.GetRootLayer().ImportFromString(HEAD + text)
    builder = kinema.ModelBuilder()
    with pytest.warns(UserWarning) as told:
        builder.add_usd(stage)
    said = " ".join(str(one.message) for one in told)
    assert "cable is left out: curveVertexCounts do not fit" in said and "cloth is left out: faceVertexCounts" in said
    assert builder.body_count == builder.particle_count == 0
