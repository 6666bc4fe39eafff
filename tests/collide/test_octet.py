"""Octets, eight lanes a pair, as CUDA runs them: Warp's text of the crew's kernel, threads as fibres (on_cpu.hpp)."""

import ctypes
import re
import subprocess
from pathlib import Path

import mujoco
import numpy as np
import pytest
import warp as wp
from tests.convex.cuda import emulate
from warp._src import context

from kinema.collide.detect import Detector

BLOCK = 32
SHAPES = ('type="ellipsoid" size=".1 .08 .06"', 'type="cylinder" size=".08 .06"', 'type="mesh" mesh="stone"',
          'type="box" size=".08 .06 .05"')  # fmt: skip


def heap() -> tuple[mujoco.MjModel, list[mujoco.MjData]]:
    """Shapes that overlap, deeply and barely, in four worlds."""
    rng = np.random.default_rng(4)
    stone = " ".join(f"{x:.4f}" for x in 0.09 * rng.normal(size=30) / 1.5)
    bodies = ""
    for k in range(10):
        p, q = rng.uniform(-0.12, 0.12, 3), rng.normal(size=4)
        where = f'pos="{p[0]} {p[1]} {p[2]}" quat="{q[0]} {q[1]} {q[2]} {q[3]}"'
        bodies += f"<body {where}><freejoint/><geom {SHAPES[k % len(SHAPES)]}/></body>"
    asset = f'<asset><mesh name="stone" vertex="{stone}"/></asset>'
    m = mujoco.MjModel.from_xml_string(f"<mujoco>{asset}<worldbody>{bodies}</worldbody></mujoco>")
    data = []
    for _ in range(4):
        d = mujoco.MjData(m)
        d.qpos[:] += 0.02 * rng.normal(size=m.nq)
        mujoco.mj_forward(m, d)
        data.append(d)
    return m, data


def as_fibres(kernel: wp.Kernel, folder: Path):
    """A function that runs a kernel of one dimension as CUDA would: blocks one after the other, threads as fibres."""
    module = kernel.module
    name = module.load(wp.get_device("cpu"), 1).get_kernel_mangled_name(kernel)
    options = module.resolve_options(wp.config, 1) | {"output_arch": None}
    text = context.ModuleBuilder(module, options, target="cpu").codegen("cpu").replace("#define WP_NO_CRT", "")
    after = text.index("\n", text.rindex('#include "')) + 1
    head = f"""
#define KN_BESIDE_WARP
#include "{Path(emulate.__file__).with_name("on_cpu.hpp")}"
static int number_ = 0;
#define blockIdx (Index{{(unsigned)number_}})
#define blockDim (Index{{{BLOCK}}})
"""
    found = re.search(r"\w+_cpu_kernel_forward", text)
    assert found, "Warp writes kernels otherwise"
    forward = found[0]
    args = "wp_args_" + forward.removesuffix("_cpu_kernel_forward")
    tail = f"""
static wp::launch_bounds_t<1>* dim_;
static {args}* args_;
static void work_(int lane) {{ {forward}<false>(*dim_, {BLOCK} * number_ + lane, args_); }}
extern "C" void run(wp::launch_bounds_t<1>* dim, {args}* args, int backward) {{
    dim_ = dim, args_ = args;
    for (number_ = 0; number_ < (int)dim->size / {BLOCK}; ++number_) run_block({BLOCK}, work_, backward != 0);
}}
"""
    path, library = folder / f"{name}.cpp", folder / f"{name}.so"
    path.write_text(text[:after] + head + text[after:] + tail)
    native = Path(wp.__file__).with_name("native")
    flags = ["-std=c++17", "-O1", "-w", "-fpermissive", "-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC"]
    subprocess.run([str(emulate.COMPILER), *flags, f"-I{native}", "-o", str(library), str(path)], check=True)
    return ctypes.CDLL(str(library)).run


def contacts(m, data, run=None, backward=False) -> dict[str, np.ndarray]:
    """What detection finds, with a thread a pair; the crew's kernel as fibres, if it is given."""
    detector = Detector(m, len(data), thread_per_pair=True, device="cpu")
    detector.geoms.xpos.assign(np.array([d.geom_xpos for d in data]))
    detector.geoms.xmat.assign(np.array([d.geom_xmat.reshape(-1, 3, 3) for d in data]))
    for kernel, dim, inputs, block in detector.launch_list():
        if run is None or "finish_pairs" not in kernel.key:
            wp.launch(kernel, dim, inputs, device="cpu", block_dim=block)
            continue
        assert detector.touch.queued.numpy()[0] > 40, "pairs wait for the crew"
        hooks = kernel.module.load(wp.get_device("cpu"), 1).get_kernel_hooks(kernel)
        alone = hooks.forward
        hooks.forward = lambda dim, args: run(dim, args, int(backward))
        try:
            wp.launch(kernel, 8 * detector.octets, inputs, device="cpu", block_dim=block)
        finally:
            hooks.forward = alone
    found = detector.contacts
    there = np.arange(found.dist.shape[1])[None] < found.ncon.numpy()[:, None]
    return {"ncon": found.ncon.numpy()} | {
        name: getattr(found, name).numpy()[there] for name in ("dist", "pos", "frame", "geom")
    }


@pytest.mark.skipif(emulate.COMPILER is None, reason="needs a C++ compiler")
def test_eight_lanes_find_what_one_thread_finds(tmp_path):
    """To the bit, whichever lanes run first: lists are in order, and nobody reads what is not there yet."""
    m, data = heap()
    alone = contacts(m, data)
    assert len(alone["dist"]) > 60
    kernel = next(k for k, *_ in Detector(m, 4, thread_per_pair=True, device="cpu").launch_list() if "finish" in k.key)
    run = as_fibres(kernel, tmp_path)
    for backward in (False, True):
        octets = contacts(m, data, run, backward)
        for name, value in alone.items():
            np.testing.assert_array_equal(octets[name], value, name)
