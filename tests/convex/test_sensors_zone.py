"""insidesite with sites that are meshes, against MuJoCo."""

import mujoco
import numpy as np

from kinema.convex.engine import Engine
from tests.conformance.staged import StagedEngine

XML = """
<mujoco>
  <option><flag constraint="disable"/></option>
  <asset>
    <mesh name="hull" vertex="0 0 0  .3 0 0  0 .2 0  0 0 .4  .25 .25 .25"/>
    <mesh name="dented" vertex="0 0 0  .3 0 0  0 .3 0  0 0 .3  .05 .05 .05"
      face="0 2 1  0 1 3  0 3 2  1 2 4  2 3 4  3 1 4" inertia="shell"/>
  </asset>
  <worldbody>
    <site name="zone" type="mesh" mesh="hull" pos=".1 .2 .3" quat=".9 .1 .2 .3"/>
    <site name="ball" size=".5"/>
    <body name="mover"><freejoint/><geom name="g" size=".01" pos=".05 0 0"/>
      <site name="carried" type="mesh" mesh="dented" pos="0 0 .1" euler="20 0 40"/></body>
    <body name="other" pos=".2 0 0"><freejoint/><geom size=".01"/></body>
  </worldbody>
  <sensor>
    <insidesite site="zone" objtype="geom" objname="g"/>
    <insidesite site="ball" objtype="xbody" objname="mover"/>
    <insidesite site="carried" objtype="body" objname="other"/>
  </sensor>
</mujoco>
"""


def test_inside_meshes():
    m = mujoco.MjModel.from_xml_string(XML)
    d, worlds = mujoco.MjData(m), 400
    engine = Engine(m, worlds, device="cpu")
    rng = np.random.default_rng(0)
    qpos = np.tile(m.qpos0, (worlds, 1))
    expected = np.zeros((worlds, 3))
    for w in range(worlds):
        qpos[w, :3] = [0.15, 0.25, 0.4] + rng.uniform(-0.25, 0.25, 3)
        qpos[w, 3:7] = rng.normal(size=4)
        qpos[w, 7:10] = qpos[w, :3] + rng.uniform(-0.3, 0.3, 3)
        d.qpos[:] = qpos[w]
        mujoco.mj_forward(m, d)
        expected[w] = d.sensordata
    engine.write("qpos", qpos)
    engine.forward()
    assert np.array_equal(engine.read("sensordata"), expected)
    assert np.all(expected.sum(axis=0) > 10) and np.all(expected.sum(axis=0) < 390)


SHAPES = {"sphere": (0.3,), "capsule": (0.15, 0.3), "ellipsoid": (0.3, 0.2, 0.4), "cylinder": (0.25, 0.3),
          "box": (0.2, 0.3, 0.25), "mesh": ()}  # fmt: skip
LARGE, SMALL = "0 0 0  .5 0 0  0 .5 0  0 0 .6  .45 .45 .4", "0 0 0  .2 0 0  0 .2 0  0 0 .3  .15 .15 .2"


def enclosing() -> mujoco.MjModel:
    """Sites of all shapes, around geoms of all shapes, small and large."""

    def shape(kind: str, scale: float, mesh: str) -> str:
        size = " ".join(str(scale * x) for x in SHAPES[kind])
        return f'type="mesh" mesh="{mesh}"' if kind == "mesh" else f'type="{kind}" size="{size}"'

    sites = "".join(f'<site name="s{k}" {shape(k, 1, "l")} pos=".1 .2 .3" quat=".9 .1 .2 .3"/>' for k in SHAPES)
    geoms = "".join(
        f'<body name="b{k}{i}"><freejoint/><geom name="g{k}{i}" {shape(k, scale, "s")}/></body>'
        for k in SHAPES for i, scale in enumerate((0.3, 0.8))
    )  # fmt: skip
    sensors = "".join(
        f'<insidesite site="s{a}" objtype="geom" objname="g{b}{i}" enclosed="true"/>'
        for a in SHAPES for b in SHAPES for i in range(2)
    )  # fmt: skip
    return mujoco.MjModel.from_xml_string(f"""
    <mujoco>
      <option><flag constraint="disable"/></option>
      <asset><mesh name="l" vertex="{LARGE}"/><mesh name="s" vertex="{SMALL}"/></asset>
      <worldbody>{sites}{geoms}</worldbody><sensor>{sensors}</sensor>
    </mujoco>""")


