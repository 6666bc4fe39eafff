"""MuJoCo's functions over 16 worlds against MuJoCo's own, on 20 models of the corpus.

Both sides are at the same random states; where a function reads what the solver found (accelerations, forces of rows),
MuJoCo is given ours, so that functions are compared and not solvers.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from kinema.simulation.functions import MuJoCoFunctions
from tests.conformance.staged import StagedEngine

WORLDS = 16
SHARED = Path(__file__).resolve().parents[3] / "shared" / "models"
MODELS = [
    "dm_control/suite/acrobot.xml", "dm_control/suite/ball_in_cup.xml", "dm_control/suite/cheetah.xml",
    "dm_control/suite/finger.xml", "dm_control/suite/fish.xml", "dm_control/suite/humanoid.xml",
    "dm_control/suite/manipulator.xml", "dm_control/suite/quadruped.xml", "dm_control/suite/swimmer.xml",
    "dm_control/suite/walker.xml", "gymnasium/envs/mujoco/assets/ant.xml", "gymnasium/envs/mujoco/assets/humanoid.xml",
    "gymnasium/envs/mujoco/assets/pusher.xml", "mujoco_warp/test_data/constraints.xml",
    "mujoco_warp/test_data/pendula.xml", "mujoco_warp/test_data/primitives.xml",
    "mujoco_warp/test_data/hfield/hfield.xml", "shared/menagerie/agility_cassie/scene.xml",
    "shared/menagerie/shadow_hand/scene_right.xml", "shared/menagerie/wonik_allegro/scene_right.xml",
]  # fmt: skip


class Functions(MuJoCoFunctions):
    """The functions alone, over an engine."""

    def __init__(self, engine):
        self.engine, self.model = engine, engine.source


def path_of(name: str) -> Path:
    package, _, rest = name.partition("/")
    if package == "shared":
        return SHARED / rest
    spec = importlib.util.find_spec(package)
    return Path(spec.submodule_search_locations[0]) / rest if spec else Path(name)


@cache
def worlds_of(name: str) -> SimpleNamespace:
    """Worlds of a model at random states: ours, and an MjData each."""
    path = path_of(name)
    if not path.is_file():
        pytest.skip(f"{name} is not there")
    m = mujoco.MjModel.from_xml_path(str(path))
    rng = np.random.default_rng(len(name))
    engine = StagedEngine(m, WORLDS, device="cpu")
    datas = []
    for w in range(WORLDS):
        d = mujoco.MjData(m)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv), 0.3)
        d.qpos[:], d.qvel[:] = np.float32(d.qpos), np.float32(rng.normal(size=m.nv))
        d.xfrc_applied[1:] = np.float32(rng.normal(size=(m.nbody - 1, 6)))
        datas.append(d)
        for field in ("qpos", "qvel", "xfrc_applied"):
            engine.write(field, getattr(d, field), [w])
    engine.forward()
    for w, d in enumerate(datas):
        mujoco.mj_forward(m, d)
        d.qacc[:] = engine.read("qacc")[w]
        if d.nefc == engine.read("nefc")[w]:
            d.efc_force[:] = engine.read("efc_force")[w, : d.nefc]
        mujoco.mj_rnePostConstraint(m, d)
    return SimpleNamespace(m=m, datas=datas, ours=Functions(engine), rng=rng, engine=engine)


@pytest.fixture(params=MODELS)
def case(request):
    return worlds_of(request.param)


def close(ours, theirs, tolerance=2e-5):
    """Agreement to a fraction of the largest number there is."""
    theirs = np.asarray(theirs)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(1.0, np.abs(theirs).max(initial=0)))


def each(case, function, *shapes):
    """Results of one of MuJoCo's functions that fills arrays, in all worlds."""
    found = []
    for d in case.datas:
        out = [np.zeros(shape) for shape in shapes]
        function(d, *out)
        found.append(out)
    return [np.array(column) for column in zip(*found, strict=True)]


