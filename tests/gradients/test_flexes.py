"""Derivatives of steps with flexes against MuJoCo's differences in double precision."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.convex.parts import parts
from kinema.errors import BuildError
from kinema.gradients import stages as of_step
from kinema.gradients import transcribe
from kinema.gradients.arrays import number
from kinema.gradients.linearize import Linearizer
from kinema.gradients.tangent_kernels import in_phases, part_kernel_of_warps
from kinema.simulation import Simulation

from ..conformance.dynamics import put_states
from ..conformance.gradients import ASKED, error, judge, staged_tangents
from ..conformance.staged import OrderedEngine, StagedEngine
from ..convex.flex import test_fields as fields
from ..convex.flex.scenes import solid as neo_hookean
from .flexes import (
    BLOCK,
    DAMPED,
    EDGES,
    FLOOR,
    FREE,
    ROD,
    SHEET,
    TABLE,
    TOUCH,
    at_once,
    by_steps,
    copied,
    flex,
    is_steady,
    scene,
    settled,
    thing,
)  # fmt: skip

PIN = '<pin id="0"/>'
PINS = '<pin id="0 3"/>'
WEAK = SHEET.replace("/>", ' yield=".002"/>')
SOFT = BLOCK.replace("/>", ' yield=".002"/>')
SELF = TOUCH.replace("none", "auto")
SPRINGS = '<contact passive="true" selfcollide="auto"/>'


def cells(inside: str, dof: str = "trilinear") -> str:
    """A solid that hangs on nodes."""
    return f'<body name="lattice" pos=".05 .05 .66">{flex("solid", inside, dof=dof)}</body>'


SMOOTH = {
    "edges of a cloth": scene(flex("cloth", DAMPED + FREE + PINS)),
    "edges of a rope, implicitfast": scene(flex("rope", DAMPED + FREE + PIN), integrator="implicitfast"),
    "edges of a cloth, implicit": scene(flex("cloth", DAMPED + FREE + PINS), integrator="implicit"),
    "edges of a cloth, discrete": scene(flex("cloth", EDGES + FREE + PINS), **at_once()),
    "springs along a rope": scene(flex("rope", '<edge stiffness="40" damping=".05"/>' + FREE + PIN)),
    "an elastic cloth": scene(flex("cloth", SHEET + FREE + PINS)),
    "an elastic cloth, discrete": scene(flex("cloth", SHEET + FREE + PINS), **at_once()),
    "a solid": scene(flex("solid", BLOCK.replace("2e4", "1e4") + FREE + PINS), step=0.001),
    "a solid, discrete": scene(flex("solid", BLOCK + FREE + PINS), **at_once()),
    "cells": scene(loose=cells(BLOCK + FREE)),
    "quadratic cells": scene(loose=cells(BLOCK.replace("2e4", "5e3") + FREE, "quadratic"), step=0.001),
    "cells, discrete": scene(loose=cells(BLOCK + FREE), **at_once()),
    "strain": scene(loose=cells('<edge equality="strain"/>' + FREE)),
    "without constraints": scene(flex("cloth", SHEET + FREE + PINS), **at_once(flags='constraint="disable"')),
    "exact diagonal": scene(flex("cloth", EDGES + FREE + PINS), flags='diagexact="enable"'),
}
"""Scenes in which nothing touches."""

CONTACT = {
    "cloth on a floor": scene(loose=flex("cloth", DAMPED + TOUCH, "0 0 .62"), around=FLOOR),
    "cloth on a floor, elliptic": scene(loose=flex("cloth", DAMPED + TOUCH, "0 0 .62"), around=FLOOR, cone="elliptic"),
    "cloth on a floor, discrete": scene(loose=flex("cloth", SHEET + TOUCH, "0 0 .62"), around=FLOOR, **at_once()),
    **{
        f"cloth on a {kind}": scene(loose=flex("cloth", DAMPED + TOUCH, f".08 .06 {z}"), around=thing(kind))
        for kind, z in dict(sphere=0.62, capsule=0.66, box=0.64, ellipsoid=0.62, cylinder=0.64, mesh=0.66).items()
    },
    "cloth on a cylinder by portals": scene(
        loose=flex("cloth", DAMPED + TOUCH, ".08 .06 .64"), around=thing("cylinder"), flags='nativeccd="disable"'
    ),
    "rope on a floor": scene(loose=flex("rope", DAMPED + TOUCH, "0 0 .62"), around=FLOOR),
    **{
        f"rope on a {kind}": scene(loose=flex("rope", DAMPED + TOUCH, f".08 .06 {z}"), around=thing(kind))
        for kind, z in dict(sphere=0.64, capsule=0.67, box=0.66, mesh=0.67).items()
    },
    "rope drawn over a table": scene(flex("rope", DAMPED + TOUCH + PIN), around=TABLE),
    "solid on a floor": scene(loose=flex("solid", BLOCK + TOUCH, ".1 .05 .66"), around=FLOOR, **at_once()),
    "solid on a capsule": scene(loose=flex("solid", BLOCK + TOUCH, ".1 .05 .7"), around=thing("capsule"), **at_once()),
    "cells on a floor": scene(loose=cells(BLOCK + TOUCH), around=FLOOR, **at_once()),
    "a ball on a cloth": scene(
        flex("cloth", DAMPED + TOUCH + '<pin id="0 3 12 15"/>', "0 0 0"),
        '<body pos=".01 .01 .66"><freejoint/><geom size=".05" mass=".05"/></body>',
    ),
    "two cloths": scene(
        flex("cloth", DAMPED + TOUCH + PINS),
        flex("cloth", DAMPED + TOUCH + '<pin id="0 3 12 15"/>', "0 .02 .585").replace('name="cloth"', 'name="other"'),
    ),
    "cloth on itself": scene(loose=flex("cloth", DAMPED + SELF + PIN, "0 0 .62"), around=FLOOR),
}  # fmt: skip
"""Scenes in which flexes touch geoms, each other, and themselves."""

FIELDS = {
    "rope over hills": fields.field(1, EDGES),
    "cloth over hills": fields.field(2, EDGES),
    "cells over hills": fields.field(3, BLOCK, dof="trilinear"),
    "cloth on a signed distance field": fields.SHEET.format(count="4 4 1", step=".1", solver="Newton"),
}
SOLVERS = {
    solver: scene(loose=flex("rope", DAMPED + TOUCH, "0 0 .62"), around=FLOOR, solver=solver)
    for solver in ("CG", "PGS")
}
REMEMBERED = {
    "a rod": scene(flex("rope", ROD + FREE + PIN), **at_once()),
    "a rod on a table": scene(flex("rope", ROD + TOUCH + PIN), around=TABLE, **at_once()),
    "a cloth that yields": scene(flex("cloth", WEAK + FREE + PINS)),
    "a solid that yields": scene(loose=flex("solid", SOFT + TOUCH, ".1 .05 .66"), around=FLOOR, **at_once()),
    "cells that yield": scene(loose=cells(SOFT + TOUCH), around=FLOOR, **at_once()),
}
"""Scenes whose steps leave more than positions and velocities to the next."""

ON_CUDA = ("cloth on a floor, discrete", "cells on a floor", "a rod on a table", "cloth on itself")


def compare(m, states, judged, eps=1e-6) -> int:
    """A and B of all states beside a judge's; returns how many were steady."""
    engine = StagedEngine(m, nworld=len(states))
    put_states(engine, states)
    engine.forward()
    found, nx = staged_tangents(engine).run().numpy().astype(float), 2 * m.nv
    steady = 0
    for world, d in enumerate(states):
        if is_steady(m, d, eps):
            A, B, *_ = judged(m, copied(m, d), eps)
            assert error(found[world, :nx, :nx], A) < ASKED
            assert error(found[world, :nx, nx:], B) < ASKED
            steady += 1
    return steady


