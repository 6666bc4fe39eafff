"""Bindings: what elements offer, dirty rules, synchronizing arrays, several worlds."""

import copy
import pickle

import mujoco
import numpy as np
import pytest

from kinema import mjcf
from kinema.physics.bindable import KINDS, attributes_of
from tests.mjcf.physics_model import Oracle, document

ACCESS = {"mocap_body": "body", "camera": "cam", "equality": "eq", "material": "mat", "texture": "tex", "joint": "jnt"}


@pytest.fixture(scope="module")
def doc():
    return document()


@pytest.fixture
def physics(doc):
    return mjcf.Physics.from_mjcf_model(doc)


@pytest.fixture(scope="module")
def oracle():
    return Oracle()


def test_attributes_are_those_of_dm_control():
    from dm_control.mjcf import physics as theirs

    gone = {"flex", "skin"}
    assert set(KINDS) - set(theirs._ATTRIBUTES) <= gone, "kinds that dm_control does not bind"
    for kind in set(KINDS) & set(theirs._ATTRIBUTES):
        wanted = {name for name in theirs._ATTRIBUTES[kind] if not any(part in name for part in gone)}
        missing = wanted - set(attributes_of(kind)) - mujoco_has_not(kind, theirs)
        assert not missing, (kind, missing)
        for name in wanted & set(attributes_of(kind)):
            assert attributes_of(kind)[name].triggers_dirty == theirs._ATTRIBUTES[kind][name].triggers_dirty, name
            assert attributes_of(kind)[name].disable_on_write == theirs._ATTRIBUTES[kind][name].disable_on_write, name


def mujoco_has_not(kind, theirs):
    """Attributes dm_control's tables still have and MuJoCo has no more."""
    m = mujoco.MjModel.from_xml_string("<mujoco/>")
    d = mujoco.MjData(m)
    prefixes = ("", *KINDS[kind][1])
    known = theirs._ATTRIBUTES[kind]
    return {n for n in known if not any(hasattr(o, p + n) for p in prefixes for o in (m, d))}


@pytest.mark.parametrize(
    "kind", ["body", "geom", "site", "joint", "actuator", "sensor", "camera", "material", "numeric"]
)
def test_every_model_attribute_is_mujocos(kind, physics, oracle, doc):
    elements = doc.find_all(kind)
    if kind == "body":
        elements = [element for element in elements if element.mocap != "true"]
    binding = physics.bind(elements)
    names = [element.full_identifier for element in elements]
    ids = [getattr(oracle.m, ACCESS.get(kind, kind))(name).id for name in names]
    np.testing.assert_array_equal(binding.element_id, ids)
    size = {"numeric": "nnumeric", "camera": "ncam", "material": "nmat", "joint": "njnt"}.get(kind, f"n{kind}")
    tested = 0
    for name, attribute in attributes_of(kind).items():
        wanted = getattr(oracle.m, attribute.field, None)
        if (
            attribute.struct == "model"
            and wanted is not None
            and len(wanted) == getattr(oracle.m, size)
            and wanted.size
        ):
            if attribute.field.startswith("dof"):
                continue
            np.testing.assert_allclose(getattr(binding, name), wanted[ids], atol=1e-12, err_msg=name)
            tested += 1
    assert tested > 2


def test_joints_of_several_dofs(physics, doc):
    root, elbow = doc.find("joint", "root"), doc.find("joint", "elbow")
    assert physics.bind(root).qpos.shape == (7,)
    assert physics.bind(root).qvel.shape == (6,)
    assert physics.bind(elbow).qpos.shape == (1,)
    assert physics.bind([elbow, root]).qpos.tolist()[1:] == physics.data.qpos[:7].tolist()
    assert isinstance(physics.bind(elbow).range, np.ndarray)
    assert np.ndim(physics.bind(elbow).element_id) == 0
    assert physics.bind(elbow).limited == 1


def test_dirty_rules(physics, doc):
    elbow, tip = doc.find("joint", "elbow"), doc.find("site", "tip")
    before = physics.bind(tip).xpos.copy()
    assert not physics.is_dirty
    physics.bind(elbow).qpos = 0.5
    assert physics.is_dirty
    physics.bind(tip).pos  # noqa: B018  the model does not follow from the state
    assert physics.is_dirty
    assert not np.allclose(physics.bind(tip).xpos, before)
    assert not physics.is_dirty
    physics.bind(tip).rgba = [1, 0, 0, 1]
    assert not physics.is_dirty
    physics.bind(doc.find("body", "lower")).mass = 2.0
    assert physics.is_dirty
    physics.step()
    assert physics.is_dirty
    physics.bind(doc.find_all("sensor")).sensordata[:2] = 5
    assert not physics.is_dirty
    assert physics.data.sensordata[:3].tolist()[:2] == [5, 5]


