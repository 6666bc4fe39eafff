"""Octets, eight lanes a pair, as CUDA runs them: Warp's text of the crew's kernel, threads as fibres (on_cpu.hpp)."""

import mujoco
import numpy as np
import pytest
import warp as wp
from tests.convex.cuda.emulate import COMPILER
from tests.convex.cuda.fibres import Fibres

from kinema.collide.detect import Detector
from kinema.math.octet import OCTET_LANES

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


def contacts(m, data, fibres: Fibres | None = None) -> dict[str, np.ndarray]:
    """What detection finds, with a thread a pair; the crew's kernel as fibres, if they are given."""
    detector = Detector(m, len(data), thread_per_pair=True, device="cpu")
    detector.lanes = OCTET_LANES if fibres else 1
    detector.geoms.xpos.assign(np.array([d.geom_xpos for d in data]))
    detector.geoms.xmat.assign(np.array([d.geom_xmat.reshape(-1, 3, 3) for d in data]))
    for kernel, dim, inputs, block in detector.launch_list():
        if fibres is None or "finish_pairs" not in kernel.key:
            wp.launch(kernel, dim, inputs, device="cpu", block_dim=block)
        else:
            assert detector.touch.queued.numpy()[0] > 40, "pairs wait for the crew"
            fibres.launch(kernel, dim, inputs, block)
    found = detector.contacts
    there = np.arange(found.dist.shape[1])[None] < found.ncon.numpy()[:, None]
    return {"ncon": found.ncon.numpy()} | {
        name: getattr(found, name).numpy()[there] for name in ("dist", "pos", "frame", "geom")
    }


@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
def test_eight_lanes_find_what_one_thread_finds(tmp_path):
    """To the bit, whichever lanes run first: lists are in order, and nobody reads what is not there yet."""
    m, data = heap()
    alone = contacts(m, data)
    assert len(alone["dist"]) > 60
    fibres = Fibres(tmp_path)
    for fibres.backward in (False, True):
        octets = contacts(m, data, fibres)
        for name, value in alone.items():
            np.testing.assert_array_equal(octets[name], value, name)