def test_jacobians(case):
    m, ours, shape = case.m, case.ours, (3, case.m.nv)
    some = sorted({1, m.nbody // 2, m.nbody - 1})
    points = np.float32(case.rng.normal(size=(WORLDS, len(some), 3)))
    kinds = {"body": (mujoco.mj_jacBody, m.nbody), "body_com": (mujoco.mj_jacBodyCom, m.nbody),
             "geom": (mujoco.mj_jacGeom, m.ngeom), "site": (mujoco.mj_jacSite, m.nsite)}  # fmt: skip
    for kind, (function, count) in kinds.items():
        ids = sorted({0, count // 2, count - 1}) if count else []
        for i in ids:
            theirs = each(case, lambda d, p, r, f=function, i=i: f(m, d, p, r, i), shape, shape)
            for a, b in zip(getattr(ours, f"jac_{kind}")(i), theirs, strict=True):
                close(a, b)
    point, rate = ours.jac(points, some), ours.jac_dot(points, some)
    for k, body in enumerate(some):
        for function, found in ((mujoco.mj_jac, point), (mujoco.mj_jacDot, rate)):
            for w, d in enumerate(case.datas):
                p, r = np.zeros(shape), np.zeros(shape)
                function(m, d, p, r, points[w, k].astype(float), body)
                close(found.jacp[w, k], p, 1e-4)
                close(found.jacr[w, k], r, 1e-4)
    for body in [0, *some]:
        if m.body_subtreemass[body] > 0:
            theirs = each(case, lambda d, p, b=body: mujoco.mj_jacSubtreeCom(m, d, p, b), shape)[0]
            close(ours.jac_subtree_com(body), theirs)
        theirs = each(case, lambda d, p, b=body: mujoco.mj_angmomMat(m, d, p, b), shape)[0]
        close(ours.angmom_mat(body), theirs, 1e-4)


def test_inertia(case):
    m, ours, nv = case.m, case.ours, case.m.nv
    full = each(case, lambda d, out: mujoco.mj_fullM(m, d, out), (nv, nv))[0]
    close(ours.full_m(), full, 1e-4)
    vec = np.float32(case.rng.normal(size=(WORLDS, 2, nv)))
    close(ours.mul_m(vec), np.einsum("wij,wkj->wki", full, vec), 1e-4)
    close(ours.mul_m(vec[0, 0]), np.einsum("wij,j->wi", full, vec[0, 0]), 1e-4)
    x = ours.solve_m(vec)
    size = np.abs(full).sum(axis=2)[:, None] * np.abs(x).max(axis=2, keepdims=True)
    assert (np.abs(np.einsum("wij,wkj->wki", full, x) - vec) <= 2e-4 * np.maximum(size, 1.0)).all()
    np.testing.assert_array_equal(ours.solve_m(vec[:, 0]), x[:, 0])


def test_motion_of_objects(case):
    m, ours = case.m, case.ours
    kinds = {"body": m.nbody, "xbody": m.nbody, "geom": m.ngeom, "site": m.nsite, "camera": m.ncam}
    for kind, count in kinds.items():
        code = getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
        for i in sorted({0, count // 2, count - 1}) if count else []:
            for local in (False, True):
                velocity, acceleration = (
                    each(case, lambda d, out, f=f, c=code, i=i, k=local: f(m, d, c, i, out, k), 6)[0]
                    for f in (mujoco.mj_objectVelocity, mujoco.mj_objectAcceleration)
                )
                close(ours.object_velocity(kind, i, local), velocity)
                close(ours.object_acceleration(int(code), i, local), acceleration, 1e-4)


def test_positions(case):
    m, ours, rng = case.m, case.ours, case.rng
    start = np.array([d.qpos for d in case.datas])
    qvel = np.float32(rng.normal(size=(WORLDS, m.nv)))
    end = start.copy()
    theirs = np.zeros((WORLDS, m.nv))
    for w in range(WORLDS):
        mujoco.mj_integratePos(m, end[w], qvel[w].astype(float), 0.2)
        mujoco.mj_differentiatePos(m, theirs[w], 0.5, start[w], np.float32(end[w]).astype(float))
    close(ours.integrate_pos(start, qvel, 0.2), end)
    close(ours.differentiate_pos(0.5, start, end), theirs)


def test_forces(case):
    m, ours, rng = case.m, case.ours, case.rng
    body = sorted({1, m.nbody // 2, m.nbody - 1})
    force, torque, point = np.float32(rng.normal(size=(3, WORLDS, len(body), 3)))
    target = np.float32(rng.normal(size=(WORLDS, m.nv)))
    theirs = target.astype(float)
    for w, d in enumerate(case.datas):
        for k, b in enumerate(body):
            mujoco.mj_applyFT(m, d, *(x[w, k].astype(float) for x in (force, torque, point)), b, theirs[w])
    close(ours.apply_ft(force, torque, point, body, target), theirs, 1e-4)
    for flg_acc in (0, 1):
        close(ours.rne(flg_acc), each(case, lambda d, out, f=flg_acc: mujoco.mj_rne(m, d, f, out), m.nv)[0], 1e-4)
    for d in case.datas:
        mujoco.mj_energyPos(m, d)
        mujoco.mj_energyVel(m, d)
    close(ours.energy(), [d.energy for d in case.datas], 1e-4)


def test_contacts_and_loads(case):
    m, ours = case.m, case.ours
    nefc, ncon = case.engine.read("nefc"), case.engine.read("ncon")
    same = [w for w, d in enumerate(case.datas) if (d.nefc, d.ncon) == (nefc[w], ncon[w])]
    assert len(same) >= 0.75 * WORLDS  # a contact may be found by one side only where surfaces just touch
    loads, table = ours.rne_post_constraint(), ours.contacts()
    assert len(table) == ncon.sum()
    for w in same:
        d = case.datas[w]
        theirs = np.zeros((d.ncon, 6))
        for c in range(d.ncon):
            mujoco.mj_contactForce(m, d, c, theirs[c])
        mine = table.of_world(w)
        assert mine.index.tolist() == list(range(d.ncon))
        np.testing.assert_array_equal(mine.geom, d.contact.geom.reshape(-1, 2))
        if d.ncon:
            close(mine.force, theirs, 1e-4)
            close(ours.contact_force()[w, : d.ncon], theirs, 1e-4)
        for name in ("cacc", "cfrc_int", "cfrc_ext"):
            close(getattr(loads, name)[w], getattr(d, name), 1e-3)


def _along(m, d, geom, pnt, vec):
    """Distance of one geom along a ray."""
    if m.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH:
        return mujoco.mj_rayMesh(m, d, geom, pnt, vec, None)
    pose = d.geom_xpos[geom], d.geom_xmat[geom], m.geom_size[geom]
    return mujoco.mju_rayGeom(*pose, pnt, vec, m.geom_type[geom], None)


def test_rays(case):
    m, ours, rng = case.m, case.ours, case.rng
    centres = np.array([d.geom_xpos[rng.integers(m.ngeom, size=6)] for d in case.datas])
    spread = 0.2 * np.minimum(m.geom_rbound[m.geom_rbound > 0].mean() if (m.geom_rbound > 0).any() else 1.0, 1.0)
    vec = np.float32(rng.normal(size=centres.shape))
    aim = centres + spread * rng.normal(size=centres.shape)
    origin = np.float32(aim[:, :1] - 1.5 * vec[:, :1])
    vec = np.float32(aim - origin)
    for options in ({}, {"flg_static": False, "bodyexclude": 1}, {"geomgroup": [1, 0, 1, 0, 1, 0]}):
        hit = ours.multi_ray(origin[:, 0], vec, **options)
        group = np.array(options["geomgroup"], np.uint8) if "geomgroup" in options else None
        static, exclude = options.get("flg_static", True), options.get("bodyexclude", -1)
        good = 0
        for w, d in enumerate(case.datas):
            for k in range(6):
                geom, normal = np.array([-1], np.int32), np.zeros(3)
                ray = origin[w, 0].astype(float), vec[w, k].astype(float)
                dist = mujoco.mj_ray(m, d, *ray, group, static, exclude, geom, normal)
                near = abs(hit.dist[w, k] - dist) < 1e-4 * max(1, dist)
                same = hit.geomid[w, k] == geom[0]  # or a surface in the same place: a mesh of a box, and the box
                good += near and (same or abs(_along(m, d, int(hit.geomid[w, k]), *ray) - dist) < 1e-5)
        assert good >= 0.97 * 6 * WORLDS
    one = ours.ray(origin[:, 0], vec[:, 2])
    whole = ours.multi_ray(origin[:, 0], vec)
    np.testing.assert_array_equal(one.geomid, whole.geomid[:, 2])
    np.testing.assert_array_equal(one.dist, whole.dist[:, 2])


def test_distances(case):
    from kinema.collide.table import PAIR_FUNCTION, PairFunction

    m, ours, rng = case.m, case.ours, case.rng
    pairs = []
    for a, b in rng.integers(m.ngeom, size=(200, 2)):
        function = PAIR_FUNCTION[tuple(sorted((m.geom_type[a], m.geom_type[b])))]
        if a != b and 0 < function <= PairFunction.HFIELD_CONVEX:
            pairs.append((a, b))
    pairs = np.array(pairs[:6]).reshape(-1, 2)
    if len(pairs) == 0:
        pytest.skip("no two geoms whose distance is known")
    found = ours.geom_distance(pairs[:, 0].tolist(), pairs[:, 1].tolist(), 0.5)
    assert found.dist.shape == (WORLDS, len(pairs)) and found.fromto.shape == (WORLDS, len(pairs), 6)
    good = spanned = 0
    for w, d in enumerate(case.datas):
        for k, (a, b) in enumerate(pairs):
            fromto = np.zeros(6)
            dist = mujoco.mj_geomDistance(m, d, a, b, 0.5, fromto)
            good += abs(found.dist[w, k] - dist) < 1e-4
            length = np.linalg.norm(found.fromto[w, k, 3:] - found.fromto[w, k, :3])
            spanned += found.dist[w, k] >= 0.5 or abs(length - abs(found.dist[w, k])) < 1e-4
    assert good >= 0.97 * WORLDS * len(pairs)
    assert spanned == WORLDS * len(pairs)


def test_names(case):
    for kind, code in (("body", mujoco.mjtObj.mjOBJ_BODY), ("geom", mujoco.mjtObj.mjOBJ_GEOM)):
        for i in range(min(case.m.nbody, case.m.ngeom, 5)):
            name = mujoco.mj_id2name(case.m, code, i)
            assert case.ours.id2name(kind, i) == case.ours.id2name(int(code), i) == name
            if name:
                assert case.ours.name2id(kind, name) == i
        assert case.ours.name2id(kind, "no such thing") == mujoco.mj_name2id(case.m, code, "no such thing") == -1
