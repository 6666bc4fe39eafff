"""Custom attributes: the worked examples of their description, in both forms, and every way to give values."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from kinema.model import (
    AttributeAssignment,
    AttributeFrequency,
    CustomAttribute,
    CustomFrequency,
    ModelAttributeFrequency,
    ModelBuilder,
    parse_custom_attributes,
)

FORMS = {"private": None, "shared": "mujoco:pair"}


def pair_attributes(form):
    frequency = FORMS[form]
    for name, dtype, default, references in (
        ("pair_world", wp.int32, 0, "world"),
        ("pair_geom1", wp.int32, -1, "shape"),
        ("pair_geom2", wp.int32, -1, "shape"),
        ("pair_condim", wp.int32, 3, None),
        ("pair_margin", wp.float32, 0.0, None),
    ):
        yield CustomAttribute(
            name=name, dtype=dtype, default=default, references=references, namespace="mujoco", frequency=frequency
        )


def with_pairs(form):
    b = ModelBuilder()
    if FORMS[form]:
        b.add_custom_frequency(CustomFrequency(name="pair", namespace="mujoco"))
    for attribute in pair_attributes(form):
        b.add_custom_attribute(attribute)
    return b


def pair_template(form):
    b = with_pairs(form)
    shapes = [b.add_shape_sphere(b.add_body(mass=1.0, inertia=np.eye(3)), label=f"geom{i}") for i in (1, 2)]
    found = b.add_custom_values(
        **{"mujoco:pair_world": b.current_world, "mujoco:pair_geom1": b.shape_key.index("geom1"),
           "mujoco:pair_geom2": shapes[1], "mujoco:pair_condim": 4, "mujoco:pair_margin": 0.02}
    )  # fmt: skip
    assert set(found.values()) == {0} and len(found) == 5
    return b


@pytest.mark.parametrize("form", FORMS)
def test_pairs_across_two_worlds(form):
    main, template = with_pairs(form), pair_template(form)
    main.add_world(template)
    main.add_world(template)
    model = main.finalize("cpu")
    assert model.mujoco.pair_world.numpy().tolist() == [0, 1]
    assert model.mujoco.pair_geom1.numpy().tolist() == [0, 2]
    assert model.mujoco.pair_geom2.numpy().tolist() == [1, 3]
    assert model.mujoco.pair_condim.numpy().tolist() == [4, 4]
    np.testing.assert_allclose(model.mujoco.pair_margin.numpy(), [0.02, 0.02])
    if form == "shared":
        assert model.custom_frequency_counts["mujoco:pair"] == 2
        assert model.get_custom_frequency_count("mujoco:pair") == 2


def my_entity(form):
    """The checklist: world, reference, data."""
    b = ModelBuilder()
    frequency = None
    if form == "shared":
        b.add_custom_frequency(CustomFrequency(name="myentity", namespace="myns"))
        frequency = "myns:myentity"
    for name, more in (
        ("myentity_world", {"dtype": wp.int32, "default": 0, "references": "world"}),
        ("myentity_body_idx", {"dtype": wp.int32, "default": -1, "references": "body"}),
        ("myentity_stiffness", {"dtype": wp.float32, "default": 0.0, "mjcf_attribute_name": "stiffness"}),
    ):
        b.add_custom_attribute(CustomAttribute(name=name, namespace="myns", frequency=frequency, **more))
    return b


@pytest.mark.parametrize("form", FORMS)
def test_my_entity_checklist(form):
    template = my_entity(form)
    template.add_body(mass=1.0, inertia=np.eye(3), label="torso")
    manual = ("myns:myentity_world", "myns:myentity_body_idx")
    automatic = [a for key, a in template.custom_attributes.items() if key not in manual]
    for element in ({"body": "torso", "stiffness": "2.5"}, {"body": "torso"}):
        parsed = parse_custom_attributes(element, automatic, parsing_mode="mjcf")
        values = {manual[0]: template.current_world, manual[1]: template.body_key.index(element["body"])}
        template.add_custom_values(**values, **{a.key: parsed.get(a.key, a.default) for a in automatic})
    main = my_entity(form)
    main.replicate(template, 2)
    model = main.finalize("cpu")
    assert model.common_length(*(f"myns:myentity_{n}" for n in ("world", "body_idx", "stiffness"))) == 4
    assert model.myns.myentity_world.numpy().tolist() == [0, 0, 1, 1]
    assert model.myns.myentity_body_idx.numpy().tolist() == [0, 0, 1, 1]
    assert model.myns.myentity_stiffness.numpy().tolist() == [2.5, 0.0, 2.5, 0.0]


def test_lengths_that_disagree_are_named():
    b = my_entity("private")
    b.add_custom_values(**{"myns:myentity_world": 0, "myns:myentity_stiffness": 1.0})
    model = b.finalize("cpu")
    with pytest.raises(ValueError, match="'myns:myentity_body_idx': 0"):
        model.common_length(*(f"myns:myentity_{n}" for n in ("world", "body_idx", "stiffness")))
    assert model.common_length("myns:nothing") == 0


@pytest.mark.parametrize("form", FORMS)
def test_attributes_that_point_at_attributes(form):
    """An arm points at a joint row of another custom entity, by key or by frequency."""

    def registered():
        b = ModelBuilder()
        frequencies = {}
        for name in ("node", "link"):
            if form == "shared":
                b.add_custom_frequency(CustomFrequency(name=name, namespace="g"))
                frequencies[name] = f"g:{name}"
        b.add_custom_attribute(
            CustomAttribute(name="node_value", namespace="g", dtype=wp.float32, frequency=frequencies.get("node"))
        )
        for name, target in (("link_from", "g:node_value"), ("link_to", frequencies.get("node", "g:node_value"))):
            b.add_custom_attribute(
                CustomAttribute(
                    name=name, namespace="g", dtype=wp.int32, references=target, frequency=frequencies.get("link")
                )
            )
        return b

    template = registered()
    for value in (1.0, 2.0, 3.0):
        template.add_custom_values(**{"g:node_value": value})
    template.add_custom_values(**{"g:link_from": 0, "g:link_to": 2})
    template.add_custom_values(**{"g:link_from": 1, "g:link_to": -1})
    main = registered()
    main.add_custom_values(**{"g:node_value": 0.5})
    main.add_world(template)
    main.add_world(template)
    model = main.finalize("cpu", skip_validation_worlds=True)
    assert model.g.link_from.numpy().tolist() == [1, 2, 4, 5]
    assert model.g.link_to.numpy().tolist() == [3, -1, 6, -1]


def test_references_per_component_and_by_hook():
    def remap(values, offsets, columns):
        """Rows of kind 0 point at bodies, of kind 1 at rows of their own entity."""
        moved = np.where(columns["n:kind"] == 0, offsets["body"], offsets["n:row"])
        return np.where(values >= 0, values + moved, values)

    def registered():
        b = ModelBuilder()
        b.add_custom_frequency(CustomFrequency(name="row", namespace="n"))
        b.add_custom_attribute(CustomAttribute(name="kind", namespace="n", frequency="n:row", dtype=wp.int32))
        b.add_custom_attribute(
            CustomAttribute(name="obj", namespace="n", frequency="n:row", dtype=wp.int32, references=remap)
        )
        b.add_custom_attribute(
            CustomAttribute(
                name="mix", namespace="n", frequency="n:row", dtype=wp.vec3i, references=("shape", None, "world")
            )
        )
        return b

    template = registered()
    template.add_shape_sphere(template.add_body(mass=1.0, inertia=np.eye(3)))
    template.add_body(mass=1.0, inertia=np.eye(3))
    columns = {"n:kind": [0, 1, 1], "n:obj": np.array([1, 0, -1]), "n:mix": [[0, 7, 0], [-1, 8, 0], [0, 9, 0]]}
    found = template.add_custom_values_batch(columns)
    assert found["n:obj"].tolist() == [0, 1, 2]
    main = registered()
    main.replicate(template, 3)
    model = main.finalize("cpu")
    assert model.n.obj.numpy().tolist() == [1, 0, -1, 3, 3, -1, 5, 6, -1]
    assert model.n.mix.numpy()[3:6].tolist() == [[1, 7, 1], [-1, 8, 1], [1, 9, 1]]
    local = model.world_classes[0].template
    assert local["n:obj"].tolist() == [1, 0, -1] and local["n:mix"].tolist() == [[0, 7, 0], [-1, 8, 0], [0, 9, 0]]
    assert local.counts["n:row"] == 3 and local.counts["body"] == 2


ENDS = [(-1, 1), [-1, 1], np.array([-1, 1]), wp.vec2i(-1, 1)]


@pytest.mark.parametrize("value", ENDS, ids=lambda v: type(v).__name__)
def test_minus_one_survives_in_every_type(value):
    template = ModelBuilder()
    template.add_custom_attribute(CustomAttribute(name="ends", dtype=wp.vec2i, references="shape"))
    body = template.add_body(mass=1.0, inertia=np.eye(3))
    template.add_shape_sphere(body)
    template.add_shape_sphere(body)
    template.add_custom_values(ends=value)
    main = ModelBuilder()
    main.replicate(template, 2)
    assert main.finalize("cpu").ends.numpy().tolist() == [[-1, 1], [-1, 3]]


def test_every_enum_frequency_has_rows():
    from .rich import rich_template

    b = rich_template()
    kinds = list(AttributeFrequency)
    for frequency in kinds:
        b.add_custom_attribute(CustomAttribute(name=f"on_{frequency.name.lower()}", frequency=frequency, default=2.0))
    model = b.finalize("cpu")
    counts = {**model.kinds, "once": 1, "world": 1, "equality_constraint": 3}
    for frequency in kinds:
        name = frequency.name.lower()
        array = getattr(model, f"on_{name}").numpy()
        assert len(array) == counts[name] > 0, name
        assert (array == 2.0).all()
    assert AttributeFrequency.WORLD == 15 and ModelAttributeFrequency is AttributeFrequency
    assert model.get_attribute_frequency("on_body") == AttributeFrequency.BODY


def test_attributes_without_rows_are_empty_arrays():
    b = with_pairs("shared")
    b.add_custom_attribute(CustomAttribute(name="label", namespace="mujoco", frequency="mujoco:pair", dtype=str))
    model = b.finalize("cpu")
    assert model.mujoco.pair_geom1.shape == (0,) and model.mujoco.pair_geom1.dtype == wp.int32
    assert model.mujoco.label == []


def test_assignment_and_strings():
    b = ModelBuilder()
    for name, assignment in zip("abcd", AttributeAssignment, strict=True):
        more = {"assignment": assignment, "namespace": "n", "default": 1.0}
        b.add_custom_attribute(CustomAttribute(name=name, frequency=AttributeFrequency.BODY, **more))
    b.add_custom_attribute(
        CustomAttribute(name="name", frequency=AttributeFrequency.BODY, dtype=str, assignment=AttributeAssignment.STATE)
    )
    b.add_body(mass=1.0, inertia=np.eye(3), custom_attributes={"n:b": 5.0, "name": "first"})
    b.add_body(mass=1.0, inertia=np.eye(3))
    model = b.finalize("cpu")
    state, control, contacts = model.state(), model.control(), model.contacts()
    assert model.n.a.numpy().tolist() == [1.0, 1.0]
    assert state.n.b.numpy().tolist() == [5.0, 1.0] and not hasattr(state.n, "a")
    assert control.n.c.numpy().tolist() == contacts.n.d.numpy().tolist() == [1.0, 1.0]
    assert state.name == ["first", ""] and state.name is not model.name
    state.n.b.fill_(0.0)
    assert model.n.b.numpy().tolist() == [5.0, 1.0]


def test_joint_values_by_list_dict_and_scalar():
    b = ModelBuilder()
    kinds = {"dof": "JOINT_DOF", "coord": "JOINT_COORD", "cts": "JOINT_CONSTRAINT", "j": "JOINT"}
    for name, frequency in kinds.items():
        b.add_custom_attribute(CustomAttribute(name=name, frequency=AttributeFrequency[frequency], default=-1.0))
    links = [b.add_link(mass=1.0, inertia=np.eye(3)) for _ in range(3)]
    joints = [
        b.add_joint_free(links[0], custom_attributes={"dof": [1, 2, 3, 4, 5, 6], "coord": {6: 9.0}, "j": 3.0}),
        b.add_joint_ball(links[0], links[1], custom_attributes={"dof": 7.0, "cts": {1: 5.0}}),
        b.add_joint_fixed(links[1], links[2], custom_attributes={"dof": 1.0}),
    ]
    b.add_articulation(joints)
    model = b.finalize("cpu")
    assert model.dof.numpy().tolist() == [1, 2, 3, 4, 5, 6, 7, 7, 7]
    assert model.coord.numpy().tolist() == [-1] * 6 + [9] + [-1] * 4
    assert model.cts.numpy().tolist() == [-1, 5, -1] + [-1] * 6
    assert model.j.numpy().tolist() == [3, -1, -1]


def test_once_and_world_have_a_setter():
    def registered():
        b = ModelBuilder()
        b.add_custom_attribute(CustomAttribute(name="step", frequency=AttributeFrequency.ONCE, default=0.1))
        b.add_custom_attribute(CustomAttribute(name="wind", frequency=AttributeFrequency.WORLD, dtype=wp.vec3))
        return b

    calm, windy = registered(), registered()
    for b in (calm, windy):
        b.add_body(mass=1.0, inertia=np.eye(3))
        b.set_custom_value("step", 0.5)
    windy.set_custom_value("wind", (1, 2, 3))
    main = registered()
    main.add_world(calm)
    main.add_world(windy)
    main.begin_world(attributes={"wind": (0, 0, 9)})
    main.add_body(mass=1.0, inertia=np.eye(3))
    main.end_world()
    model = main.finalize("cpu")
    assert model.step.numpy().tolist() == [0.5]
    assert model.wind.numpy().tolist() == [[0, 0, 0], [1, 2, 3], [0, 0, 9]]
    other = registered()
    other.set_custom_value("step", 0.25)
    with pytest.raises(ValueError, match="'step'.*ONCE.*0.25 here and 0.5"):
        other.add_world(calm)
    assert other.world_count == 0


def test_hooks_for_transforms_and_labels():
    """An attribute may move with the world it is placed in, and labels of an entity take the prefix."""
    from kinema.model.transform import move_points

    def registered():
        b = ModelBuilder()
        b.add_custom_frequency(CustomFrequency("mark", "n", label_attribute="mark_label"))
        b.add_custom_attribute(CustomAttribute("mark_pos", wp.vec3, "n:mark", namespace="n", transform=move_points))
        b.add_custom_attribute(CustomAttribute("mark_label", str, "n:mark", namespace="n"))
        return b

    template = registered()
    template.add_custom_values(**{"n:mark_pos": (1, 0, 0), "n:mark_label": "tip"})
    main = registered()
    quarter = wp.transform(wp.vec3(0, 0, 5), wp.quat_from_axis_angle(wp.vec3(0, 0, 1), np.pi / 2))
    main.add_world(template, xform=quarter, label_prefix="left")
    main.add_world(template)
    model = main.finalize("cpu")
    np.testing.assert_allclose(model.n.mark_pos.numpy(), [[0, 1, 5], [1, 0, 0]], atol=1e-6)
    assert model.n.mark_label == ["left/tip", "tip"]
    np.testing.assert_allclose(model.world_classes[0].template["n:mark_pos"], [[0, 1, 5]], atol=1e-6)


def test_values_of_batch_adders():
    b = ModelBuilder()
    b.add_custom_attribute(CustomAttribute(name="heat", frequency=AttributeFrequency.PARTICLE))
    b.add_custom_attribute(CustomAttribute(name="way", frequency=AttributeFrequency.PARTICLE, dtype=wp.vec2))
    points = np.zeros((3, 3))
    b.add_particles(points, points, np.ones(3), custom_attributes={"heat": [1, 2, 3], "way": wp.vec2(1, 2)})
    b.add_particles(points, points, np.ones(3), custom_attributes={"heat": 5.0, "way": [[1, 2], [3, 4], [5, 6]]})
    with pytest.raises(ValueError, match="'heat' needs 3 values, got 2"):
        b.add_particles(points, points, np.ones(3), custom_attributes={"heat": [1, 2]})
    model = b.finalize("cpu")
    assert model.heat.numpy().tolist() == [1, 2, 3, 5, 5, 5]
    assert model.way.numpy().tolist() == [[1, 2]] * 3 + [[1, 2], [3, 4], [5, 6]]


def test_batches_of_rows():
    b = with_pairs("shared")
    found = b.add_custom_values_batch([{"mujoco:pair_condim": 1}, {"mujoco:pair_condim": 6}])
    assert [row["mujoco:pair_condim"] for row in found] == [0, 1]
    assert found[0]["mujoco:pair_world"] == 0  # filled with the current world
    with pytest.raises(AttributeError):
        b.add_custom_values_batch([{"mujoco:pair_condim": 1}, {"mujoco:pair_nothing": 6}])
    assert b.custom_attributes["mujoco:pair_condim"].values[1] == 6
    assert len(b.custom_attributes["mujoco:pair_condim"].values) == 2
    model = b.finalize("cpu")
    assert model.mujoco.pair_world.numpy().tolist() == [-1, -1]


def test_parse_custom_attributes():
    attributes = [
        CustomAttribute(name="flag", dtype=wp.bool),
        CustomAttribute(name="size", dtype=wp.vec3, mjcf_attribute_name="s"),
        CustomAttribute(name="mode", dtype=wp.int32, mjcf_value_transformer=lambda t, c: {"auto": 2}.get(t)),
        CustomAttribute(name="title", dtype=str),
        CustomAttribute(name="absent"),
    ]
    found = parse_custom_attributes({"flag": "true", "s": "1 2 3", "mode": "auto", "title": "a b"}, attributes)
    assert found["flag"] and found["mode"] == 2 and found["title"] == "a b" and "absent" not in found
    np.testing.assert_allclose(found["size"], [1, 2, 3])
    assert "mode" not in parse_custom_attributes({"mode": "other"}, attributes)
    with pytest.raises(ValueError, match="size"):
        parse_custom_attributes({"s": "1 x"}, attributes)


def test_registering_again():
    b = ModelBuilder()
    b.add_custom_attribute(CustomAttribute(name="a", default=1.0))
    b.add_custom_attribute(CustomAttribute(name="a", default=1.0))
    for other in ({"default": 2.0}, {"dtype": wp.int32}, {"frequency": AttributeFrequency.BODY}):
        with pytest.raises(ValueError, match="'a'.*registered differently"):
            b.add_custom_attribute(CustomAttribute(name="a", **{"default": 1.0, **other}))


def test_registration_after_rows_gives_defaults():
    b = ModelBuilder()
    b.add_body(mass=1.0, inertia=np.eye(3))
    b.add_custom_attribute(CustomAttribute(name="late", frequency=AttributeFrequency.BODY, default=4.0))
    b.add_body(mass=1.0, inertia=np.eye(3), custom_attributes={"late": 5.0})
    assert b.finalize("cpu").late.numpy().tolist() == [4.0, 5.0]
