"""Sleep beside MuJoCo's: who is asleep after every step, what wakes, what it costs.

Trees must fall asleep and wake in the same step as MuJoCo's, one by one and in the same rings. Near the tolerance
float32 may decide otherwise, so scenes come to rest firmly; where MuJoCo's own course hangs on the last digits, that is
measured with a second run of MuJoCo from a start rounded to float32.
"""

import mujoco
import numpy as np
import pytest

from kinema.collide.gather import gather_awake
from kinema.convex.engine import Engine
from kinema.convex.schedule import plan
from kinema.convex.sleep.wake import wake_by_contact
from kinema.convex.stage import Stage, cohort_kernel, turns_kernel
from kinema.convex.step import step as recipe_of
from tests.conformance.staged import OrderedEngine, StagedEngine
from tests.convex.hopper import compile_kernel, stack
from tests.convex.sleeping import INIT, SCENES, STACK, box, scene, sphere

STEPS = 1000
LISTS = {"body_awake_ind": "nbody_awake", "parent_awake_ind": "nparent_awake", "dof_awake_ind": "nv_awake"}


def started(xml: str, **options) -> tuple[mujoco.MjModel, mujoco.MjData, StagedEngine]:
    """MuJoCo and the engine at a model's first keyframe, if it has one."""
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    engine = StagedEngine(m, 1, device="cpu", **options)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
        for name in ("qpos", "qvel"):
            engine.write(name, getattr(d, name))
    return m, d, engine


def drive(name: str, d: mujoco.MjData, k: int) -> tuple[str, ...]:
    """What is done to a scene before step k; returns what was written."""
    if name == "a mocap body" and k > 300:
        d.mocap_pos[0] = [-1 + 0.004 * (k - 300), 0, 0.11]
        return ("mocap_pos",)
    if name == "a robot and things":
        d.ctrl[:] = [0.9 * np.sin(0.006 * k), 0.3]
        return ("ctrl",)
    if name == "tied by equalities" and k == 600:
        d.eq_active[1] = 1
        return ("eq_active",)
    return ()


def both_step(m, d, engine, writes: tuple[str, ...] = ()) -> None:
    for name in writes:
        engine.write(name, getattr(d, name))
    mujoco.mj_step(m, d)
    engine.step()


def assert_same_sleep(d: mujoco.MjData, engine: StagedEngine, k: int) -> None:
    for name in ("tree_asleep", "tree_awake", "body_awake"):
        found, wanted = engine.read(name)[0], getattr(d, name)
        assert np.array_equal(found, wanted), f"step {k}: {name} is {found}, MuJoCo's {wanted}"
    for name, count in LISTS.items():
        n = getattr(d, count)
        assert engine.read(count)[0] == n, (k, count)
        skip = 1 if name == "parent_awake_ind" and n and d.parent_awake_ind[0] == 0 else 0
        assert np.array_equal(engine.read(name)[0][:n], getattr(d, name)[skip:][:n]), (k, name)


@pytest.mark.parametrize("name", SCENES)
def test_asleep_sets_are_those_of_mujoco(name):
    m, d, engine = started(SCENES[name])
    other = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, other, 0)
    other.qpos[:] = np.asarray(d.qpos, np.float32) * (1 + 1e-7)
    slept, error, own = set(), 0.0, 0.0
    for k in range(STEPS):
        both_step(m, d, engine, drive(name, d, k))
        drive(name, other, k)
        mujoco.mj_step(m, other)
        assert_same_sleep(d, engine, k)
        slept |= set(np.flatnonzero(d.tree_asleep >= 0).tolist())
        error = max(error, np.abs(engine.read("qpos")[0] - d.qpos).max())
        own = max(own, np.abs(other.qpos - d.qpos).max())
        asleep = d.tree_awake[m.dof_treeid] == 0
        assert not engine.read("qvel")[0][asleep].any()
    assert slept or name == "no islands"
    assert error < max(2e-5, 20 * own)


RESTING = STACK + '<body pos="0 2 1"><joint axis="0 1 0" damping=".5" range="-30 30" limited="true"/>' \
    '<geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/></body>' + sphere("0 0 3")  # fmt: skip
INTEGRATORS = {
    "implicitfast": 'integrator="implicitfast"', "implicit": 'integrator="implicit"',
    "discrete": 'integrator="discrete"', "RK4": 'integrator="RK4"', "noslip": 'noslip_iterations="3"',
    "fluid": 'density="1000" viscosity=".1"', "tolerance": 'sleep_tolerance="1e-2"',
    "without tolerance": 'sleep_tolerance="0" gravity="0 0 0"',
}  # fmt: skip


@pytest.mark.parametrize("kind", INTEGRATORS)
def test_every_integrator(kind):
    """As many steps as MuJoCo's course does not hang on the last digits."""
    m, d, engine = started(scene(RESTING, option=INTEGRATORS[kind]))
    for k in range(500):
        both_step(m, d, engine)
        assert np.array_equal(engine.read("tree_asleep")[0], d.tree_asleep), k


