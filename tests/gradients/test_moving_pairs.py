"""Contacts that move with their geoms as CUDA computes it, three lanes a pair: on the CPU, and compiled for CUDA."""

import ctypes
import re

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.collide.build import PRIMITIVES
from kinema.convex.call import Call
from kinema.convex.engine import Engine
from kinema.convex.solve.native import WARP
from kinema.convex.stage import Stage
from kinema.gradients import geometry, transcribe
from kinema.gradients.moving_pairs import LANES, WIDTH, MovingPairs, pair_lanes
from kinema.gradients.tangents import Tangents

SHAPES = ("sphere", "capsule", "ellipsoid")
SCENE = """
<mujoco>
  <worldbody>
    <geom type="plane" size="3 3 .1" quat="1 .05 .02 0"/>
    {bodies}
  </worldbody>
</mujoco>
"""
BODY = """<body pos="{x} {y} {z}" quat="1 {turn} .1 .2"><freejoint/><geom type="{shape}" size=".1 .12 .08"/></body>"""


def heap() -> Engine:
    """Pairs of shapes, one upon the other on a tilted floor; more pairs touch than a warp has groups of lanes."""
    bodies = "".join(
        BODY.format(x=0.5 * k + 0.02 * up, y=0.03 * up, z=0.05 - 0.05 * k + 0.13 * up, turn=0.1 + 0.07 * k, shape=shape)
        for k in range(8) for up, shape in enumerate((SHAPES[k % 3], SHAPES[(k + k // 3) % 3]))
    )  # fmt: skip
    m = mujoco.MjModel.from_xml_string(SCENE.format(bodies=bodies))
    engine = Engine(m, 2)
    engine.write("qpos", np.float32(m.qpos0 + np.outer([0.0, 0.01], np.ones(m.nq))))
    engine.forward()
    return engine


@pytest.fixture(scope="module")
def engine() -> Engine:
    return heap()


def call_on_cpu(pairs: MovingPairs) -> None:
    """Run the kernel of CUDA on the CPU, thread by thread."""
    pairs._copy()
    call = Call(pairs.kernel, pairs.warps * WARP, [pairs.engine.m, pairs.engine.d, *pairs.inputs], pairs.engine.device)
    kinds = [("m", type(pairs.m)), ("d", type(pairs.d)), *type(call.args)._fields_[2:]]
    block = type("Arguments", (ctypes.Structure,), {"_fields_": kinds})
    args = block(pairs.m, pairs.d, *(getattr(call.args, label) for label, _ in type(call.args)._fields_[2:]))
    call._forward(ctypes.c_void_p(call.bounds), ctypes.byref(args))


def test_lanes_find_what_a_world_a_thread_does(engine):
    build, ncon = engine.collider.detector.build, engine.read("ncon")
    both = Tangents(
        engine, [], [], width=geometry.WIDTH, given=geometry.GIVEN, colors=[],
        stages=[Stage(geometry.moving_geoms(build), alone=True)],
    )  # fmt: skip
    assert len(np.unique(engine.read("contact_pair")[0, : ncon[0]])) > WARP // LANES
    pairs = MovingPairs(engine, build)
    call_on_cpu(pairs)
    lengths = 1, 3, 9
    found = [
        one.numpy().view(np.float32).reshape(2, -1, LANES, n, 1 + WIDTH)
        for one, n in zip(pairs._out, lengths, strict=True)
    ]
    for w in range(2):
        both.prepare()
        both.runs[0]._call.args.first, both.runs[0]._call.args.last = w, w + 1
        both.runs[0]()
        for one, name, n in zip(found, ("contact_dist", "contact_pos", "contact_frame"), lengths, strict=True):
            wide = both.runs[0].wide[name].made
            held = (ctypes.c_float * (ncon[w] * n * 17)).from_address(wide.data)
            expected = np.array(held).reshape(ncon[w], n, 17)
            mine = one[w, : ncon[w]]
            np.testing.assert_allclose(mine[..., 0], np.repeat(expected[:, None, :, 0], LANES, 1), rtol=1e-6, atol=1e-6)
            slopes = mine[..., 1:].transpose(0, 2, 1, 3).reshape(ncon[w], n, 12)
            np.testing.assert_allclose(slopes, expected[..., 1:13], rtol=1e-4, atol=1e-4)


def test_it_compiles_for_cuda(engine, tmp_path):
    pairs = engine.collider.detector.build.only(PRIMITIVES)
    kernel = pair_lanes(pairs)
    wp.compile_aot_module(kernel.module, arch=90, module_dir=str(tmp_path), use_ptx=True)
    text = next(tmp_path.glob("*.ptx")).read_text()
    frames = [int(size) for size in re.findall(r"__local_depot\d+\[(\d+)\]", text)]
    assert max(frames, default=0) <= 4096


def test_long_functions_of_large_modules_stay_functions():
    long, short = ("static CUDA_CALLABLE void f()\n{\n" + lines * "    x();\n" + "}\n" for lines in (70, 7))
    assert transcribe.in_pieces(long + short) == long + short
    found = transcribe.in_pieces(200 * (long + short))
    assert found.count("__noinline__ void") == 200 and found.replace(" __noinline__", "") == 200 * (long + short)
