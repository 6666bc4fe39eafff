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


ASSETS = (
    "tetmesh_multi.usda", "tetmesh_custom_attrs.usda", "tetmesh_with_material.usda", "humanoid_mjc.usda",
    "tetmesh_with_legacy_material.usda", "site_actuator_mjc.usda", "negative_scale_cube.usda",
    "four_link_chain_articulation.usda",
)  # fmt: skip


@pytest.mark.parametrize("name", ASSETS)
def test_stages_of_newtons_own_tests_are_the_same(newton, name):
    from pathlib import Path

    path = Path(newton.__file__).parent / "tests" / "assets" / name
    if not path.is_file():
        pytest.skip("this wheel of Newton's has no assets of tests")
    builders = newton.ModelBuilder(), kinema.ModelBuilder()
    for builder in builders:
        quietly(lambda b=builder: b.add_usd(str(path)))
    theirs, ours = (quietly(lambda b=builder: b.finalize("cpu")) for builder in builders)
    assert not differences(theirs, ours, compared_fields())


def driven(name, apis, inside):
    listed = ", ".join(f'"Newton{api}API"' for api in apis)
    return f'def NewtonActuator "{name}" (prepend apiSchemas = [{listed}]) {{ {inside} }}'


def test_actuators_are_newtons_parts():
    """As Newton has them, with its schemas registered: kp and kd of the drive, maxEffort of the clamp."""
    links = (body("a", BOX), body("b", BOX, at=(1, 0, 0)), joint("PhysicsRevoluteJoint", "one", "", "a"))
    text = world(
        *links, joint("PhysicsPrismaticJoint", "two", "a", "b"),
        driven("x", ("PDControl", "MaxEffortClamping"), "rel newton:targets = </World/one>\nfloat newton:kp = 100\n"
               "float newton:kd = 10\nfloat newton:maxEffort = 50"),
        driven("y", ("PIDControl", "ActuatorDelay"), "rel newton:targets = </World/two>\nfloat newton:kp = 200\n"
               "float newton:ki = 3\nint newton:delaySteps = 5"),
    )  # fmt: skip
    builder, result = built(kinema, text)
    model = builder.finalize("cpu")
    first, second = model.actuators
    assert result["actuator_count"] == 2
    assert [type(a.drive).__name__ for a in model.actuators] == ["DrivePD", "DrivePID"]
    arrays = (first.drive.kp, first.drive.kd, first.clamping[0].max_effort)
    assert [array.numpy()[0] for array in arrays] == [100, 10, 50]
    assert second.indices.numpy().tolist() == [1] and second.drive.ki.numpy().tolist() == [3.0]
    assert second.delay.delay_steps.numpy().tolist() == [5] and first.delay is None
    for inside, message in (
        ("float newton:kp = 1", "/World/z: an actuator without newton:targets"),
        ("rel newton:targets = </World/a>", "/World/a is a Xform"),
        ("rel newton:targets = </World/one>\nfloat newton:kp = -1", "/World/z: .*kp=-1.0 must be at least 0"),
    ):
        with pytest.raises(BuildError, match=message):
            built(kinema, world(*links, driven("z", ("PDControl",), inside)))


def test_mimics_and_anchors_in_mujocos_words():
    """A follower's polynomial, and a connect whose anchor is said once."""
    text = world(
        body("a", BOX), body("b", BOX, at=(1, 0, 0)), body("c", BOX, at=(2, 0, 0)),
        joint("PhysicsFixedJoint", "root", "", "a"), joint("PhysicsRevoluteJoint", "lead", "a", "b"),
        joint("PhysicsRevoluteJoint", "follow", "b", "c", "rel mjc:target = </World/lead>\n"
              "uniform double mjc:coef0 = 0.5\nuniform double mjc:coef1 = 1.5", apis='"MjcEqualityJointAPI"'),
        joint("PhysicsSphericalJoint", "loop", "a", "c", "point3f physics:localPos0 = (1, 2, 3)",
              apis='"MjcEqualityConnectAPI"'),
    )  # fmt: skip
    model = finished(kinema, text)
    assert [getattr(model, f"constraint_mimic_coef{k}").numpy()[0] for k in (0, 1)] == pytest.approx([0.5, 1.5])
    assert model.joint_X_c.numpy()[-1, :3] == pytest.approx([-1, 2, 3])


def test_what_is_left_out_is_named_with_its_path():
    text = world(
        body("a", BOX), 'def Points "sand" { point3f[] points = [(0, 0, 0)] }',
        joint("PhysicsFixedJoint", "root", "", "a", apis='"PhysxTendonAxisAPI:one"'),
    )  # fmt: skip
    with pytest.warns(UserWarning) as found:
        kinema.ModelBuilder().add_usd(stage_of(text))
    said = [str(warning.message) for warning in found]
    assert any(line.startswith("/World/sand: Points is left out") for line in said)
    assert any(line.startswith("/World/root: PhysxTendonAxisAPI is left out") for line in said)
