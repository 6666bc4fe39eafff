"""Convex pairs (GJK, EPA, multi-contact) and planes with meshes against MuJoCo."""

from pathlib import Path

import mujoco
import numpy as np
import pytest
from oracle import compare, kinema_contacts, mujoco_contacts, random_poses, two_geoms
from shapes import ASSET, GEOM

SHARED = Path(__file__).parents[3] / "shared" / "models"
PAIRS = [
    ("plane", "cube"),
    ("plane", "rock"),
    ("plane", "prism"),
    ("sphere", "ellipsoid"),
    ("sphere", "rock"),
    ("capsule", "ellipsoid"),
    ("capsule", "cylinder"),
    ("capsule", "cube"),
    ("capsule", "rock"),
    ("ellipsoid", "ellipsoid"),
    ("ellipsoid", "cylinder"),
    ("ellipsoid", "box"),
    ("ellipsoid", "rock"),
    ("cylinder", "cylinder"),
    ("cylinder", "box"),
    ("cylinder", "rock"),
    ("cylinder", "prism"),
    ("box", "cube"),
    ("box", "rock"),
    ("cube", "cube"),
    ("cube", "rock"),
    ("rock", "rock"),
    ("prism", "cube"),
]


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pair(pair, margin):
    m = two_geoms(*(GEOM[t] + f' margin="{margin}" gap="{margin / 4}"' for t in pair), asset=ASSET)
    rng = np.random.default_rng(7)
    score = compare(m, random_poses(m, rng, 200), rng, tol=1e-5, ordered=False)
    assert score.touching > 30
    assert score.judged > 150
    assert score.fraction >= 0.97, score.failures


@pytest.mark.parametrize("pair", [("ellipsoid", "cylinder"), ("ellipsoid", "box"), ("sphere", "ellipsoid")])
def test_shapes_about_one_centre(pair):
    """The difference of the centres has no direction: the search begins along x, as MuJoCo's does."""
    m = two_geoms(*(GEOM[t] for t in pair), asset=ASSET)
    d = mujoco.MjData(m)
    for qpos in random_poses(m, np.random.default_rng(3), 20, aligned=0.0):
        qpos[:3] = qpos[7:10] = [0.125, 0.25, 0.5]  # floats
        theirs = mujoco_contacts(m, d, qpos)
        ours = kinema_contacts(m, d.geom_xpos[None], d.geom_xmat[None])[0]
        assert len(ours) == len(theirs) == 1
        np.testing.assert_allclose(ours[0, :7], theirs[0, :7], atol=2e-4)


@pytest.mark.parametrize("pair", [("cylinder", "box"), ("cylinder", "cylinder"), ("box", "cube"), ("capsule", "cube")])
def test_faces_on_each_other(pair):
    """Flat faces give several contacts, and the same ones as MuJoCo's."""
    m = two_geoms(*(GEOM[t] for t in pair), asset=ASSET)
    rng = np.random.default_rng(9)
    qpos = random_poses(m, rng, 200, aligned=1.0)
    qpos[:, 7:10] = qpos[:, :3] + rng.uniform(-0.35, 0.35, size=(200, 3))
    turn = rng.normal(size=(200, 8))[:, :4] * 0.004 + [1, 0, 0, 0]  # faces that are nearly parallel
    for q, t in zip(qpos, turn, strict=True):
        mujoco.mju_mulQuat(q[10:14], q[10:14].copy(), t / np.linalg.norm(t))
    score = compare(m, qpos, rng, tol=1e-5, ordered=False)
    assert score.touching > 60
    assert score.fraction >= 0.97, score.failures


def test_meshes_of_a_robot():
    """Real meshes: the links of an arm in random mutual poses."""
    path = SHARED / "menagerie" / "trossen_wx250s" / "wx250s.xml"
    if not path.exists():
        pytest.skip("public models are not beside the repository")
    spec = mujoco.MjSpec.from_file(str(path))
    names = [mesh.name or Path(mesh.file).stem for mesh in spec.meshes][:4]
    rng = np.random.default_rng(11)
    agreed = judged = touching = 0
    for k in range(3):
        new = mujoco.MjSpec()
        new.meshdir = str(path.parent / spec.meshdir)
        for name in (names[k], names[k + 1]):
            source = next(x for x in spec.meshes if (x.name or Path(x.file).stem) == name)
            new.add_mesh(name=name, file=source.file, scale=source.scale)
            body = new.worldbody.add_body()
            body.add_freejoint()
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name)
        m = new.compile()
        score = compare(m, random_poses(m, rng, 100), rng, tol=1e-5, ordered=False)
        agreed, judged, touching = agreed + score.agreed, judged + score.judged, touching + score.touching
    assert touching > 30
    assert agreed >= 0.97 * judged


@pytest.mark.parametrize("option", ['ccd_tolerance="1e-3"', 'ccd_iterations="8"'])
def test_where_the_search_ends(option):
    """A coarser tolerance, or fewer iterations: another answer than the default's, and MuJoCo's."""
    m = two_geoms(GEOM["cube"], GEOM["ellipsoid"], asset=ASSET, option=option)
    rng = np.random.default_rng(14)
    score = compare(m, random_poses(m, rng, 60), rng, tol=1e-4)
    assert score.touching > 15
    assert score.fraction >= 0.95, score.failures


def test_without_multiccd_there_is_one_contact():
    m = two_geoms(GEOM["cube"], GEOM["box"], asset=ASSET, option="")
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MULTICCD
    rng = np.random.default_rng(12)
    score = compare(m, random_poses(m, rng, 100), rng, tol=1e-5)
    assert score.touching > 20
    assert score.fraction >= 0.97, score.failures


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6])
def test_deep_ellipsoids_that_are_nearly_spheres(tolerance):
    """GJK often ends with a triangle about the origin, and the two vertices that EPA puts beside it may see each other
    past one of its edges: the polytope begins convex all the same."""
    m = two_geoms('type="ellipsoid" size=".09014 .08871 .08899"', 'type="ellipsoid" size=".06782 .07041 .06216"')
    m.opt.ccd_tolerance = tolerance
    rng, d, wrong = np.random.default_rng(0), mujoco.MjData(m), 0
    for qpos in random_poses(m, rng, 150, aligned=0.0):
        apart = rng.normal(size=3)
        qpos[7:10] = qpos[:3] + apart / np.linalg.norm(apart) * rng.uniform(0.02, 0.09)
        theirs = mujoco_contacts(m, d, qpos)
        ours = kinema_contacts(m, d.geom_xpos[None], d.geom_xmat[None])[0]
        assert len(ours) == len(theirs) == 1
        wrong += np.abs(ours[0, :7] - theirs[0, :7]).max() > 1e-4
    assert wrong <= 1  # a search that noise of float32's size leads elsewhere
