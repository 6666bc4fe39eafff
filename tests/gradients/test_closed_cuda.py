"""The closed form as CUDA runs it, a world a warp: on the CPU, threads as fibres; and compiled for CUDA."""

import ctypes
import re

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.collide.build import PRIMITIVES
from kinema.convex.arguments import MOST, size
from kinema.convex.call import Call
from kinema.convex.engine import Engine
from kinema.convex.solve.native import WARP
from kinema.gradients import closed, others, transcribe
from kinema.gradients.geometry import PLACES
from kinema.gradients.linearize import Linearizer
from kinema.gradients.moving_pairs import MovingPairs
from kinema.gradients.tangent_kernels import MASK, drive, end_group, in_phases, part_kernel_of_warps

from ..conformance.dynamics import put_states
from ..conformance.gradients import converging, judge, staged_closed
from ..conformance.staged import StagedEngine
from ..convex.cuda.emulate import COMPILER, Emulated
from .models import LINKAGE, WALKER, settled
from .test_moving_pairs import call_on_cpu

NAMES = (
    "room", "slopes", "drifts", "points", "colored", "forces", "late_forces", "states", "weights", "alone", "places",
)  # fmt: skip
NUMBERS = ("damped", "settled", "weightless")
KINDS = {wp.int32: "int", wp.int64: "long long"}


def linearized(xml: str, integrator: str) -> Linearizer:
    """That of a model in motion, which has run."""
    m, states = settled(xml.format(integrator=integrator, cone="elliptic"))
    engine = Engine(m, 1)
    for name in ("qpos", "qvel", "act", "ctrl"):
        if getattr(m, {"act": "na"}.get(name, "nu")):
            engine.write(name, np.float32(getattr(states[0], name)))
    found = Linearizer(engine, sensors=False)
    assert not found.against()
    found()
    return found


@pytest.fixture(scope="module")
def walker() -> Linearizer:
    return linearized(WALKER, "discrete")


@pytest.fixture(scope="module")
def linkage() -> Linearizer:
    return linearized(LINKAGE, "implicitfast")


def constant(name: str, array: wp.array) -> str:
    """An array as C++ sees it, where it lies now."""
    strides, shape = [[*numbers, 0, 0, 0, 0][:4] for numbers in (array.strides, array.shape)]
    kind = KINDS.get(array.dtype, "float")
    listed = [", ".join(str(int(x)) for x in numbers) for numbers in (strides, shape)]
    return f"Array<{kind}> {name}{{({kind}*){array.ptr or 0}ull, {{{listed[0]}}}, {{{listed[1]}}}}};\n"


def by_warps(run: closed.Closed, text: str, out: wp.array, folder) -> list[np.ndarray]:
    """What the lanes of a warp put into `out`, first to last and last to first."""
    engine = run.engine
    tables = {name: getattr(run.tables[0], name) for name in NAMES}
    pairs = MovingPairs(engine, engine.collider.detector.build.only(PRIMITIVES))
    call_on_cpu(pairs)
    later = tables["places"].numpy()[PLACES:]
    tables["places"] = wp.array([*pairs.places(), *later], dtype=wp.int64)
    given = "".join(constant(name, array) for name, array in tables.items())
    given += constant("along", run.along) + constant("out", out)
    given += "const int slot = 0;\n"
    given += "".join(f"const int {name} = {getattr(run.tables[0], name)};\n" for name in NUMBERS)
    code = Emulated(given + text, engine, folder)
    code.bind()
    found = []
    for backward in (False, True):
        out.zero_()
        code.run(0, threads=32, backward=backward)
        found.append(out.numpy().copy())
    return found


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("model", ["walker", "linkage"])
@pytest.mark.parametrize("product", [False, True])
def test_a_warp_computes_what_a_cpu_thread_does(request, tmp_path, product, model):
    one = request.getfixturevalue(model)
    run = one.runs()[0]
    run.along.assign(np.random.default_rng(2).normal(size=run.along.shape))
    expected, out = (run.pull(), run.pulled) if product else (one.at_hand(), run.out)
    expected = expected.numpy().copy()
    assert one.engine.read("ncon")[0] > 0 and one.engine.read("nefc")[0] > 12
    form = closed.pull_back if product else closed.close
    found = by_warps(run, form.native_snippet, out, tmp_path)
    # a product is solved in another order by a warp, and on a cone it turns with the last bits of residuals
    near = 2e-5
    np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=near * np.abs(expected).max())
    np.testing.assert_array_equal(*found)


LINKS = 40