def test_values_follow_mujoco(physics, doc):
    state = Oracle()
    physics.bind(doc.find("joint", "elbow")).qpos = 0.4
    physics.bind(doc.find("actuator", "servo")).ctrl = 1.5
    state.d.joint("elbow").qpos = 0.4
    state.d.actuator("servo").ctrl = 1.5
    mujoco.mj_forward(state.m, state.d)
    force, shake = state.d.actuator("servo").force, state.d.sensor("shake").data
    np.testing.assert_allclose(physics.bind(doc.find("site", "tip")).xpos, state.d.site("tip").xpos, atol=1e-6)
    np.testing.assert_allclose(physics.bind(doc.find("actuator", "servo")).force, force, atol=1e-5)
    np.testing.assert_allclose(physics.bind(doc.find("sensor", "shake")).sensordata, shake, atol=1e-3)
    assert np.abs(shake).max() > 10


def test_frames_that_coincide_no_longer_do_once_written(physics, doc):
    ball, upper = doc.find("geom", "ball"), doc.find("geom", "upper")
    assert physics.bind(ball).sameframe == 1
    other = physics.bind(upper).sameframe
    physics.bind([ball, upper]).pos[0] = [0, 0, 0.1]
    assert physics.bind(ball).sameframe == 0
    assert physics.bind(upper).sameframe == other
    body = doc.find("body", "ball")
    simple = physics.bind(body).simple
    assert simple
    physics.bind(body).ipos = [0, 0, 0.01]
    assert physics.bind(body).simple == physics.bind(body).sameframe == 0


def test_columns_and_outer_indexing(physics, doc):
    geoms = doc.find_all("geom")[1:4]
    binding = physics.bind(geoms)
    binding["pos", ["x", "z"]] = [[1, 3], [4, 6], [7, 9]]
    np.testing.assert_array_equal(binding["pos"][:, [0, 2]], [[1, 3], [4, 6], [7, 9]])
    np.testing.assert_array_equal(binding["pos", "z"], [3, 6, 9])
    binding["pos", 1:] = 0.5
    assert binding.pos[:, 1:].tolist() == [[0.5, 0.5]] * 3
    assert physics.is_dirty
    assert physics.bind(geoms[0])["pos", "x"] == 1


def test_synchronizing_arrays(physics, doc):
    joints = [doc.find("joint", name) for name in ("stretch", "elbow")]
    binding = physics.bind(joints)
    qpos = binding.qpos
    assert binding.qpos is qpos
    physics.data.qpos[:] = np.arange(physics.model.nq)
    assert binding.qpos.tolist() == [12, 11]
    qpos[1] = 0.25  # what was not written keeps the model's number
    assert physics.data.qpos[11:].tolist() == [0.25, 12]
    qpos *= 2
    assert physics.data.qpos[11:].tolist() == [0.5, 24]
    qpos.fill(0.125)
    assert physics.data.qpos[11:].tolist() == [0.125, 0.125]
    binding.qpos += 0.5
    assert physics.named.data.qpos[["elbow", "stretch"]].tolist() == [0.625, 0.625]
    for other in (qpos.copy(), copy.copy(qpos), copy.deepcopy(qpos), physics.bind(joints).qpos.copy("F")):
        assert type(other) is np.ndarray
        other[:] = 9
    assert physics.data.qpos[11] == 0.625
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(qpos)


def test_what_can_be_bound(physics, doc):
    joints = doc.find_all("joint")
    binding = physics.bind(joint for joint in joints)
    assert binding is physics.bind(joints)
    assert physics.bind(reversed(joints)) is not binding
    assert physics.bind([]).xpos.shape == (0,)
    with pytest.raises(ValueError, match="Cannot assign a value to an empty binding."):
        physics.bind([]).xpos = 1
    with pytest.raises(ValueError, match="is None"):
        physics.bind(None)
    with pytest.raises(ValueError, match="multiple element types"):
        physics.bind([joints[0], doc.find("geom", "ball")])
    with pytest.raises(ValueError, match="'key' cannot be bound to physics"):
        physics.bind(doc.find("key", "up"))
    with pytest.raises(AttributeError, match="does not have attribute 'qposs'; did you mean 'qpos'"):
        binding.qposs  # noqa: B018
    with pytest.raises(AttributeError, match="does not have attribute 'mocap_pos'"):
        physics.bind(doc.find("body", "ball")).mocap_pos  # noqa: B018
    assert physics.bind(doc.find("body", "target")).mocap_pos.tolist() == [0.5, 0.5, 0.5]
    assert physics.bind(doc.worldbody).subtreemass > 0.5
    assert "qpos" in dir(binding)


def test_attached_models():
    arena, child = mjcf.RootElement(model="arena"), mjcf.RootElement(model="scene")
    body = child.worldbody.add("body")
    body.add("joint", name="elbow")
    body.add("geom", size=[0.1])
    frame = arena.attach(child)
    frame.pos = [0, 0, 1]
    physics = mjcf.Physics.from_mjcf_model(arena)
    assert physics.bind(frame).pos.tolist() == [0, 0, 1]
    assert physics.bind(child.find("joint", "elbow")).element_id == physics.model.name2id("scene/elbow", "joint")


