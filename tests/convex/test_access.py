"""What a stage reads and writes is read from its source."""

import importlib
import pkgutil
import re
from functools import cache
from typing import Any

import mujoco
import pytest
import warp as wp

import kinema.convex
from kinema.collide.bundles import Contacts, Touch
from kinema.collide.detect import Detector
from kinema.convex import smooth, step
from kinema.convex.access import ANYTHING, Access, access, written
from kinema.convex.collision import detect
from kinema.convex.data import Data, Forces, State
from kinema.convex.model import Model
from kinema.convex.sensors import tactile
from kinema.convex.stage import Stage
from kinema.errors import BuildError
from kinema.math.touches import touches


@wp.func
def halve(a: wp.array2d(dtype=float), w: int, i: int):
    a[w, i] *= 0.5


@wp.func
def move(frc: Forces, state: State, w: int, i: int):
    state.qvel[w, i] = frc.qacc[w, i]


@wp.func
def scaled(a: wp.array2d(dtype=float), w: int, i: int):
    a[w, i] = 1.0


@wp.func
def scaled(a: wp.array2d(dtype=wp.vec3), w: int, i: int):  # noqa: F811
    a[w, i] = wp.vec3()


@wp.func
def generic(a: Any, w: int) -> float:
    return a[w, 0]


@wp.func
def touch_of(contacts: Contacts) -> Touch:
    touch = Touch()
    touch.dist = contacts.dist
    return touch


@wp.func
def rows(row: wp.array(dtype=float), k: int):
    row[k] = 0.0


@wp.func
def everything(m: Model, d: Data, w: int, i: int):
    halve(d.frc.qacc, w, i)
    move(d.frc, d.state, w, i)
    scaled(d.pose.xpos, w, i)
    wp.atomic_add(d.efc.ne, w, 1)
    b = m.body.parentid[i]
    x = generic(d.act.length, w) + d.state.qpos[w, b]
    d.frc.qfrc_bias[w, i + 1] = x
    touch = touch_of(d.con)
    touch.dist[w, 0] = 1.0
    J = d.efc.J[w, i]
    rows(J, 0)
    n = d.con.friction.shape[1]
    d.state.mocap_pos[w, n][0] = 1.0
    d.crow.most[w], d.efc.most[w] = 1, 2


def test_reads_through_everything():
    found = access(everything)
    assert found.writes == {
        "qacc", "qvel", "xpos", "ne", "qfrc_bias", "contact_dist", "efc_J", "mocap_pos", "contact_most",
        "efc_most",
    }  # fmt: skip
    assert found.reads - {"body_parentid"} == {"qacc", "ne", "actuator_length", "qpos", "mocap_pos"}
    assert found.own_writes == {"qacc", "qvel", "xpos", "efc_J"}
    assert "qacc" in found.own_reads and "qpos" not in found.own_reads


@cache
def chosen(functions: tuple, deep: bool) -> wp.Function:
    def choose(m: Model, d: Data, w: int, i: int):
        for k in range(wp.static(len(functions))):
            wp.static(functions[k])(m, d, w, i)
        if wp.static(deep):
            d.frc.qfrc_passive[w, i] = 0.0
        else:
            d.frc.qfrc_applied[w, i] = 0.0  # not there: nobody may compile this

    return wp.func(choose, name=f"choose_{deep}")


@wp.func
def squared(a: wp.array2d(dtype=float), w: int, i: int, x: float) -> float:
    return a[w, i] * x * x


@wp.func
def slope(m: Model, d: Data, w: int, i: int):
    _, _, _, rate = wp.grad(squared)(d.state.qvel, w, i, 1.0)
    d.frc.qfrc_bias[w, i] = rate


def test_an_adjoint_touches_what_its_function_does():
    assert access(slope).reads == {"qvel"}
    assert access(slope).writes == {"qfrc_bias"}


def test_static_choices_are_followed():
    found = access(chosen((smooth.keep_acceleration, smooth.unconstrained), True))
    assert found.writes == {"qacc_warmstart", "qacc", "qfrc_constraint", "qfrc_passive"}
    assert access(chosen((smooth.keep_acceleration,), True)).writes == {"qacc_warmstart", "qfrc_passive"}


def test_an_item_that_is_changed_is_no_longer_the_own_one():
    @wp.func
    def shifted(m: Model, d: Data, w: int, i: int):
        i = i + 1
        d.frc.qacc[w, i] = 0.0

    @wp.func
    def renamed(m: Model, d: Data, w: int, i: int):
        j = i
        d.frc.qacc[w, j] = 0.0

    assert access(shifted).own_writes == frozenset()
    assert access(renamed).own_writes == {"qacc"}


