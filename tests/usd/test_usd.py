"""Stages give the arrays that Newton's importer gives, and move as MuJoCo moves them."""

from __future__ import annotations

import numpy as np
import pytest

import kinema
from kinema.errors import BuildError
from tests.conformance.staged import StagedEngine

from ..model.newton_arrays import compared_fields, differences, quietly
from .stages import BOX, STAGES, body, collider, joint, world

pytest.importorskip("pxr", reason="stages are read with usd-core")


def stage_of(text: str):
    from pxr import Sdf, Usd

    layer = Sdf.Layer.CreateAnonymous(".usda")
    assert layer.ImportFromString(text)
    return Usd.Stage.Open(layer)


def built(library, text, **options):
    builder = library.ModelBuilder()
    result = quietly(lambda: builder.add_usd(stage_of(text), **options))
    return builder, result


def finished(library, text, **options):
    builder, _ = built(library, text, **options)
    return quietly(lambda: builder.finalize("cpu"))


@pytest.fixture(scope="module")
def newton():
    pytest.importorskip("newton_usd_schemas", reason="Newton reads stages with its schemas")
    return pytest.importorskip("newton", reason="the newton package is the oracle of these tests")


@pytest.mark.parametrize("name", STAGES)
def test_arrays_are_newtons(newton, name):
    theirs, ours = finished(newton, STAGES[name]), finished(kinema, STAGES[name])
    assert not differences(theirs, ours, compared_fields())
    assert ours.shape_count and theirs.gravity.numpy() == pytest.approx(ours.gravity.numpy(), abs=1e-6)
    assert ours.shape_collision_filter_pairs == {tuple(map(int, p)) for p in theirs.shape_collision_filter_pairs}