def chains(cone: str) -> str:
    """More dofs than a warp has lanes, in two trees whose ends touch each other, and the floor."""
    bodies = ""
    for k in range(2):
        links = "".join(
            f'<body pos=".1 0 0"><joint axis="0 {i % 2} {(i + 1) % 2}" damping=".5" armature=".1"/>'
            f'<geom type="capsule" fromto="0 0 0 .1 0 0" size=".03" mass=".3" contype="0" conaffinity="0"/>'
            for i in range(LINKS // 2)
        )
        bodies += f'<body pos="0 {0.11 * k} .058">{links}<geom size=".06" pos=".1 0 0" mass="1"/>'
        bodies += "</body>" * (LINKS // 2 + 1)
    option = f'<option timestep=".004" cone="{cone}"/><default><geom condim="4"/></default>'
    return f'<mujoco>{option}<worldbody><geom type="plane" size="5 5 .1"/>{bodies}</worldbody></mujoco>'


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_more_dofs_than_lanes_go_through_memory(tmp_path, cone):
    m = converging(mujoco.MjModel.from_xml_string(chains(cone)))
    d = mujoco.MjData(m)
    d.qvel[:] = np.float32(np.random.default_rng(0).normal(size=m.nv) * 0.1)
    engine = StagedEngine(m, nworld=1)
    put_states(engine, [d])
    engine.forward()
    assert m.nv > WARP and engine.read("ncon")[0] == 3
    run = staged_closed(engine)
    along = np.float32(np.random.default_rng(3).normal(size=run.along.shape))
    run.along.assign(along)
    A, B, *_ = judge(m, d, 1e-6)
    product = along[0].astype(float) @ np.hstack([A, B])
    near = 1e-4 * np.abs(product).max()
    np.testing.assert_allclose(run.pull().numpy()[0, 0], product, atol=near)
    first, last = by_warps(run, closed.pull_back.native_snippet, run.pulled, tmp_path)
    np.testing.assert_allclose(first[0, 0], product, atol=near)
    np.testing.assert_array_equal(first, last)


def test_lanes_of_a_warp_share_out_what_pushes_dofs(walker):
    """Phase by phase on the CPU, where a launch is what a meeting of lanes is on CUDA."""
    forces, engine = walker.runs()[0].forces, walker.engine
    expected = forces.run().numpy().copy()
    thread, stages = forces.runs[0], in_phases(forces.stages)
    assert len(forces.masks) == 1 and not any(stage.sweep for stage in stages)
    nobody = wp.zeros(0, dtype=wp.uint64)
    Call(drive, 1, [thread.plan, forces.out, nobody, *thread._inputs[3:]], engine.device)()  # inputs, and no stages
    forces.out.zero_()
    kernel = part_kernel_of_warps(stages, forces.width)
    call = Call(kernel, WARP, [engine.m, engine.d, 0], engine.device)
    block = type("Arguments", (ctypes.Structure,), {
        "_fields_": [("m", type(thread.m)), ("d", type(thread.d)), ("chosen", ctypes.c_int32)]
    })  # fmt: skip
    starts = [k for k, stage in enumerate(stages) if not stage.follows]
    assert 2 <= len(starts) < len(stages) <= MASK
    for start, end in zip(starts, [*starts[1:], len(stages)], strict=True):
        args = block(thread.m, thread.d, (1 << end) - (1 << start))
        call._forward(ctypes.c_void_p(call.bounds), ctypes.byref(args))
    wp.launch(end_group, dim=(1, WARP), inputs=[thread.plan, 0, forces.out], device=engine.device)
    np.testing.assert_array_equal(forces.out.numpy(), expected)


def test_its_kernels_fit_into_what_cuda_takes(linkage):
    kernels = closed.warp_kernel(closed.close), others.settling(others.integrating(linkage.engine.source))
    for kernel in kernels:
        assert sum(size(argument.type) for argument in kernel.adj.args) <= MOST


def test_its_kernels_compile_for_cuda(walker, linkage, tmp_path):
    transcribe.install()
    forces = walker.runs()[0].forces
    kernels = [closed.warp_kernel(closed.close), closed.warp_kernel(closed.pull_back)]
    kernels.append(part_kernel_of_warps(in_phases(forces.parts[0]), forces.width))
    kernels.append(others.settling(others.integrating(linkage.engine.source)))
    for k, kernel in enumerate(kernels):
        wp.compile_aot_module(kernel.module, arch=90, module_dir=str(tmp_path / str(k)), use_ptx=True)
        text = next((tmp_path / str(k)).glob("*.ptx")).read_text()
        frames = [int(size) for size in re.findall(r"__local_depot\d+\[(\d+)\]", text)]
        assert max(frames, default=0) <= 1024  # copies of Model and Data would be tens of thousands
