"""The closed form as CUDA runs it, a world a warp: on the CPU, threads as fibres; and compiled for CUDA."""

import ctypes
import re

import numpy as np
import pytest
import warp as wp

from kinema.collide.build import PRIMITIVES
from kinema.convex.call import Call
from kinema.convex.engine import Engine
from kinema.convex.solve.native import WARP
from kinema.gradients import closed, others, transcribe
from kinema.gradients.geometry import PLACES
from kinema.gradients.linearize import Linearizer
from kinema.gradients.moving_pairs import MovingPairs
from kinema.gradients.tangents import MASK, drive, end_group, in_phases, part_kernel_of_warps

from ..convex.cuda.emulate import COMPILER, Emulated
from ..convex.test_arguments import MOST, size
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


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("model", ["walker", "linkage"])
@pytest.mark.parametrize("product", [False, True])
def test_a_warp_computes_what_a_cpu_thread_does(request, tmp_path, product, model):
    one = request.getfixturevalue(model)
    run, m = one.runs()[0], one.engine.source
    run.along.assign(np.random.default_rng(2).normal(size=run.along.shape))
    expected, out = (run.pull(), run.pulled) if product else (one.at_hand(), run.out)
    expected = expected.numpy().copy()
    along = run.along if product else wp.zeros((0, 2 * m.nv + m.na), dtype=float)
    tables = {name: getattr(run.tables[0], name) for name in NAMES}
    pairs = MovingPairs(one.engine, one.engine.collider.detector.build.only(PRIMITIVES))
    call_on_cpu(pairs)
    later = tables["places"].numpy()[PLACES:]
    tables["places"] = wp.array([*pairs.places(), *later], dtype=wp.int64)
    given = "".join(constant(name, array) for name, array in tables.items())
    given += constant("along", along) + constant("out", out)
    given += "const int slot = 0;\n"
    given += "".join(f"const int {name} = {getattr(run.tables[0], name)};\n" for name in NUMBERS)
    code = Emulated(given + closed.close.native_snippet, one.engine, tmp_path)
    code.bind()
    assert one.engine.read("ncon")[0] > 0 and one.engine.read("nefc")[0] > 12
    for backward in (False, True):
        out.zero_()
        code.run(0, threads=32, backward=backward)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=2e-5 * np.abs(expected).max())


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
    kernels = closed.warp_kernel(), others.settling(others.integrating(linkage.engine.source))
    for kernel in kernels:
        assert sum(size(argument.type) for argument in kernel.adj.args) <= MOST


def test_its_kernels_compile_for_cuda(walker, linkage, tmp_path):
    transcribe.install()
    forces = walker.runs()[0].forces
    kernels = [closed.warp_kernel(), part_kernel_of_warps(in_phases(forces.parts[0]), forces.width)]
    kernels.append(others.settling(others.integrating(linkage.engine.source)))
    for k, kernel in enumerate(kernels):
        wp.compile_aot_module(kernel.module, arch=90, module_dir=str(tmp_path / str(k)), use_ptx=True)
        text = next((tmp_path / str(k)).glob("*.ptx")).read_text()
        frames = [int(size) for size in re.findall(r"__local_depot\d+\[(\d+)\]", text)]
        assert max(frames, default=0) <= 1024  # copies of Model and Data would be tens of thousands
