"""Speculative contacts against MuJoCo: which contacts, where, how far, which rows; what they stop.

Scenes are states in the air, most of which meet within the step; the engine is compiled stage by stage, once for all of
them (tests/conformance/staged.py).
"""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.collide.by_pair import ahead_kernel
from kinema.collide.detect import Detector
from kinema.collide.filter import geom_pairs, plain_order
from kinema.collide.gather import ordering_kernel
from kinema.convex.data import AheadMotion
from kinema.convex.engine import Engine
from tests.conformance.staged import OrderedEngine, StagedEngine

from .speculation import FLYING, PLATE, approaching, compare, model, ours

PLANE = '<geom type="plane" size="2 2 .1" pos="0 0 -.05"/>'
NAMES = list(FLYING)
TOGETHER = [(a, b) for i, a in enumerate(NAMES) for b in NAMES[i:]]


def geom(name: str, more: str = "") -> str:
    return f"<geom {FLYING[name]} {more}/>"


def judge(m, n: int = 80, *, seed: int = 1, least: int = 10, wanted: float = 0.97, **kwargs):
    """Contacts and rows of n states, many of which have contacts ahead of impact, equal MuJoCo's."""
    rng = np.random.default_rng(seed)
    score = compare(m, *approaching(m, rng, n, **kwargs), make=StagedEngine)
    assert score.ahead >= least, score
    assert score.judged >= 0.6 * n, score
    assert score.fraction >= wanted, [failure[:2] for failure in score.failures]
    return score


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ground", [f"<geom {PLATE}/>", PLANE], ids=["plate", "plane"])
def test_against_what_stands_still(ground, name):
    """A thin plate and a plane."""
    judge(model(ground, [geom(name)]))


@pytest.mark.parametrize("pair", TOGETHER, ids="-".join)
def test_against_each_other(pair):
    """Both move, and turn."""
    judge(model("", [geom(name) for name in pair]), 100, least=8)


@pytest.mark.parametrize("integrator", ["Euler", "discrete", "RK4"])
@pytest.mark.parametrize("softness", [
    'solref=".02 1"', 'solref=".05 .6" solimp=".5 .9 .1"', 'solref=".001 1"', 'solref="-2000 -30"', 'solref="0 -60"',
])  # fmt: skip
def test_what_rows_are_asked_for(integrator, softness):
    """The distance of a contact follows from its softness, the integrator and the time of impact."""
    judge(model(f"<geom {PLATE}/>", [geom("box")], option=f'integrator="{integrator}"', geom=softness), 60)


def test_time_constants_below_the_step():
    """Without refsafe a time constant may be shorter than what a step resolves."""
    for integrator in ("Euler", "discrete"):
        option = f'integrator="{integrator}"'
        judge(model(PLANE, [geom("cube")], option=option, flag='refsafe="disable"', geom='solref=".004 .5"'), 60)


@pytest.mark.parametrize("margin", ['margin=".01"', 'gap=".05"', 'margin=".03" gap=".04"'])
def test_margins_and_gaps(margin):
    """Impact is where geoms come within the margin; what lies in the gap counts where nothing is about to happen."""
    judge(model(f"<geom {PLATE}/>", [geom("box"), geom("capsule")], geom=margin), 80, least=5)


@pytest.mark.parametrize("flag", ['multiccd="disable"', 'midphase="disable"', 'override="enable"'])
def test_flags(flag):
    """One contact a pair, except on planes; another order; parameters of the options."""
    option = 'o_margin=".02" o_solref=".05 1" cone="elliptic"'
    judge(model(PLANE, [geom("box"), geom("cube")], flag=flag, option=option), 80)


def test_none_without_native_ccd():
    """As in MuJoCo."""
    m = model(f"<geom {PLATE}/>", [geom("sphere")], flag='nativeccd="disable"')
    score = compare(m, *approaching(m, np.random.default_rng(1), 40), make=StagedEngine)
    assert score.ahead == 0 and score.fraction == 1.0 and score.judged > 30


def test_what_hides():
    """Contacts behind something else that stands in the way are dropped: a table over a floor, two tables, a mesh."""
    tables = (
        f'{PLANE}<geom type="box" size=".25 .2 .005" pos=".05 0 .1"/>'
        '<geom type="cylinder" size=".1 .01" pos="-.1 0 .18"/>'
        '<geom type="mesh" mesh="rock" pos=".1 .1 .2"/><geom type="sphere" size=".05" pos="0 -.1 .15" contype="2"/>'
    )
    bodies = [geom("sphere"), geom("box", 'contype="3" conaffinity="3"'), geom("capsule", 'conaffinity="2"')]
    judge(model(tables, bodies), 150, far=0.6, speed=90.0, least=60, wanted=0.98)