def support(m, kind: int, size, vertices, n: np.ndarray) -> np.ndarray:
    """How far a shape reaches along directions, in its own frame."""
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return np.full(len(n), size[0])
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return size[0] + size[1] * np.abs(n[:, 2])
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return np.linalg.norm(n * size, axis=1)
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return size[0] * np.hypot(n[:, 0], n[:, 1]) + size[1] * np.abs(n[:, 2])
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return np.abs(n) @ size
    return (n @ vertices.T).max(axis=1)


def reach(m, d, site: int, geom: int, rng) -> float:
    """How far a geom juts out of a site: the largest difference of their supports, over very many directions."""
    n = rng.normal(size=(20000, 3))
    mesh = m.geom_dataid[geom]
    mine = m.mesh_vert[m.mesh_vertadr[mesh] : m.mesh_vertadr[mesh] + m.mesh_vertnum[mesh]] if mesh >= 0 else None
    theirs = np.array([float(x) for x in LARGE.split()]).reshape(-1, 3)
    best = -np.inf
    for spread in (0.0, 0.1, 0.02, 0.004, 0.001, 0.0002):
        if spread:
            n = np.repeat(n, 500, axis=0) + spread * rng.normal(size=(500 * len(n), 3))
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        along = n @ (d.geom_xpos[geom] - d.site_xpos[site])
        along += support(m, m.geom_type[geom], m.geom_size[geom], mine, n @ d.geom_xmat[geom].reshape(3, 3))
        along -= support(m, m.site_type[site], m.site_size[site], theirs, n @ d.site_xmat[site].reshape(3, 3))
        best = max(best, along.max())
        n = n[np.argsort(along)[-40:]]
    return best


def test_enclosure_of_all_shapes():
    """The farthest point, which MuJoCo's search from one start may fall short of but never passes."""
    m = enclosing()
    d, worlds = mujoco.MjData(m), 24
    engine = StagedEngine(m, worlds, device="cpu")
    rng = np.random.default_rng(0)
    qpos, theirs = np.zeros((worlds, m.nq)), np.zeros((worlds, m.nsensor))
    for w in range(worlds):
        for b in range(m.nbody - 1):
            qpos[w, 7 * b : 7 * b + 3] = [0.1, 0.2, 0.3] + rng.uniform(-0.3, 0.3, 3) * (0.4 if w % 2 else 1.0)
            turn = rng.normal(size=4)
            qpos[w, 7 * b + 3 : 7 * b + 7] = turn / np.linalg.norm(turn)
        d.qpos[:] = qpos[w]
        mujoco.mj_forward(m, d)
        theirs[w] = d.sensordata
    engine.write("qpos", qpos)
    engine.forward()
    ours = engine.read("sensordata")
    assert ours.min() > -1.0 and (ours < 0).sum() > 50 and (ours > 0).sum() > 50
    assert (ours > theirs - 1e-6).all()
    assert (np.abs(ours - theirs) < 1e-4).mean() > 0.85
    for i in range(0, m.nsensor, 2):
        w = i % worlds
        d.qpos[:] = qpos[w]
        mujoco.mj_forward(m, d)
        np.testing.assert_allclose(ours[w, i], reach(m, d, m.sensor_refid[i], m.sensor_objid[i], rng), atol=5e-5)


def test_enclosure_of_bodies_subtrees_and_sites():
    m = mujoco.MjModel.from_xml_string("""
    <mujoco>
      <worldbody>
        <site name="zone" type="box" size="1 1 1"/>
        <body name="b"><freejoint/><geom size=".1"/><geom size=".2" pos=".3 0 0"/>
          <site name="z" size=".05" pos="0 .4 0"/>
          <body name="k" pos=".5 0 0"><joint/><geom type="capsule" size=".1 .2"/></body></body>
      </worldbody>
      <sensor>
        <insidesite site="zone" objtype="body" objname="b" enclosed="true"/>
        <insidesite site="zone" objtype="xbody" objname="b" enclosed="true"/>
        <insidesite site="zone" objtype="site" objname="z" enclosed="true" cutoff=".3"/>
      </sensor>
    </mujoco>""")
    d = mujoco.MjData(m)
    engine = StagedEngine(m, 1, device="cpu")
    for x in (0.0, 0.5, 0.9):
        d.qpos[0] = x
        mujoco.mj_forward(m, d)
        engine.write("qpos", d.qpos)
        engine.forward()
        np.testing.assert_allclose(engine.read("sensordata")[0], d.sensordata, atol=1e-6)