@pytest.mark.parametrize("name", SMOOTH)
def test_flexes_that_touch_nothing(name):
    m, states = settled(SMOOTH[name])
    assert compare(m, states, judge) == 2


@pytest.mark.parametrize("name", CONTACT)
def test_flexes_that_touch(name):
    m, states = settled(CONTACT[name])
    mujoco.mj_forward(m, states[0])
    assert states[0].ncon and compare(m, states, judge)


@pytest.mark.parametrize("name", FIELDS)
def test_flexes_on_fields(name):
    m, states = settled(FIELDS[name], (20, 40))
    mujoco.mj_forward(m, states[0])
    assert states[0].ncon and compare(m, states, judge)


@pytest.mark.parametrize("name", ["cloth on a sphere", "cloth on itself"])
def test_contacts_that_cuda_found_have_the_same_derivatives(name):
    m, states = settled(CONTACT[name])
    found = []
    for engine in (StagedEngine(m, nworld=2), OrderedEngine(m, nworld=2)):
        put_states(engine, states)
        engine.forward()
        found.append(staged_tangents(engine).run().numpy().copy())
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", SOLVERS)
def test_other_solvers_have_the_same_solution(name):
    m, states = settled(SOLVERS[name])

    def by_newton(m, d, eps):
        m.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
        return judge(m, d, eps)

    assert compare(m, states, by_newton)


@pytest.mark.parametrize("name", REMEMBERED)
def test_what_is_remembered_is_held(name):
    m, states = settled(REMEMBERED[name])
    assert m.nplastic and compare(m, states, by_steps, 1e-7)


@pytest.mark.parametrize("shape", ["cloth", "cells"])
def test_passive_contact(shape):
    """Its springs are so stiff that flexes lie 0.2 micrometres deep: differences must be finer."""
    soft = flex("cloth", SHEET + SPRINGS, "0 0 .62") if shape == "cloth" else cells(BLOCK + SPRINGS)
    m, states = settled(scene(loose=soft, around=FLOOR, **at_once()))
    mujoco.mj_forward(m, states[0])
    assert states[0].ncon and compare(m, states, judge, 1e-8)


