"""Contact pairs given as custom attributes, in all the forms that declare them, against MuJoCo's <pair>."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema import CustomAttribute, CustomFrequency, ModelBuilder, ShapeConfig, SolverConvex, SolverMuJoCo
from kinema.adapter.view import view
from kinema.errors import BuildError

GHOST = ShapeConfig(density=1000.0, collision_group=0)  # touches nothing but what a pair names
ORACLE = """
<mujoco><option integrator="implicitfast" timestep="0.005"/><worldbody>
  <geom name="floor" type="box" size="1 1 .1" contype="0" conaffinity="0"/>
  <body name="a" pos="0 0 .25"><freejoint/><geom name="a" size=".1" contype="0" conaffinity="0"/></body>
  <body name="b" pos=".02 0 .5"><freejoint/><geom name="b" size=".1" contype="0" conaffinity="0"/></body>
</worldbody><contact>
  <pair geom1="b" geom2="a" condim="4" margin="0.02" friction="0.5 0.5 0.01 0.001 0.001" solref="0.02 1"
    solimp="0.9 0.95 0.001 0.5 2" gap="0"/>
  <pair geom1="a" geom2="floor" condim="3" margin="0" friction="1 1 0.005 0.0001 0.0001" solref="0.05 1"
    solimp="0.9 0.95 0.001 0.5 2" gap="0"/>