def test_two_bundles_of_one_array():
    @wp.func
    def by_contacts(m: Model, d: Data, w: int):
        d.con.status[w] = 1

    @wp.func
    def by_geoms(m: Model, d: Data, w: int):
        d.frc.qacc[w, 0] = m.collision.geoms.xpos[w, 0][0]

    assert access(by_contacts).writes == {"status"}
    assert access(by_geoms).reads == {"geom_xpos"}


@wp.func_native("a.data[0] = 1.0f;")
def silent(a: wp.array2d(dtype=float)): ...


@wp.func_native("a.data[0] = 1.0f;")
@touches(writes="b[w]")
def wrong(a: wp.array2d(dtype=float), w: int): ...


@wp.func
def asks_silent(m: Model, d: Data, w: int):
    silent(d.frc.qacc)


@wp.func
def asks_wrong(m: Model, d: Data, w: int):
    wrong(d.frc.qacc, w)


@wp.func
def exchanges(m: Model, d: Data, w: int):
    c = d.con
    c.dist = d.crow.mu


@pytest.mark.parametrize(
    ("func", "says"),
    [(asks_silent, "does not say what it touches"), (asks_wrong, "none of its arguments"), (exchanges, "exchanged")],
)
def test_what_cannot_be_followed_is_an_error_with_the_place(func, says):
    with pytest.raises(BuildError, match=rf"{re.escape(__file__)}:\d+: .*{says}"):
        access(func)


def test_kernels_and_hosts():
    assert access(tactile.find_touched).writes == {"Taxels.touched"}
    assert Stage(None, launch=lambda m, d: None).access == ANYTHING
    stages = [Stage(smooth.unconstrained, over="nv"), Stage(None, launch=lambda m, d: None)]
    assert written(stages) == {"qacc", "qfrc_constraint"}


def test_union_forgets_what_is_own_to_one_only():
    own = Access(frozenset("ab"), frozenset("c"), frozenset("ab"), frozenset("c"))
    other = Access(frozenset("b"), frozenset("c"), frozenset(), frozenset("c"))
    assert (own | other).own_reads == {"a"} and (own | other).own_writes == {"c"}


def test_every_function_over_a_world_is_understood():
    """Also those that no model of a test has: a function that cannot be read would stop its first user on CUDA."""
    count = 0
    for info in pkgutil.walk_packages(kinema.convex.__path__, "kinema.convex."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, wp.Function) and not value.is_builtin():
                if list(value.input_types.values())[:2] == [Model, Data]:
                    access(value)
                    count += 1
    assert count > 100


def test_what_a_step_computes():
    xml = "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    m = mujoco.MjModel.from_xml_string(xml)
    computed = written(step.step(m, []))
    assert {"xpos", "qacc", "M", "qpos", "qvel", "time"} <= computed
    assert not computed & {"ctrl", "xfrc_applied", "qfrc_applied", "body_mass", "mocap_pos"}


@pytest.mark.parametrize("sweep", [False, True])
def test_detection_on_cuda_touches_what_its_stage_does(sweep):
    """On CUDA the stage stands for kernels of the detector's own; what they share with others is the same."""
    m = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><geom type="plane" size="1 1 1"/>
        <body pos="0 0 1"><freejoint/><geom size=".1"/></body><body pos="0 0 2"><freejoint/><geom size=".1"/></body>
        </worldbody></mujoco>""")
    detector = Detector(m, 1, device="cpu", thread_per_pair=True, sweep=sweep)
    kernels = [access(launch[0]) for launch in detector.launch_list()]
    together = Access()
    for found in kernels:
        together |= found
    links = {"last", "Touch.last", "Touch.before", "Touch.used", "Touch.order", "Touch.queued"}
    links.add("Settings.sweep")  # on CUDA kernels are given the struct that is in it
    links |= {"Settings.cull", "Cull.geom", "Cull.cell", "Cull.pair", "Cull.near"}  # a thread that takes a world culls
    private = {"selected", "Touch.dist", "Touch.pos", "Touch.frame", "Sweep.count"} | links
    stage = access(detect(detector.build))
    writes = stage.writes - links
    assert together.writes - private == writes
    assert together.reads - private - writes == stage.reads - stage.writes - links