@pytest.mark.parametrize("name", ["an elastic cloth", "cells", "rope on a floor"])
def test_steps_of_runge_and_kutta(name):
    m, states = settled({**SMOOTH, **CONTACT}[name].replace('integrator="Euler"', 'integrator="RK4"'))
    engine = StagedEngine(m, nworld=2)
    put_states(engine, states)
    line = Linearizer(engine, sensors=False)
    found, nx = line().numpy(), line.nx
    for world, d in enumerate(states):
        A, B = by_steps(m, d, 1e-7)
        assert error(found[world, :nx, :nx], A) < ASKED and error(found[world, :nx, nx:], B) < ASKED


def test_sensors_of_contacts_with_flexes():
    sensors = """<sensor><framelinacc objtype="body" objname="rope_5"/><framepos objtype="body" objname="rope_6"/>
      <contact geom1="table" data="force torque" reduce="netforce"/></sensor></mujoco>"""
    text = scene(flex("rope", DAMPED + TOUCH + PIN), around=TABLE.replace("<geom", '<geom name="table"'))
    m, states = settled(text.replace("</mujoco>", sensors))
    engine = StagedEngine(m, nworld=2)
    put_states(engine, states)
    engine.forward()
    found, nx = staged_tangents(engine, sensors=True).run().numpy(), 2 * m.nv
    for world, d in enumerate(states):
        *_, C, D = judge(m, copied(m, d), 1e-6, sensors=True)
        assert error(found[world, nx:, :nx], C) < ASKED and error(found[world, nx:, nx:], D) < ASKED


def test_steps_are_the_same_with_derivatives_between_them():
    xml = CONTACT["rope drawn over a table"]
    plain, asked = (Simulation(xml, worlds=2) for _ in range(2))
    places = {name: (array.ptr, array.capacity) for name, array in asked.engine.layout.arrays.items()}
    for _ in range(3):
        found = asked.linearize()
        plain.step(20)
        asked.step(20)
    assert found.A.shape == (2, 2 * asked.model.nv, 2 * asked.model.nv)
    assert {name: (array.ptr, array.capacity) for name, array in asked.engine.layout.arrays.items()} == places
    for name in ("qpos", "qvel", "qacc", "qacc_warmstart"):
        np.testing.assert_array_equal(plain.engine.read(name), asked.engine.read(name))


@pytest.mark.parametrize("width", [1, 4, 8, 16])
def test_the_matrix_has_room_among_duals_of_any_width(width):
    m = mujoco.MjModel.from_xml_string(scene(flex("cloth", DAMPED + FREE + PINS)))
    room = of_step.more_room(m, width)["solver_wide"] * number(wp.float64, width).wide
    assert 8 * m.nv**2 <= room < 8 * m.nv**2 + 100


def test_a_cell_that_is_stretched_and_not_turned():
    """The search for its turn ends before it begins, but the turn has a slope."""
    inside = flex("solid", BLOCK.replace("2e4", "2e3") + FREE, dof="trilinear").replace(".06 .06 .06", ".25 .25 .25")
    m = mujoco.MjModel.from_xml_string(scene(loose=f'<body name="lattice" pos="0 0 2">{inside}</body>'))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    for body in m.flex_nodebodyid:
        first = m.jnt_qposadr[m.body_jntadr[body]]
        d.qpos[first] = 0.25 * d.xpos[body, 0]  # along its own axis, by a quarter
    assert np.array_equal(d.qpos, np.float32(d.qpos)) and np.abs(d.qpos).max() > 0.06
    assert compare(m, [d], judge)


@pytest.mark.parametrize("what", ["noslip_iterations", "Neo-Hookean"])
def test_what_is_not_reached_is_refused_by_its_name(what):
    text = scene(flex("solid", BLOCK + FREE + PINS), **at_once())
    m = neo_hookean(text) if what == "Neo-Hookean" else mujoco.MjModel.from_xml_string(scene(flex("rope", EDGES + PIN)))
    if what != "Neo-Hookean":
        m.opt.noslip_iterations = 3
    with pytest.raises(BuildError, match=f'{what}.*use method="fd"'):
        Simulation(m).linearize()


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_CUDA)
def test_stages_of_flexes_in_duals_compile_for_cuda(name, tmp_path):
    m = mujoco.MjModel.from_xml_string({**SMOOTH, **CONTACT, **REMEMBERED}[name])
    engine = StagedEngine(m, nworld=1)
    transcribe.install()
    words = ("flex", "sparse", "gradients", "metric")
    chosen = [
        part for part in parts(staged_tangents(engine).stages)
        if any(word in stage.func.func.__module__ for stage in part for word in words)
    ]  # fmt: skip
    assert len(chosen) > 2
    for k, part in enumerate(chosen):
        folder = tmp_path / str(k)
        kernel = part_kernel_of_warps(in_phases(part), 8)
        wp.compile_aot_module(kernel.module, arch=90, module_dir=str(folder), use_ptx=True)
        assert list(folder.glob("*.ptx"))