def test_what_hides_by_lists():
    """Explicit pairs, excluded bodies, and what is welded to the other geom decide who hides what."""
    world = f'{PLANE}<geom name="top" type="box" size=".3 .3 .005" pos="0 0 .12" contype="0" conaffinity="0"/>'
    second = f'{geom("box")}<body pos="0 0 .15"><geom type="box" size=".05 .05 .005"/></body>'
    tail = '<contact><pair geom1="ball" geom2="top" solref=".05 1"/></contact>'
    m = model(world, [geom("sphere", 'name="ball"'), second], tail=tail)
    judge(m, 120, far=0.6, speed=90.0, least=50)


def test_order_of_bodies_of_several_geoms():
    """MuJoCo orders contacts by type, or by number where something is fast: contacts come in its order."""
    bodies = [
        '<geom type="box" size=".06 .05 .04"/><geom type="sphere" size=".07"/><geom type="capsule" size=".03 .1"/>',
        '<geom type="capsule" size=".04 .1"/><geom type="box" size=".05 .06 .04"/>'
        '<geom type="ellipsoid" size=".05 .1 .04"/>',
    ]
    m = model(f"{PLANE}<geom {PLATE}/>", bodies)
    rng = np.random.default_rng(5)
    qpos, qvel = approaching(m, rng, 120, far=0.2, speed=15.0, spin=3.0)
    qvel *= rng.choice([0.0, 0.2, 1.0], size=(120, 1))
    d, seen = mujoco.MjData(m), 0
    for k, (contacts, _) in enumerate(ours(m, qpos, qvel, StagedEngine)):
        d.qpos[:], d.qvel[:] = qpos[k], qvel[k]
        mujoco.mj_forward(m, d)
        if len(contacts) == d.ncon:  # otherwise a grazing one came or went
            seen += 1
            np.testing.assert_array_equal(contacts[:, :2], d.contact.geom)
    assert seen > 100
    order = plain_order(m, geom_pairs(m))
    assert sorted(order) == list(range(len(order))) and not np.array_equal(order, np.arange(len(order)))


def test_height_fields_and_distance_fields_are_left_to_chance():
    """MuJoCo has none for them: neither contacts nor hiding."""
    hfield = '<geom type="hfield" hfield="h"/>'
    m = mujoco.MjModel.from_xml_string(
        '<mujoco><option timestep=".01"><flag speculative="enable"/></option><asset>'
        '<hfield name="h" nrow="3" ncol="3" size="1 1 .05 .01"/></asset><worldbody>'
        f'{hfield}<geom type="plane" size="2 2 .1" pos="0 0 -.1"/>'
        '<body><freejoint/><geom type="sphere" size=".05"/></body></worldbody></mujoco>'
    )
    score = compare(m, *approaching(m, np.random.default_rng(1), 60), make=StagedEngine)
    assert score.ahead > 10 and score.fraction == 1.0, score


BULLETS = [geom(name) for name in NAMES]


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "discrete"])
def test_nothing_tunnels(integrator):
    """Seven shapes shot at a thin plate from above: none passes that MuJoCo stops; first they move alike."""
    m = model(f'<geom {PLATE} solref=".02 1"/>', BULLETS, option=f'gravity="0 0 -9.81" integrator="{integrator}"')
    rng = np.random.default_rng(2)
    qpos, qvel = np.zeros((7, 7)), np.zeros((7, 6))
    qpos[:, 0], qpos[:, 2] = np.linspace(-0.75, 0.75, 7), 0.5
    qpos[:, 3:] = rng.normal(size=(7, 4))
    qpos[:, 3:] /= np.linalg.norm(qpos[:, 3:], axis=1, keepdims=True)
    qvel[:, 2], qvel[:, 3:] = -rng.uniform(20.0, 90.0, 7), rng.normal(size=(7, 3))
    engine = StagedEngine(m, 1, device="cpu", nconmax=60)
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = qpos.ravel(), qvel.ravel()
    engine.write("qpos", qpos.reshape(1, -1)), engine.write("qvel", qvel.reshape(1, -1))
    for step in range(12):
        mujoco.mj_step(m, d)
        engine.step(1)
        below, theirs = engine.read("qpos").reshape(7, 7)[:, 2] < -0.1, d.qpos.reshape(7, 7)[:, 2] < -0.1
        assert not (below & ~theirs).any(), step
        if step < 2:  # after that impacts multiply what rounding did
            np.testing.assert_allclose(engine.read("qpos").ravel(), d.qpos, atol=1e-4)
            np.testing.assert_allclose(engine.read("qvel").ravel(), d.qvel, atol=2e-2)
    m.opt.enableflags = 0
    mujoco.mj_resetData(m, d)
    d.qpos[:], d.qvel[:] = qpos.ravel(), qvel.ravel()
    mujoco.mj_step(m, d, 5)
    assert (d.qpos.reshape(7, 7)[:, 2] < 0.0).sum() >= 5  # what the flag is for


