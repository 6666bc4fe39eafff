"""The driver: contacts of whole models, order, parameters, capacity, determinism, and compilation for CUDA."""

from pathlib import Path

import dm_control.suite
import mujoco
import numpy as np
import pytest
import warp as wp
from tests.collide.cubin import frames, registers

from kinema.collide.broad import write_pairs
from kinema.collide.build import Build, family_mask
from kinema.collide.by_pair import crew_kernel, pair_kernel
from kinema.collide.detect import Detector
from kinema.collide.gather import GATHER, gather_contacts
from kinema.collide.narrow import OVERFLOW_CONTACTS
from kinema.collide.prisms import find_prisms, finish_kernel, meet_kernel
from kinema.collide.ray import cast_rays
from kinema.collide.table import FAMILIES
from kinema.collide.workspace import LENT
from kinema.collide.workspace import SHARED as IN_SHARED_MEMORY

SUITE = Path(dm_control.suite.__file__).parent
SHARED = Path(__file__).parents[3] / "shared" / "models"

PILE = """
<mujoco>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <geom type="box" size=".1 2 1" pos="-.6 0 0"/>
    {bodies}
  </worldbody>
</mujoco>
"""
KINDS = ['type="sphere" size=".1"', 'type="capsule" size=".05 .1"', 'type="box" size=".1 .06 .08"']


def pile(n: int = 12) -> mujoco.MjModel:
    """Bodies dropped on a heap."""
    rng = np.random.default_rng(3)
    bodies = ""
    for i in range(n):
        pos = " ".join(f"{x:.3f}" for x in rng.uniform([-0.4, -0.4, 0.1], [0.4, 0.4, 0.4]))
        quat = " ".join(f"{x:.3f}" for x in rng.normal(size=4))
        bodies += f'<body pos="{pos}" quat="{quat}"><freejoint/><geom {KINDS[i % 3]} margin=".01" gap=".005"/></body>'
    return mujoco.MjModel.from_xml_string(PILE.format(bodies=bodies))


def states(m: mujoco.MjModel, n: int, skip: int = 25) -> list[mujoco.MjData]:
    """n states along a simulation."""
    d = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    out = []
    for _ in range(n):
        for _ in range(skip):
            mujoco.mj_step(m, d)
        copy = mujoco.MjData(m)
        copy.qpos[:], copy.mocap_pos[:], copy.mocap_quat[:] = d.qpos, d.mocap_pos, d.mocap_quat
        mujoco.mj_forward(m, copy)
        out.append(copy)
    return out


def load(detector: Detector, data: list[mujoco.MjData]) -> None:
    detector.geoms.xpos.assign(np.array([d.geom_xpos for d in data], np.float32))
    detector.geoms.xmat.assign(np.array([d.geom_xmat.reshape(-1, 3, 3) for d in data], np.float32))


def fields(detector: Detector, w: int) -> dict[str, np.ndarray]:
    c = detector.contacts
    n = int(c.ncon.numpy()[w])
    names = ["dist", "pos", "frame", "includemargin", "friction", "solref", "solreffriction", "solimp", "dim", "geom"]
    return {name: getattr(c, name).numpy()[w, :n] for name in [*names, "exclude", "adhesion"]}


MODELS = [
    SUITE / "humanoid.xml",
    SUITE / "quadruped.xml",
    SUITE / "cheetah.xml",
    SHARED / "menagerie/google_barkour_vb/scene.xml",
]


@pytest.mark.parametrize("path", [None, *MODELS], ids=lambda p: "pile" if p is None else p.parent.name + "-" + p.stem)
def test_contacts_of_models(path):
    if path and not path.exists():
        pytest.skip("public models are not beside the repository")
    m = mujoco.MjModel.from_xml_path(str(path)) if path else pile()
    data = states(m, 8)
    detector = Detector(m, len(data), device="cpu")
    load(detector, data)
    detector.detect()
    total = 0
    for w, d in enumerate(data):
        got = fields(detector, w)
        if len(got["dist"]) != d.ncon:  # a contact at the very edge of the margin may differ
            edge = np.abs(d.contact.dist - d.contact.includemargin).min() if d.ncon else 0
            assert edge < 1e-5, f"{len(got['dist'])} contacts instead of {d.ncon}"
            continue
        total += d.ncon
        np.testing.assert_array_equal(got["geom"], d.contact.geom)
        np.testing.assert_array_equal(got["dim"], d.contact.dim)
        np.testing.assert_array_equal(got["exclude"], d.contact.exclude)
        np.testing.assert_allclose(got["dist"], d.contact.dist, atol=2e-6)
        np.testing.assert_allclose(got["pos"], d.contact.pos, atol=1e-5)
        np.testing.assert_allclose(got["frame"].reshape(-1, 9), d.contact.frame.reshape(-1, 9), atol=1e-4)
        for name in ("includemargin", "friction", "solref", "solreffriction", "solimp"):
            np.testing.assert_allclose(got[name], getattr(d.contact, name), rtol=1e-6, atol=1e-9)
    assert total > 8