def first_asleep(m: mujoco.MjModel, d: mujoco.MjData, steps: int) -> np.ndarray:
    """In which step each tree of MuJoCo's first falls asleep."""
    first = np.full(m.ntree, steps)
    for k in range(steps):
        mujoco.mj_step(m, d)
        first = np.where((d.tree_asleep >= 0) & (first == steps), k, first)
    return first


@pytest.mark.parametrize("solver", ["CG", "PGS"])
def test_every_solver(solver):
    """What falls asleep does so when MuJoCo's does, give or take what its start rounded to float32 makes of it."""
    m, d, engine = started(scene(STACK, option=f'solver="{solver}"'))
    courses = []
    rng = np.random.default_rng(0)
    for _ in range(8):
        other = mujoco.MjData(m)
        other.qpos += 1e-7 * rng.normal(size=m.nq)
        courses.append(first_asleep(m, other, 500))
    first = np.full(m.ntree, 500)
    for k in range(500):
        engine.step()
        first = np.where((engine.read("tree_asleep")[0] >= 0) & (first == 500), k, first)
    spread = np.ptp(courses, axis=0)
    assert (first < 500).all()
    assert (first >= np.min(courses, axis=0) - spread).all() and (first <= np.max(courses, axis=0) + spread).all()


# ---------------------------------------------------------------------------------------------- waking by hand

AT_REST = scene(box("0 0 .1") + box("0 0 .298") + box("1 0 .1"))
TOUCHES = {
    "qpos": (2, 0.1001), "qvel": (8, 1e-6), "qvel, minus zero": (3, -0.0), "xfrc_applied": ((2, 1), 0.3),
    "qfrc_applied": (13, 0.2),
}  # fmt: skip
"""What is written where."""


@pytest.fixture(scope="module")
def at_rest():
    """A scene that sleeps, and MuJoCo's; each test starts from there."""
    m, d, engine = started(AT_REST)
    while (d.tree_asleep < 0).any():
        both_step(m, d, engine)
    return m, d, engine


@pytest.fixture
def asleep(at_rest):
    m, d, engine = at_rest
    kept = {name: np.array(engine.read(name)) for name in ("qpos", "qvel", "tree_asleep", "asleep_qpos")}
    fresh = mujoco.MjData(m)
    mujoco.mj_copyData(fresh, m, d)
    yield m, fresh, engine
    for name, value in kept.items():
        engine.write(name, value)
    for name in ("xfrc_applied", "qfrc_applied", "sleep_settled"):
        engine.write(name, 0)


@pytest.mark.parametrize("kind", TOUCHES)
def test_a_write_wakes(asleep, kind):
    m, d, engine = asleep
    name, (at, value) = kind.partition(",")[0], TOUCHES[kind]
    getattr(d, name)[at] = value
    mine = np.array(engine.read(name)[0])
    mine[at] = value
    engine.write(name, mine)
    both_step(m, d, engine)
    assert np.array_equal(engine.read("tree_asleep")[0], d.tree_asleep)
    assert (d.tree_asleep < 0).any() and (d.tree_asleep >= 0).any()


def test_forward_changes_nothing(asleep):
    m, d, engine = asleep
    before = np.array(engine.read("tree_asleep"))
    engine.forward()
    assert np.array_equal(engine.read("tree_asleep"), before)
    assert engine.read("ncon")[0] == 0


def test_a_sleeping_state_can_be_put_into_another_engine(asleep):
    """What sleeping trees have computed is no part of the state: it is computed once, and they sleep on."""
    m, d, engine = asleep
    other = StagedEngine(m, 1, device="cpu")
    for name in ("qpos", "qvel", "tree_asleep", "asleep_qpos"):
        other.write(name, engine.read(name))
    other.step()
    assert np.array_equal(other.read("tree_asleep"), engine.read("tree_asleep"))
    for name in ("xpos", "geom_xpos", "subtree_com", "cinert"):
        assert np.array_equal(other.read(name), engine.read(name)), name
    assert other.read("nefc")[0] == 0 and other.read("nv_awake")[0] == 0


def test_reset_begins_anew():
    m, d, engine = started(SCENES["policies"])
    first = []
    for _ in range(2):
        mujoco.mj_resetData(m, d)
        engine.reset()
        for k in range(40):
            both_step(m, d, engine)
            assert_same_sleep(d, engine, k)
        first.append({name: np.array(engine.read(name)) for name in ("qpos", "qvel", "tree_asleep", "xpos")})
        for _ in range(150):
            engine.step()
    for name, value in first[0].items():
        assert np.array_equal(value, first[1][name]), name


def test_a_keyframe_wakes_what_it_moves():
    """Trees begin asleep in the model's own configuration only."""
    key = '<keyframe><key qpos="0 0 2 1 0 0 0 2 0 1 1 0 0 0"/></keyframe>'
    xml = scene(box("0 0 1", INIT) + box("2 0 1", INIT), key)
    m, d, engine = started(xml)
    for k in range(20):
        both_step(m, d, engine)
        assert_same_sleep(d, engine, k)
    assert d.tree_asleep.tolist()[1] == 1 and d.tree_asleep[0] < 0


