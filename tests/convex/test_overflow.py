"""Lists that are too short: grown, warned of, or refused; never silently cut."""

import mujoco
import numpy as np
import pytest

from kinema.convex.collision import capacity
from kinema.convex.engine import Engine
from kinema.convex.present import Present
from kinema.errors import BuildError, KernelsRebuilt, SimulationError
from tests.conformance.staged import StagedEngine

HEAP = (
    "<mujoco><worldbody><geom type='plane' size='9 9 9'/>"
    + "".join(
        f"<body pos='{0.05 * (i % 2)} {0.03 * (i % 3)} {0.09 + 0.15 * i}'><freejoint/>"
        "<geom type='box' size='.08 .08 .08'/></body>"
        for i in range(5)
    )
    + "</worldbody></mujoco>"
)
STEPS = 120


@pytest.fixture(scope="module")
def heap():
    return mujoco.MjModel.from_xml_string(HEAP)


def run(m, *, at_a_time: int = STEPS, **options):
    engine = StagedEngine(m, nworld=3, device="cpu", **options)
    engine.write("qvel", [[0.0] * m.nv, [0.1] * m.nv, [-0.2] * m.nv])
    for _ in range(STEPS // at_a_time):
        engine.step(at_a_time)
    return engine


def test_grown_lists_give_the_same_bits(heap):
    """A run that had to grow is the run that had room from the start."""
    roomy, grown = run(heap), run(heap, nconmax=3)
    assert not roomy.guard.needed, "all slots of a small model fit"
    for name in ("qpos", "qvel", "qacc", "time"):
        np.testing.assert_array_equal(roomy.read(name), grown.read(name))
    assert grown.capacity.contacts > 3
    assert grown.capacity.most_contacts == roomy.capacity.most_contacts <= grown.capacity.contacts
    assert grown.capacity.most_rows == roomy.capacity.most_rows <= grown.capacity.rows
    assert not grown.read("status").any()


def test_lists_that_begin_near_the_need_grow_to_the_same_bits(heap):
    """On CUDA lists begin short; what they grow to is near what was wanted, and no bit tells that they grew.

    There a world waits in the very step that finds no room. On the CPU a call goes on without what found none before it
    is run again, and so asks for more: steps are taken one by one.
    """
    roomy, sparing = run(heap, cuda=True, nconmax=200), run(heap, cuda=True, at_a_time=1)
    first = StagedEngine(heap, device="cpu", cuda=True).capacity
    assert first.contacts == 16 and first.rows == 64 and sparing.guard.needed
    for name in ("qpos", "qvel", "qacc", "time", "ncon", "nefc"):
        np.testing.assert_array_equal(roomy.read(name), sparing.read(name))
    most = roomy.capacity
    assert first.rows < most.most_rows == sparing.capacity.most_rows <= sparing.capacity.rows < 2.5 * most.most_rows
    assert first.contacts < most.most_contacts == sparing.capacity.most_contacts <= sparing.capacity.contacts
    assert sparing.capacity.contacts < 2.5 * most.most_contacts
    assert not sparing.read("status").any() and not sparing.read("efc_dropped").any()


@pytest.mark.parametrize("policy", ["warn", "raise"])
def test_lists_that_may_not_grow_do_not_begin_short(heap, policy):
    assert StagedEngine(heap, device="cpu", cuda=True, on_overflow=policy).capacity.contacts > 50


def test_room_can_be_reserved(heap):
    """A step that is recorded into a graph cannot grow: room is made before."""
    engine = StagedEngine(heap, nworld=2, device="cpu", nconmax=3, on_overflow="raise")
    engine.reserve(contacts=300, rows=1200)
    assert (engine.capacity.contacts, engine.capacity.rows) == (300, 1200) and not engine.guard.needed
    engine.step(STEPS)
    engine.reserve(contacts=5)
    assert engine.capacity.contacts == 300 and engine.read("ncon").min() > 3


def test_forward_grows_too(heap):
    engine = StagedEngine(heap, nworld=2, device="cpu", nconmax=1)
    engine.forward()
    d = mujoco.MjData(heap)
    mujoco.mj_forward(heap, d)
    np.testing.assert_array_equal(engine.read("ncon"), [d.ncon] * 2)
    assert d.ncon > 1


def test_parameters_that_differ_survive(heap):
    engine = StagedEngine(heap, nworld=3, device="cpu", nconmax=3)
    engine.expand("body_mass")
    masses = engine.read("body_mass") * np.array([[1.0], [2.0], [3.0]])
    engine.set_parameter("body_mass", masses)
    engine.step(STEPS)
    np.testing.assert_allclose(engine.read("body_mass"), masses, rtol=1e-6)
    assert engine.capacity.contacts > 3


def test_raise_names_worlds_and_numbers(heap):
    with pytest.raises(SimulationError, match=r"world 0: \d+ contacts of 3, \d+ constraint rows of") as raised:
        run(heap, nconmax=3, on_overflow="raise")
    assert "grow" in str(raised.value)


def test_warn_goes_on_with_what_fits(heap):
    with pytest.warns(RuntimeWarning, match="contacts of 3"):
        engine = run(heap, nconmax=3, on_overflow="warn")
    assert (engine.read("ncon") <= 3).all() and engine.capacity.most_contacts > 3
    assert (engine.read("time") > 0).all()
    with pytest.warns(RuntimeWarning, match="contacts of 3"):
        engine.step()


def test_unknown_policy(heap):
    with pytest.raises(BuildError, match="did you mean 'grow'"):
        StagedEngine(heap, device="cpu", on_overflow="grwo")


ROWS = """
<mujoco>
  <option><flag contact="{contact}"/></option>
  <worldbody>
    <body name="a" pos="0 0 1"><joint name="j0" limited="true" range="1 2"/><geom size=".1"/>
      {links}
    </body>
    <body name="b" pos="0 1 1"><freejoint/><geom size=".1"/></body>
  </worldbody>
  <equality><connect body1="b" anchor="0 0 .1"/></equality>
  <tendon><fixed name="t" limited="true" range="1 2"><joint joint="j0" coef="1"/></fixed></tendon>
</mujoco>
"""


@pytest.fixture(scope="module", params=["enable", "disable"])
def rows_model(request):
    """Three rows of an equality, four of limits, and eight links without friction."""
    link = "<body pos='.1 0 0'><joint axis='0 {} 1'/><geom size='.01'/>"
    links = "".join(link.format(i % 2) for i in range(8)) + "</body>" * 8
    return mujoco.MjModel.from_xml_string(ROWS.format(contact=request.param, links=links))


def judged_rows(m):
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, nstep=3)
    mujoco.mj_forward(m, d)
    return d