def test_both_shapes_of_execution_give_the_same_bits():
    m = pile()
    data = states(m, 5)
    one, two = (Detector(m, len(data), thread_per_pair=flag, device="cpu") for flag in (False, True))
    for detector in (one, two):
        load(detector, data)
        detector.detect()
    for w in range(len(data)):
        a, b = fields(one, w), fields(two, w)
        assert len(a["dist"]) > 5
        for name in a:
            np.testing.assert_array_equal(a[name], b[name])


ROUND = """
<mujoco>
  <asset><hfield name="hills" nrow="5" ncol="5" size=".6 .6 .2 .1" elevation="0 1 0 2 0  1 2 1 0 1  0 1 3 1 0  1 0 1 2 1
    0 1 0 1 0"/>
    <mesh name="wedge" vertex="0 0 0  .2 0 0  0 .2 0  .2 .2 0  0 0 .1  .2 0 .1"/></asset>
  <worldbody>
    <geom type="hfield" hfield="hills"/>
    <body pos="0 .1 .5"><freejoint/><geom type="cylinder" size=".1 .08"/></body>
    <body pos=".1 0 .7" euler="20 0 0"><freejoint/><geom type="mesh" mesh="wedge"/></body>
    <body pos="-.1 0 .5"><freejoint/><geom type="ellipsoid" size=".1 .08 .06"/></body>
    <body pos="0 0 .95"><freejoint/><geom type="box" size=".1 .1 .06"/></body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize(("iterations", "room"), [(35, IN_SHARED_MEMORY), (60, LENT)])
def test_a_crew_that_takes_pairs_in_turns_gives_the_same_bits(iterations, room):
    """Polytopes and polygons in room that octets use again and again, and on the stack."""
    m = mujoco.MjModel.from_xml_string(ROUND)
    m.opt.ccd_iterations = iterations
    data = states(m, 40, 10)
    one, two = (Detector(m, len(data), thread_per_pair=flag, device="cpu") for flag in (False, True))
    kernels = {launch[0].key.split("__")[-1] for launch in two.launch_list()}
    assert kernels >= {"detect_pairs", "finish_pairs", "meet_prisms", "finish_prisms"}
    assert two.octets < len(two.slots) * len(data), "octets take more than one pair"
    assert two.build.lending().epa == room
    for detector in (one, two):
        load(detector, data)
        detector.detect()
    np.testing.assert_array_equal(one.contacts.ncon.numpy(), two.contacts.ncon.numpy())
    assert one.contacts.ncon.numpy().sum() > 100
    for w in range(len(data)):
        for name, value in fields(one, w).items():
            np.testing.assert_array_equal(value, fields(two, w)[name])


FINE = """
<mujoco>
  <asset><hfield name="hills" nrow="60" ncol="50" size="1 1 .05 .1"/></asset>
  <worldbody>
    <geom type="hfield" hfield="hills"/>
    <body pos="0 .1 .1"><freejoint/><geom type="box" size=".2 .3 .05"/></body>
    <body pos=".5 0 .1" euler="20 0 0"><freejoint/><geom type="capsule" size=".02 .1"/></body>
    <body pos="-.6 0 .05"><freejoint/><geom type="sphere" size=".03"/></body>
  </worldbody>