</contact></mujoco>"""
FORMS = ("private", "shared")
STEPS = 80


def declared(form: str) -> ModelBuilder:
    builder = ModelBuilder()
    if form == "shared":
        builder.add_custom_frequency(CustomFrequency(name="pair", namespace="mujoco"))
    frequency = "mujoco:pair" if form == "shared" else None
    columns = (
        ("pair_world", wp.int32, 0, "world"), ("pair_geom1", wp.int32, -1, "shape"),
        ("pair_geom2", wp.int32, -1, "shape"), ("pair_condim", wp.int32, 3, None),
        ("pair_margin", wp.float32, 0.0, None), ("pair_solref", wp.vec2, (0.02, 1.0), None),
        ("pair_friction", wp.types.vector(5, float), (1.0, 1.0, 0.005, 0.0001, 0.0001), None),
    )  # fmt: skip
    for name, dtype, default, references in columns:
        builder.add_custom_attribute(CustomAttribute(name=name, dtype=dtype, default=default, references=references,
                                                     namespace="mujoco", frequency=frequency))  # fmt: skip
    return builder


def template(form: str, pairs: bool = True) -> ModelBuilder:
    builder = declared(form)
    floor = builder.add_shape_box(-1, hx=1.0, hy=1.0, hz=0.1, cfg=GHOST)
    shapes = []
    for x, z in ((0.0, 0.25), (0.02, 0.5)):
        body = builder.add_body(xform=((x, 0, z), (0, 0, 0, 1)))
        shapes.append(builder.add_shape_sphere(body, radius=0.1, cfg=GHOST))
    if pairs:
        add_pair(builder, form, shapes[1], shapes[0], 4, 0.02, (0.02, 1.0), (0.5, 0.5, 0.01, 0.001, 0.001))
        add_pair(builder, form, shapes[0], floor, 3, 0.0, (0.05, 1.0), (1.0, 1.0, 0.005, 0.0001, 0.0001))
    return builder


def add_pair(builder, form, geom1, geom2, condim, margin, solref, friction):
    values = {"pair_geom1": geom1, "pair_geom2": geom2, "pair_margin": margin, "pair_solref": solref,
              "pair_friction": friction, "pair_world": builder.current_world}  # fmt: skip
    values["pair_dim" if form == "registered" else "pair_condim"] = condim
    if form == "registered":
        values["pair_solimp"] = (0.9, 0.95, 0.001, 0.5, 2.0)
    builder.add_custom_values(**{f"mujoco:{name}": value for name, value in values.items()})


def judge() -> mujoco.MjData:
    m = mujoco.MjModel.from_xml_string(ORACLE)
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, nstep=STEPS)
    assert d.ncon >= 2
    return d


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", [SolverMuJoCo, SolverConvex])
def test_pairs_act_as_in_a_document(form, solver):
    main, scene = declared(form), template(form)
    main.add_world(scene)
    main.add_world(scene)
    model = main.finalize("cpu")
    assert [len(worlds) for worlds in model.world_classes] == [2]
    run, state = solver(model), model.state()
    for _ in range(STEPS):
        run.step(state, state, None, None, 0.005)
    assert run.batches[0].source.host.npair == 2, "those of the template world only"
    d = judge()
    q = state.joint_q.numpy().reshape(2, 2, 7)
    for world in range(2):
        np.testing.assert_allclose(q[world, :, :3], d.qpos.reshape(2, 7)[:, :3], atol=2e-4)
    assert q[0, 1, 2] > 0.2, "it would have fallen through"


@pytest.mark.parametrize("form", FORMS)
def test_pairs_are_sorted_and_complete(form):
    model = template(form).finalize("cpu")
    host = view(model, model.world_classes[0]).host
    m = mujoco.MjModel.from_xml_string(ORACLE)
    for name in ("geom1", "geom2", "dim", "solref", "solimp", "solreffriction", "margin", "gap", "friction"):
        ours, theirs = (np.asarray(getattr(x, f"pair_{name}")) for x in (host, m))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, err_msg=name)
    np.testing.assert_array_equal(host.pair_signature, m.pair_signature)
    assert [name for name in host.missing() if "pair" in name and not name.startswith("name")] == []


def test_indices_that_lead_nowhere_are_left_out_with_a_warning():
    builder = template("private")
    add_pair(builder, "private", 0, -1, 3, 0.0, (0.02, 1.0), (1.0, 1.0, 0.005, 0.0001, 0.0001))
    model = builder.finalize("cpu")
    with pytest.warns(RuntimeWarning, match=r"contact pair 2 names the shapes \(0, -1\)"):
        solver = SolverMuJoCo(model)
    assert solver.batches[0].source.host.npair == 2


def test_indices_of_no_shape_are_refused_by_the_builder():
    builder = template("private")
    add_pair(builder, "private", 0, 17, 3, 0.0, (0.02, 1.0), (1.0, 1.0, 0.005, 0.0001, 0.0001))
    with pytest.raises(BuildError, match="'mujoco:pair_geom2' row 2 refers to shape 17"):
        builder.finalize("cpu")


def test_columns_of_different_length_are_refused():
    builder = template("private")
    builder.add_custom_values(**{"mujoco:pair_margin": 0.1})
    with pytest.raises(BuildError, match="mujoco:pair_geom1: 2, .*mujoco:pair_margin: 3"):
        SolverMuJoCo(builder.finalize("cpu"))


def test_pairs_beside_those_of_a_document():
    """As `register_custom_attributes` declares pairs they are of documents' geoms; those of the document stay."""
    xml = ORACLE[: ORACLE.index('<pair geom1="a"')] + "</contact></mujoco>"
    assert xml.count("<pair") == 1

    def built(more: bool):
        builder = ModelBuilder()
        SolverMuJoCo.register_custom_attributes(builder)
        builder.add_mjcf(xml)
        if more:
            add_pair(builder, "registered", 1, 0, 3, 0.0, (0.05, 1.0), (1.0, 1.0, 0.005, 0.0001, 0.0001))
        return builder.finalize("cpu")

    assert SolverMuJoCo(built(False)).batches[0].source.host.npair == 1
    model = built(True)
    solver, state = SolverMuJoCo(model), model.state()
    assert solver.batches[0].source.host.npair == 2
    for _ in range(STEPS):
        solver.step(state, state, None, None, 0.005)
    np.testing.assert_allclose(state.joint_q.numpy().reshape(2, 7)[:, :3], judge().qpos.reshape(2, 7)[:, :3], atol=1e-4)
