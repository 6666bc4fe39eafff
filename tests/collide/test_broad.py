"""The broad phase of many geoms against the list of all pairs, and how its work grows."""

import mujoco
import numpy as np
import pytest
from test_detect import fields, load, pile, states
from test_filter import FILTER_XML

from kinema.collide.broad import OVERFLOW_PAIRS
from kinema.collide.detect import Detector


def spheres(n: int) -> mujoco.MjModel:
    """n loose spheres above a plane."""
    body = '<body pos="0 0 1"><freejoint/><geom size=".1" margin=".002"/></body>'
    xml = f'<mujoco><worldbody><geom type="plane" size="9 9 .1"/>{body * n}</worldbody></mujoco>'
    return mujoco.MjModel.from_xml_string(xml)


def scatter(m: mujoco.MjModel, detector: Detector, rng: np.random.Generator) -> None:
    """Spheres at constant density, whatever their number; touching a few others each."""
    n = m.ngeom - 1
    side = 0.17 * n ** (1 / 3)
    pos = np.zeros((detector.nworld, m.ngeom, 3), np.float32)
    pos[:, 1:] = rng.uniform([-side / 2, -side / 2, 0], [side / 2, side / 2, side], size=(detector.nworld, n, 3))
    detector.geoms.xpos.assign(pos)
    detector.geoms.xmat.assign(np.tile(np.eye(3, dtype=np.float32), (detector.nworld, m.ngeom, 1, 1)))


@pytest.mark.parametrize("thread_per_pair", [False, True])
@pytest.mark.parametrize("name", ["pile", "filter"])
def test_sweep_finds_the_same_contacts(name, thread_per_pair):
    m = pile(20) if name == "pile" else mujoco.MjModel.from_xml_string(FILTER_XML.format(option=""))
    data = states(m, 4)
    full = Detector(m, 4, sweep=False, device="cpu")
    swept = Detector(m, 4, sweep=True, thread_per_pair=thread_per_pair, device="cpu")
    for detector in (full, swept):
        load(detector, data)
        detector.detect()
        detector.detect()  # from a sorted list
    assert not swept.contacts.status.numpy().any()
    for w in range(4):
        a, b = fields(full, w), fields(swept, w)
        assert len(a["dist"]) > 3
        for key in a:
            np.testing.assert_allclose(a[key], b[key], rtol=1e-6, err_msg=key)


def test_thousand_spheres():
    m = spheres(1000)
    swept = Detector(m, 2, device="cpu")
    assert swept.build.sweep
    full = Detector(m, 2, sweep=False, capacity=swept.capacity, device="cpu")
    scatter(m, swept, np.random.default_rng(0))
    full.geoms.xpos.assign(swept.geoms.xpos)
    full.geoms.xmat.assign(swept.geoms.xmat)
    swept.detect()
    full.detect()
    n = full.contacts.ncon.numpy()
    assert n.min() > 500
    np.testing.assert_array_equal(swept.contacts.ncon.numpy(), n)
    np.testing.assert_array_equal(swept.contacts.geom.numpy(), full.contacts.geom.numpy())
    np.testing.assert_array_equal(swept.contacts.pos.numpy(), full.contacts.pos.numpy())


def visits(detector: Detector) -> int:
    """How many neighbours the geoms of world 0 look at: those in nine rows, within a cell in x."""
    cell = detector.sweep.cell.numpy()[0]
    assert (np.diff(cell) >= 0).all()
    total = 0
    for dz in (-1, 0, 1):
        for dy in (-1, 0, 1):
            row = cell + (dz << 48) + (dy << 32)
            total += (np.searchsorted(cell, row + 1027) - np.searchsorted(cell, row - 1026)).sum()
    return int(total)


def test_work_grows_linearly():
    """Eight times as many spheres at the same density: about eight times the work, not 64 times."""
    work = []
    for n in (500, 4000):
        m = spheres(n)
        detector = Detector(m, 1, device="cpu")
        scatter(m, detector, np.random.default_rng(1))
        detector.detect()
        work.append(visits(detector))
    assert work[1] / work[0] < 12


def test_too_many_pairs_are_flagged():
    m = spheres(400)
    detector = Detector(m, 1, device="cpu")
    detector.geoms.xmat.assign(np.tile(np.eye(3, dtype=np.float32), (1, m.ngeom, 1, 1)))
    detector.detect()  # all spheres in one place
    assert detector.contacts.status.numpy()[0] & int(OVERFLOW_PAIRS)