def test_off_makes_no_difference():
    """A slow scene has the same bits with the flag and without."""
    scenes = [model(f"<geom {PLATE}/>", [geom("box"), geom("capsule")]) for _ in range(2)]
    scenes[1].opt.enableflags = 0
    rng = np.random.default_rng(3)
    qpos, qvel = approaching(scenes[0], rng, 20, far=0.2, speed=0.5, spin=1.0)
    for (a, b), (c, e) in zip(*(ours(m, qpos, qvel, StagedEngine) for m in scenes), strict=True):
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(b, e)


# ------------------------------------------------------------------------------------------------- on CUDA


def crowd():
    """A scene of many pairs, some hidden, some in another order than listed."""
    tables = f'{PLANE}<geom type="box" size=".25 .2 .005" pos=".05 0 .1"/>'
    bodies = [geom("sphere") + geom("box", 'pos="0 .1 0"'), geom("cube"), geom("capsule") + geom("cylinder")]
    return model(tables, bodies)


def test_a_thread_a_pair_finds_the_same():
    """CUDA's way, run on the CPU: the same contacts, to the bit and in the same order."""
    m, n = crowd(), 40
    qpos, qvel = approaching(m, np.random.default_rng(4), n, speed=80.0)
    engine = StagedEngine(m, n, device="cpu", nconmax=80)
    engine.write("qpos", qpos), engine.write("qvel", qvel)
    engine.forward()
    motion = {name: engine.layout.arrays[f"ahead_{name}"] for name in AheadMotion.vars}
    poses = {name: engine.layout.arrays[name] for name in ("geom_xpos", "geom_xmat")}
    found = Detector(m, n, capacity=80, thread_per_pair=True, motion=motion, device="cpu", **poses)
    found.detect()
    count = engine.read("ncon").reshape(n)
    np.testing.assert_array_equal(found.contacts.ncon.numpy(), count)
    assert (count > 2).sum() > 10 and found.ahead.found.numpy().any()
    for name in ("geom", "dist", "pos", "frame", "dim", "exclude", "includemargin"):
        mine, theirs = getattr(found.contacts, name).numpy(), engine.read(f"contact_{name}")
        for w in range(n):
            np.testing.assert_array_equal(mine[w, : count[w]].ravel(), theirs[w, : count[w]].ravel(), err_msg=name)


def test_recipe_of_cuda_gives_the_same():
    """Stages in the order of CUDA's kernels, forwards and backwards."""
    m = crowd()
    qpos, qvel = approaching(m, np.random.default_rng(6), 8, speed=80.0)
    states = []
    for make, more in ((StagedEngine, {}), (OrderedEngine, {}), (OrderedEngine, {"backward": True})):
        engine = make(m, 8, device="cpu", nconmax=80, **more)
        engine.write("qpos", qpos), engine.write("qvel", qvel)
        engine.step(3)
        states.append(engine.read("qpos"))
    np.testing.assert_array_equal(states[1], states[2])
    np.testing.assert_allclose(states[0], states[1], atol=1e-4)


def test_kernels_compile_for_cuda(tmp_path):
    """NVRTC compiles for a GPU on a machine without one."""
    for kernel in (ahead_kernel(), ordering_kernel()):
        wp.compile_aot_module(kernel.module, arch=90, module_dir=str(tmp_path), use_ptx=False)
    assert len(list(tmp_path.glob("*.cubin"))) == 2


def test_switched_on_while_running():
    """The flag may be set on a compiled model: stages and detection are made anew."""
    m = model(f"<geom {PLATE}/>", [geom("sphere")])
    m.opt.enableflags = 0
    engine = Engine(m, 1, device="cpu")
    state = np.array([[0, 0, 0.4, 1, 0, 0, 0]]), np.array([[0, 0, -60.0, 0, 0, 0]])
    engine.write("qpos", state[0]), engine.write("qvel", state[1])
    engine.forward()
    assert engine.read("ncon").item() == 0
    engine.set_option("enableflags", int(mujoco.mjtEnableBit.mjENBL_SPECULATIVE))
    engine.forward()
    assert engine.read("ncon").item() == 1


@pytest.mark.gpu
def test_on_a_gpu():
    """The engine on CUDA finds MuJoCo's contacts wherever the CPU's does, and bodies end where they do."""

    def make(m, n, *, device, **kwargs):
        return Engine(m, n, device="cuda:0", **kwargs)

    for m in (crowd(), model(f"<geom {PLATE}/>", [geom(name) for name in ("sphere", "box", "rock")])):
        states = approaching(m, np.random.default_rng(7), 100, speed=80.0)
        score, cpu = compare(m, *states, make=make), compare(m, *states, make=Engine)
        assert score.ahead > 40 and score.fraction > 0.94, [failure[:2] for failure in score.failures]
        assert score.agreed >= cpu.agreed - 1