</mujoco>
"""


def test_prisms_found_by_many_threads_come_in_order():
    """A box over hundreds of prisms keeps the first 50 that it touches; others touch a few, shallow and deep."""
    m = mujoco.MjModel.from_xml_string(FINE)
    m.hfield_data[:] = np.random.default_rng(5).uniform(0.6, 1.0, m.hfield_data.shape)
    data = states(m, 12, 6)
    one, two = (Detector(m, len(data), thread_per_pair=flag, device="cpu") for flag in (False, True))
    for detector in (one, two):
        for _ in range(2):  # queues are empty again after detection
            load(detector, data)
            detector.detect()
    np.testing.assert_array_equal(one.contacts.ncon.numpy(), two.contacts.ncon.numpy())
    assert one.contacts.ncon.numpy().max() > 50
    for w in range(len(data)):
        for name, value in fields(one, w).items():
            np.testing.assert_array_equal(value, fields(two, w)[name])


def test_a_world_does_not_feel_its_neighbours():
    m = pile()
    data = states(m, 4)
    alone, many = Detector(m, 1, device="cpu"), Detector(m, 64, device="cpu")
    load(alone, data[3:])
    load(many, (data * 16)[:64])
    alone.detect()
    many.detect()
    for name, value in fields(alone, 0).items():
        np.testing.assert_array_equal(value, fields(many, 63)[name])


def test_overflow_is_counted_and_flagged():
    m = pile()
    data = states(m, 2)
    full, small = Detector(m, 2, device="cpu"), Detector(m, 2, capacity=4, device="cpu")
    for detector in (full, small):
        load(detector, data)
        detector.detect()
    np.testing.assert_array_equal(small.contacts.found.numpy(), full.contacts.ncon.numpy())
    np.testing.assert_array_equal(small.contacts.ncon.numpy(), 4)
    np.testing.assert_array_equal(small.contacts.status.numpy(), OVERFLOW_CONTACTS)
    np.testing.assert_array_equal(full.contacts.status.numpy(), 0)
    np.testing.assert_array_equal(small.contacts.dist.numpy(), full.contacts.dist.numpy()[:, :4])


def test_slots_for_as_many_contacts_as_there_are_suffice():
    """Where a thread takes a pair, room is needed for contacts, not for pairs; too little is counted and flagged."""
    m = pile()
    data = states(m, 5)
    full = Detector(m, len(data), thread_per_pair=True, device="cpu")
    most = 0
    for slots in (None, 1):
        found = full if slots is None else Detector(m, len(data), thread_per_pair=True, slots=slots, device="cpu")
        load(found, data)
        for _ in range(2):  # what one run leaves must not be in the way of the next
            found.detect()
        most = most or int(found.contacts.found.numpy().max())
        np.testing.assert_array_equal(found.contacts.found.numpy(), full.contacts.found.numpy())
    np.testing.assert_array_equal(found.contacts.status.numpy(), OVERFLOW_CONTACTS)
    np.testing.assert_array_equal(found.contacts.ncon.numpy(), 0)
    enough = Detector(m, len(data), thread_per_pair=True, slots=most, device="cpu")
    assert most < full.slots.sum() / 2
    load(enough, data)
    enough.detect()
    np.testing.assert_array_equal(enough.contacts.status.numpy(), 0)
    for w in range(len(data)):
        for name, value in fields(enough, w).items():
            np.testing.assert_array_equal(value, fields(full, w)[name])


@wp.func
def unit_ball(kind: int, p: wp.vec3d, parameters: wp.array(dtype=float)) -> wp.float64:
    return wp.length(p) - wp.float64(1.0)


def test_kernels_compile_for_cuda(tmp_path):
    """NVRTC compiles for a GPU on a machine without one.

    Stacks are small: CUDA reserves the deepest one for every thread that a device could hold, 270,336 on an H200.
    """
    builds = [Build(family_mask(name), 36, 16, 8, False, unit_ball) for name in FAMILIES if name != "hfield"]
    kernels = [*[pair_kernel(build.asking()) for build in builds], crew_kernel(builds[1].lending())]
    kernels += [find_prisms, meet_kernel(), finish_kernel(IN_SHARED_MEMORY), gather_contacts, write_pairs, cast_rays]
    blocks = {"gather_contacts": 32 * int(GATHER)}
    for kernel in kernels:
        wp.compile_aot_module(kernel.module, arch=90, module_dir=str(tmp_path), use_ptx=False)
    taken = {name: n for path in tmp_path.glob("*.cubin") for name, n in registers(path).items()}
    for name, n in taken.items():
        block = next((size for kernel, size in blocks.items() if kernel in name), 128)
        assert n * block <= 65536, f"a block of {name} does not fit on a multiprocessor: {n} registers a thread"
    assert any("gather_contacts" in name for name in taken)
    stacks = {name: size for path in tmp_path.glob("*.cubin") for name, size in frames(path).items()}
    crews = [size for name, size in stacks.items() if "finish_p" in name]
    assert len(crews) >= 2 and max(crews) < 2600, stacks
