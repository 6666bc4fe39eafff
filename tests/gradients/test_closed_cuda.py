"""The closed form as CUDA runs it, a world a warp: on the CPU, threads as fibres; and compiled for CUDA."""

import re

import numpy as np
import pytest
import warp as wp

from kinema.convex.engine import Engine
from kinema.gradients import closed, transcribe
from kinema.gradients.linearize import Linearizer
from kinema.gradients.tangents import part_kernel_of_worlds

from ..convex.cuda.emulate import COMPILER, Emulated
from ..convex.test_arguments import MOST, size
from .models import WALKER, settled

NAMES = ("room", "slopes", "colored", "forces", "states", "places")
KINDS = {wp.int32: "int", wp.int64: "long long"}


@pytest.fixture(scope="module")
def walker() -> Linearizer:
    m, states = settled(WALKER.format(integrator="Euler", cone="elliptic"))
    engine = Engine(m, 1)
    for name in ("qpos", "qvel", "ctrl"):
        engine.write(name, np.float32(getattr(states[0], name)))
    found = Linearizer(engine, sensors=False)
    assert not found.against()
    found()
    return found


def constant(name: str, array: wp.array) -> str:
    """An array as C++ sees it, where it lies now."""
    strides, shape = [[*numbers, 0, 0, 0, 0][:4] for numbers in (array.strides, array.shape)]
    kind = KINDS.get(array.dtype, "float")
    listed = [", ".join(str(int(x)) for x in numbers) for numbers in (strides, shape)]
    return f"Array<{kind}> {name}{{({kind}*){array.ptr or 0}ull, {{{listed[0]}}}, {{{listed[1]}}}}};\n"


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("product", [False, True])
def test_a_warp_computes_what_a_cpu_thread_does(walker, tmp_path, product):
    run, m = walker.runs()[0], walker.engine.source
    run.along.assign(np.random.default_rng(2).normal(size=run.along.shape))
    expected, out = (run.pull(), run.pulled) if product else (walker.at_hand(), run.out)
    expected = expected.numpy().copy()
    along = run.along if product else wp.zeros((0, 2 * m.nv + m.na), dtype=float)
    given = "".join(constant(name, getattr(run.tables[0], name)) for name in NAMES)
    given += constant("along", along) + constant("out", out)
    given += f"const int slot = 0, damped = {run.tables[0].damped};\n"
    code = Emulated(given + closed.close.native_snippet, walker.engine, tmp_path)
    code.bind()
    assert walker.engine.read("ncon")[0] > 2 and walker.engine.read("nefc")[0] > 12
    for backward in (False, True):
        out.zero_()
        code.run(0, threads=32, backward=backward)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=2e-5 * np.abs(expected).max())


def test_its_kernel_fits_into_what_cuda_takes():
    assert sum(size(argument.type) for argument in closed.warp_kernel().adj.args) <= MOST


def test_its_kernels_compile_for_cuda(walker, tmp_path):
    transcribe.install()
    run = walker.runs()[0]
    kernels = [closed.warp_kernel(), *(part_kernel_of_worlds(part, 16) for part in run.forces.parts[:1])]
    for k, kernel in enumerate(kernels):
        wp.compile_aot_module(kernel.module, arch=90, module_dir=str(tmp_path / str(k)), use_ptx=True)
        text = next((tmp_path / str(k)).glob("*.ptx")).read_text()
        frames = [int(size) for size in re.findall(r"__local_depot\d+\[(\d+)\]", text)]
        assert max(frames, default=0) <= 1024  # copies of Model and Data would be tens of thousands