OPTIONS = {
    "placed": ("hinge and slide", {"xform": ((1.0, 2.0, 3.0), (0.0, 0.0, 0.7071068, 0.7071068))}),
    "freed": ("hinge and slide", {"floating": True}),
    "fixed": ("a floating tree", {"floating": False}),
    "broad": ("a floating tree", {"joint_ordering": "bfs"}),
    "as written": ("a floating tree", {"bodies_follow_joint_ordering": False}),
    "apart": ("a floating tree", {"enable_self_collisions": False}),
    "unseen": ("seen", {"load_visual_shapes": False, "load_sites": False}),
    "part": ("seen", {"ignore_paths": ["/World/scenery"]}),
    "up as it is": ("y up", {"apply_up_axis_from_stage": True}),
    "covered": ("seen", {"hide_collision_shapes": True}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_do_what_newtons_do(newton, name):
    text, options = OPTIONS[name]
    if "xform" in options:
        import warp as wp

        options = {"xform": wp.transform(*options["xform"])}
    theirs, ours = (finished(library, STAGES[text], **options) for library in (newton, kinema))
    assert not differences(theirs, ours, compared_fields())


def test_other_vocabularies_are_heard_in_order(newton):
    names = ("SchemaResolverPhysx", "SchemaResolverNewton")
    models = [
        finished(library, STAGES["schemas"], schema_resolvers=[getattr(library.usd, name)() for name in names])
        for library in (newton, kinema)
    ]
    assert not differences(*models, compared_fields("joint_"))
    assert models[1].joint_armature.numpy() == pytest.approx([0.5])
    newton_first = finished(kinema, STAGES["schemas"], schema_resolvers=["newton", "physx"])
    assert newton_first.joint_armature.numpy() == pytest.approx([0.3])
    with pytest.raises(BuildError, match="'physix' is not known.*physx"):
        built(kinema, STAGES["schemas"], schema_resolvers=["physix"])


def test_results_name_what_was_added(newton):
    (_, theirs), (_, ours) = (built(library, STAGES["hinge and slide"]) for library in (newton, kinema))
    assert set(ours) == set(theirs)
    for key in ("path_body_map", "path_joint_map", "path_shape_map", "fps", "mass_unit", "physics_dt"):
        assert ours[key] == theirs[key], key


def test_an_axis_without_limits_is_free():
    """UsdPhysics: a generic joint constrains what it limits. Newton 1.7 locks axes that it has no limits of."""
    text = world(
        body("a", BOX), body("b", BOX, at=(1, 0, 0)), joint("PhysicsFixedJoint", "root", "", "a"),
        joint("PhysicsJoint", "six", "a", "b", "float limit:transX:physics:low = 1\n"
              "float limit:transX:physics:high = -1", apis='"PhysicsLimitAPI:transX"'),
    )  # fmt: skip
    assert finished(kinema, text).joint_dof_dim.numpy().tolist() == [[0, 0], [2, 3]]


CORNERS = {"a": (0, 0, 0), "b": (1, 0, 0), "c": (1, 0, 1), "d": (0, 0, 1)}
RING = world(
    *(body(name, BOX, at=at) for name, at in CORNERS.items()),
    *(joint("PhysicsRevoluteJoint", f"{p}{c}", p, c, f'uniform token physics:axis = "Y"\n'
            f"point3f physics:localPos0 = {tuple(0.5 * (y - x) for x, y in zip(CORNERS[p], CORNERS[c], strict=True))}\n"
            f"point3f physics:localPos1 = {tuple(0.5 * (x - y) for x, y in zip(CORNERS[p], CORNERS[c], strict=True))}")
      for p, c in ("ab", "bc", "cd", "da")),
    apis="",
)  # fmt: skip


def test_a_ring_without_articulation_is_a_tree_and_a_loop():
    model = finished(kinema, RING)
    assert model.joint_type.numpy().tolist() == [int(kinema.JointType.FREE)] + 4 * [int(kinema.JointType.REVOLUTE)]
    assert model.joint_articulation.numpy().tolist() == [0, 0, 0, 0, -1]


def test_a_mimic_joint_follows():
    text = world(
        body("a", BOX), body("b", BOX, at=(1, 0, 0)), body("c", BOX, at=(2, 0, 0)),
        joint("PhysicsFixedJoint", "root", "", "a"), joint("PhysicsRevoluteJoint", "lead", "a", "b"),
        joint("PhysicsRevoluteJoint", "follow", "b", "c", "rel newton:mimicJoint = </World/lead>\n"
              "float newton:mimicCoef0 = 90\nfloat newton:mimicCoef1 = 2", apis='"NewtonMimicAPI"'),
    )  # fmt: skip
    model = finished(kinema, text)
    numbers = [getattr(model, f"constraint_mimic_{name}").numpy()[0] for name in ("joint0", "joint1", "coef0", "coef1")]
    assert numbers == pytest.approx([2, 1, np.pi / 2, 2.0])


MESH = (
    "point3f[] points = [(-1,-1,-1),(1,-1,-1),(1,1,-1),(-1,1,-1),(-1,-1,1),(1,-1,1),(1,1,1),(-1,1,1)]\n"
    "int[] faceVertexCounts = [4,4,4,4,4,4]\n"
    "int[] faceVertexIndices = [0,3,2,1,4,5,6,7,0,1,5,4,1,2,6,5,2,3,7,6,3,0,4,7]\n"
)


def test_meshes_are_cut_scaled_and_approximated():
    meshes = '"PhysicsMeshCollisionAPI"'
    text = world(
        body("plain", collider("Mesh", "m", MESH, scale=(0.1, 0.2, 0.3))),
        body("hull", collider("Mesh", "m", MESH + 'uniform token physics:approximation = "convexHull"', apis=meshes)),
        body("cube", collider("Mesh", "m", MESH + 'uniform token physics:approximation = "boundingCube"', apis=meshes)),
        body("mirrored", collider("Mesh", "m", MESH, scale=(-0.1, 0.2, 0.3))),
        apis="",
    )  # fmt: skip
    model = finished(kinema, text)
    mass = model.body_mass.numpy()
    assert mass == pytest.approx([48.0, 8000.0, 8000.0, 48.0], rel=1e-5)
    kinds = {kinema.GeoType(k).name for k in model.shape_type.numpy()}
    assert kinds == {"MESH", "CONVEX_MESH", "BOX"}


def test_what_is_wrong_is_said_and_nothing_is_left_behind():
    builder = kinema.ModelBuilder()
    loop = world(body("a", BOX), body("b", BOX), joint("PhysicsRevoluteJoint", "x", "a", "b"),
                 joint("PhysicsRevoluteJoint", "y", "b", "a"))  # fmt: skip
    with pytest.raises(BuildError, match="physics:body0 is the parent|excludeFromArticulation"):
        quietly(lambda: builder.add_usd(stage_of(loop)))
    assert (builder.body_count, builder.joint_count, builder.shape_count) == (0, 0, 0)
    with pytest.raises(BuildError, match="no argument 'ignore_path'.*ignore_paths"):
        builder.add_usd(stage_of(loop), ignore_path=["/a"])
    with pytest.raises(BuildError, match="no file 'nowhere.usda'"):
        builder.add_usd("nowhere.usda")
    with pytest.raises(BuildError, match="no prim at root_path='/Wurld'"):
        builder.add_usd(stage_of(loop), root_path="/Wurld")


def test_a_stage_moves_as_the_same_document_does(monkeypatch):
    """A pendulum from a stage beside the same one in MJCF, by MuJoCo's own step."""
    import mujoco

    monkeypatch.setattr("kinema.adapter.solver.Engine", StagedEngine)
    text = world(
        body("rod", collider("Capsule", "capsule", 'double radius = 0.05\ndouble height = 0.8\n'
                             'uniform token axis = "X"'), at=(0.5, 0, 2)),
        joint("PhysicsRevoluteJoint", "pin", "", "rod", 'uniform token physics:axis = "Y"\n'
              "point3f physics:localPos0 = (0, 0, 2)\npoint3f physics:localPos1 = (-0.5, 0, 0)"),
    )  # fmt: skip
    model = finished(kinema, text)
    solver, state = kinema.SolverConvex(model, integrator="euler"), model.state()
    spec = mujoco.MjModel.from_xml_string("""<mujoco><option timestep="0.002"/><worldbody><body pos="0 0 2">
        <joint axis="0 1 0"/><geom type="capsule" size="0.05 0.4" pos="0.5 0 0" zaxis="1 0 0"/></body></worldbody>
        </mujoco>""")
    data = mujoco.MjData(spec)
    for _ in range(100):
        solver.step(state, state, None, None, 0.002)
        mujoco.mj_step(spec, data)
    assert abs(data.qpos[0]) > 0.2
    assert state.joint_q.numpy() == pytest.approx(data.qpos, abs=2e-4)