def test_a_parameter_that_moves_bodies_wakes(asleep):
    m, _, engine = asleep
    engine.set_parameter("body_pos", np.array(m.body_pos))
    engine.step()
    assert (engine.read("tree_asleep") < 0).all()


# ---------------------------------------------------------------------------------------------- sensors and sums

SENSED = scene(
    '<body name="low" pos="0 0 .0995"><freejoint/><geom name="g" type="box" size=".1 .1 .1"/><site name="s"/></body>'
    '<body name="swing" pos="1 0 1"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>',
    '<sensor><framepos objtype="body" objname="low"/><velocimeter site="s"/><accelerometer site="s"/><gyro site="s"/>'
    '<framepos objtype="body" objname="low" reftype="body" refname="swing"/><jointpos joint="j"/><clock/>'
    '<subtreecom body="low"/><subtreecom body="world"/><framelinvel objtype="body" objname="swing"/></sensor>',
)


def test_sensors_of_what_sleeps_keep_their_readings():
    m, d, engine = started(SENSED)
    for k in range(400):
        both_step(m, d, engine)
        assert np.array_equal(engine.read("tree_asleep")[0], d.tree_asleep), k
        assert np.allclose(engine.read("sensordata")[0], d.sensordata, rtol=2e-3, atol=2e-3), k
    assert d.tree_asleep[0] == 0
    for name in ("subtree_com", "xpos", "cvel", "qfrc_bias", "cinert"):
        assert np.allclose(engine.read(name)[0], np.reshape(getattr(d, name), engine.shape(name)[1:]), atol=1e-3), name


# ---------------------------------------------------------------------------------------------- bits, and CUDA


def test_worlds_do_not_disturb_each_other():
    """A world gives the same bits twice, and whatever its neighbours do."""
    m = mujoco.MjModel.from_xml_string(SCENES["ball comes late"])
    runs = []
    for worlds in (1, 3, 3):
        engine = StagedEngine(m, worlds, device="cpu")
        pushed = np.zeros((worlds, m.nv))
        pushed[1:, 0] = 0.5
        engine.write("qvel", pushed)
        course = []
        for _ in range(400):
            engine.step()
            course.append([np.array(engine.read(name)[0]) for name in ("qpos", "tree_asleep")])
        runs.append(course)
    for one, two, three in zip(*runs, strict=True):
        assert all(np.array_equal(a, b) and np.array_equal(b, c) for a, b, c in zip(one, two, three, strict=True))


@pytest.mark.parametrize("name", ["ball comes late", "policies", "tied by equalities"])
def test_the_recipe_of_cuda_in_either_order(name):
    """Phases of CUDA on the CPU, threads forwards and backwards: the same bits, and the same sleep as MuJoCo's."""
    m = mujoco.MjModel.from_xml_string(SCENES[name])
    d = mujoco.MjData(m)
    engines = [OrderedEngine(m, 1, device="cpu", backward=backward) for backward in (False, True)]
    for k in range(250):
        mujoco.mj_step(m, d)
        for engine in engines:
            engine.step()
        assert_same_sleep(d, engines[0], k)
        for array in ("qpos", "qvel", "tree_asleep", "ncon"):
            assert np.array_equal(engines[0].read(array), engines[1].read(array)), (k, array)


def test_kernels_of_cuda_compile():
    """The stages that only a recipe with sleep has, and a solver that takes worlds in turn."""
    m = mujoco.MjModel.from_xml_string(SCENES["stack"])
    engine = Engine(m, 1, device="cpu", cuda=True)
    runs = [run.stages for run in plan(engine.recipes["step"])]
    waking = next(stages for stages in runs if stages[0].func is wake_by_contact)
    turns = next(stages for stages in runs if all(stage.rows for stage in stages))
    for kernel in (cohort_kernel(waking), turns_kernel(turns), gather_awake):
        assert stack(compile_kernel(kernel)) < 4096


def test_nothing_is_added_where_nobody_sleeps():
    """Without the flag a recipe has no stage of sleep, and none that looks at who is awake."""
    m = mujoco.MjModel.from_xml_string(SCENES["stack"].replace('sleep="enable"', 'sleep="disable"'))
    stages: list[Stage] = recipe_of(m, [], cuda=True)
    assert not any(stage.awake or "sleep" in (stage.func.func.__module__ if stage.func else "") for stage in stages)
    assert not any({"tree_awake", "body_awake"} & stage.access.reads for stage in stages)


def test_without_the_flag_all_are_awake():
    m = mujoco.MjModel.from_xml_string(SCENES["stack"].replace('sleep="enable"', 'sleep="disable"'))
    d = mujoco.MjData(m)
    engine = StagedEngine(m, 1, device="cpu")
    engine.step()
    mujoco.mj_step(m, d)
    for name in ("tree_asleep", "tree_awake", "body_awake", "dof_awake_ind"):
        assert np.array_equal(engine.read(name)[0], getattr(d, name)), name