def test_rows_grow_whatever_made_them(rows_model):
    """Equalities, limits, and friction given while running find room as contacts do, with collision or without."""
    m = rows_model
    engine = StagedEngine(m, nworld=2, device="cpu", nefcmax=2)
    assert engine.guard.needed
    engine.step(3)
    engine.forward()
    d = judged_rows(m)
    np.testing.assert_array_equal(engine.read("nefc"), [d.nefc] * 2)
    np.testing.assert_allclose(engine.read("qvel")[1], d.qvel, atol=1e-4 * np.abs(d.qvel).max())
    with pytest.warns(KernelsRebuilt, match="dof_frictionloss"):
        engine.set_parameter("dof_frictionloss", 0.3)
    m.dof_frictionloss[:] = 0.3
    engine.reset()
    engine.step(3)
    engine.forward()
    d = judged_rows(m)
    m.dof_frictionloss[:] = 0.0
    assert d.nf == m.nv > 8
    np.testing.assert_array_equal(engine.read("nefc"), [d.nefc] * 2)
    np.testing.assert_array_equal(engine.read("efc_dropped"), 0)
    np.testing.assert_allclose(engine.read("qvel")[1], d.qvel, atol=1e-4 * np.abs(d.qvel).max())


def test_room_follows_friction_that_is_given_while_running(rows_model):
    """The room for rows is what the model as it is now could ask for: there is nothing to watch."""
    engine = StagedEngine(rows_model, nworld=2, device="cpu")
    before = engine.capacity.rows
    with pytest.warns(KernelsRebuilt):
        engine.set_parameter("dof_frictionloss", 0.3)
    assert engine.capacity.rows == before + rows_model.nv and not engine.guard.needed
    engine.step(2)
    assert not engine.read("status").any() and not engine.read("efc_dropped").any()


@pytest.mark.parametrize("policy", ["warn", "raise"])
def test_rows_that_find_no_room_are_told(rows_model, policy):
    engine = StagedEngine(rows_model, nworld=2, device="cpu", nefcmax=2, on_overflow=policy)
    told = pytest.warns(RuntimeWarning, match="constraint rows of 2") if policy == "warn" else pytest.raises(
        SimulationError, match="constraint rows of 2"
    )  # fmt: skip
    with told:
        engine.step()
    assert engine.capacity.rows == 2


@pytest.mark.gpu
def test_worlds_that_wait_for_room_on_a_gpu_lose_nothing(heap):
    """Those that find no room are run by themselves; neither they nor the others can tell."""
    runs = []
    for room in ({}, {"nconmax": 3, "nefcmax": 8}):
        engine = Engine(heap, nworld=40, device="cuda:0", **room)
        engine.write("qvel", np.linspace(-0.2, 0.2, 40)[:, None] * np.ones(heap.nv))
        for _ in range(STEPS):
            engine.step(1)
        runs.append(engine)
    roomy, grown = runs
    assert grown.capacity.contacts > 3 and grown.guard.lets_wait
    for name in ("qpos", "qvel", "qacc", "time", "ncon", "nefc"):
        np.testing.assert_array_equal(roomy.read(name), grown.read(name), err_msg=name)
    assert not (grown.read("status") != 0).any()


def test_first_lists_of_a_robot_of_many_geoms_are_short():
    """Few of them touch at once; a heap of as many bodies begins with a contact for each."""
    link = '<joint axis="0 1 0"/><geom size=".02" pos=".05 0 0" condim="6"/><geom size=".02" condim="6"/>'
    chain = ""
    for _ in range(70):
        chain = f'<body pos=".1 0 0">{link}{chain}</body>'
    robot = f'<mujoco><option noslip_iterations="3"/><worldbody>{chain}</worldbody></mujoco>'
    body = '<body><freejoint/><geom size=".1" condim="6"/></body>'
    heap = f"<mujoco><worldbody>{140 * body}</worldbody></mujoco>"
    first = {}
    for name, text in (("robot", robot), ("heap", heap)):
        present = Present(mujoco.MjModel.from_xml_string(text))
        first[name] = capacity(present.to("recipe"), present.to("collision"), sparing=True)["nconmax"]
    assert first == {"robot": 64, "heap": 144}