def test_several_worlds(doc):
    physics = mjcf.Physics.from_mjcf_model(doc, worlds=3)
    single = mjcf.Physics.from_mjcf_model(doc)
    elbow, tip = doc.find("joint", "elbow"), doc.find("site", "tip")
    angles = np.array([0.1, 0.2, 0.3])
    physics.bind(elbow).qpos = angles[:, None]
    joints = physics.bind(doc.find_all("joint")).qpos
    assert joints.shape == (3, physics.model.nq)
    np.testing.assert_array_equal(joints[:, 11], angles)
    physics.bind(doc.find_all("actuator"))["ctrl"] = [[0.1, 0], [0.2, 0], [0.3, 0]]
    assert physics.bind(tip).xpos.shape == (3, 3)
    assert physics.bind(doc.find("actuator", "servo")).ctrl.shape == (3,)
    assert physics.bind([tip, doc.find("site", "top")])["xpos", ["x", "z"]].shape == (3, 2, 2)
    assert physics.named.data.xpos["ball", "z"].shape == (3,)
    physics.step(4)
    assert physics.get_state().shape == (3, physics.model.nq + physics.model.nv + physics.model.na)
    for world, angle in enumerate(angles):
        single.reset()
        single.bind(elbow).qpos = angle
        single.bind(doc.find("actuator", "servo")).ctrl = angle
        single.step(4)
        np.testing.assert_array_equal(physics.data.qpos[world], single.data.qpos)
        np.testing.assert_array_equal(physics.bind(tip).xpos[world], single.bind(tip).xpos)


def test_parameters_that_differ_per_world(doc):
    physics = mjcf.Physics.from_mjcf_model(doc, worlds=2)
    lower = doc.find("body", "lower")
    assert np.ndim(physics.bind(lower).mass) == 0
    physics.expand("body_mass")
    assert physics.bind(lower).mass.shape == (2,)
    physics.bind(lower).mass = [1.0, 5.0]
    assert physics.model.body_mass.shape == (2, physics.model.nbody)
    physics.step(3)
    assert not np.array_equal(physics.data.qvel[0], physics.data.qvel[1])
    kept = physics.get_state()
    physics.bind(doc.find("geom", "ball")).friction = 0.2  # builds the engine anew
    physics._run.send()
    np.testing.assert_array_equal(physics.get_state(), kept)
    np.testing.assert_array_equal(physics._run.engine.read("body_mass")[:, 5], [1.0, 5.0])


def test_one_world_of_several_that_is_lost(doc):
    physics = mjcf.Physics.from_mjcf_model(doc, worlds=3)
    physics.data.qvel[1, 0] = np.nan
    with pytest.raises(mjcf.physics.PhysicsError, match=r"in worlds \[1\]"):
        physics.step()
    physics.step()  # the others go on
    np.testing.assert_array_equal(physics.data.qpos[0], physics.data.qpos[2])
    assert physics.time()[0] == pytest.approx(0.008)


def test_a_held_array_survives_an_engine_built_anew(doc):
    physics = mjcf.Physics.from_mjcf_model(doc, worlds=2)
    physics.expand("geom_pos")
    ball, upper = doc.find("geom", "ball"), doc.find("geom", "upper")
    qpos = physics.data.qpos
    physics.bind(ball).contype = 0
    physics._run.send()
    qpos[:, 0] = [0.1, 0.2]
    physics.bind([ball, upper]).pos[1, 0] = [0.0, 0.0, 0.3]  # one world, one geom
    physics.forward()
    np.testing.assert_array_equal(physics.data.qpos[:, 0], [0.1, 0.2])
    assert physics.bind(ball).sameframe == 0
    np.testing.assert_allclose(np.ptp(physics.bind(ball).xpos, axis=0), [0.1, 0, 0.3], atol=1e-6)


CLOTH = """<mujoco model="cloth"><worldbody><geom type="plane" size="1 1 .1" friction=".4"/>
  <flexcomp name="towel" type="grid" dim="2" count="3 3 1" spacing=".05 .05 .05" pos="0 0 .004" radius=".005">
    <edge equality="true"/><contact selfcollide="none" friction=".2"/></flexcomp></worldbody></mujoco>"""


def test_flexes_are_bound_by_the_flexcomp_that_makes_them():
    """With the rows of its vertices and edges; what is written acts."""
    cloth, scene = mjcf.from_xml_string(CLOTH), mjcf.RootElement(model="scene")
    scene.worldbody.add("site", pos=[0, 0, 0]).attach(cloth)
    physics = mjcf.Physics.from_mjcf_model(scene)
    towel = physics.bind(cloth.find("flexcomp", "towel"))
    assert towel.element_id == 0 and np.isclose(towel.radius, 0.005)
    assert towel.flexvert_xpos.shape == (9, 3) and towel.flexedge_length.shape == (16,)
    assert np.array_equal(physics.named.data.flexvert_xpos["cloth/towel", "z"], towel.flexvert_xpos[:, 2])
    physics.forward()
    assert np.isclose(physics.data.contact[0].friction[0], 0.4)
    towel.friction[0] = 0.9
    physics.forward()
    assert np.isclose(physics.data.contact[0].friction[0], 0.9)
    with pytest.raises(AttributeError, match=r"<flex> does not have attribute 'raduis'; did you mean 'radius'"):
        _ = towel.raduis
