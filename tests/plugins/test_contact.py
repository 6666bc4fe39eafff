"""Plugins that take part in contact, against MuJoCo's own: signed distance fields and the touch grid."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema import Simulation
from kinema.compile import compile_model
from kinema.convex.engine import Engine
from kinema.errors import BuildError, CompileError, PluginError
from kinema.plugins import find_plugin
from kinema.plugins.distance import distances, gradient_of
from kinema.plugins.mesh import field_mesh
from tests.plugins import samples  # noqa: F401 (registers plugins)
from tests.plugins.scenes import GRID, REACH, REST, RINGS, SHAPES, touching


@pytest.fixture(scope="module")
def scene():
    m = mujoco.MjModel.from_xml_string(touching())
    return m, Engine(m, 1, device="cpu", nconmax=400)


def test_contacts_are_those_of_mujoco(scene):
    m, engine = scene
    d = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(6):
        d.qpos[:] = m.qpos0
        for i, s in enumerate(SHAPES):
            centre, away = np.array([6 * i, 0, 9]), rng.normal(size=3)
            quat = rng.normal(size=4)
            d.qpos[14 * i : 14 * i + 7] = [*centre, *(quat / np.linalg.norm(quat))]
            d.qpos[14 * i + 7 : 14 * i + 10] = centre + away / np.linalg.norm(away) * REACH[s]
        mujoco.mj_forward(m, d)
        engine.write("qpos", d.qpos)
        engine.forward()
        here = engine.read("contact_address")[0][: int(engine.read("ncon")[0])] >= 0  # those that graze press nothing
        there = np.asarray(d.contact.efc_address) >= 0
        assert here.sum() == there.sum()
        found += int(here.sum())
        pair = np.asarray(engine.read("contact_geom")[0][: len(here)][here])
        assert np.array_equal(pair, d.contact.geom[there])
        # descent amplifies roundoff where fields are flat: most points agree to float32, all nearly
        apart = np.abs(engine.read("contact_dist")[0][: len(here)][here] - d.contact.dist[there])
        assert np.median(apart) < 2e-6 and np.mean(apart < 1e-4) > 0.95
    assert found > 300


def test_rest_heights_and_touch(scene):
    m, engine = scene
    d = mujoco.MjData(m)
    engine.reset()
    for _ in range(5):
        mujoco.mj_step(m, d, 60)
        engine.step(60)
    height = engine.read("qpos")[0][: 14 * 5].reshape(5, 14)[:, 2]
    np.testing.assert_allclose(height, d.qpos[: 14 * 5].reshape(5, 14)[:, 2], atol=2e-5)
    np.testing.assert_allclose(height, list(REST.values()), atol=2e-4)
    rings = engine.read("qpos")[0, 14 * 5 : 14 * 6].reshape(2, 7)[:, 2]
    np.testing.assert_allclose(rings, d.qpos[14 * 5 : 14 * 6].reshape(2, 7)[:, 2], atol=2e-5)
    np.testing.assert_allclose(rings, RINGS, atol=5e-5)
    theirs, ours = d.sensordata.reshape(6, -1), engine.read("sensordata")[0].reshape(6, -1)
    assert np.array_equal(theirs != 0, np.abs(ours) > 0)
    np.testing.assert_allclose(ours, theirs, atol=1e-3 * np.abs(theirs).max())
    assert ours[0].sum() == pytest.approx(theirs[0].sum(), rel=2e-4)
    assert ours[0].sum() == pytest.approx(2 * 9.81 * np.cos(np.radians(15)), rel=1e-3)


# ---------------------------------------------------------------------------------------------- fields


def gradients(name: str, numbers: list[float], points: np.ndarray) -> np.ndarray:
    function = gradient_of(find_plugin(name))

    @wp.kernel(enable_backward=False, module="unique")
    def run(x: wp.array(dtype=wp.vec3d), parameters: wp.array(dtype=float), out: wp.array(dtype=wp.vec3d)):
        i = wp.tid()
        out[i] = function(x[i], parameters)

    out = wp.zeros(len(points), dtype=wp.vec3d, device="cpu")
    inputs = [wp.array(points, dtype=wp.vec3d, device="cpu"), wp.array(numbers, dtype=float, device="cpu")]
    wp.launch(run, len(points), inputs, [out], device="cpu")
    return out.numpy()


@pytest.mark.parametrize(("name", "numbers"), [("test.sdf.cone", [0.5, 0.4]), ("mujoco.sdf.torus", [0.35, 0.15])])
def test_gradients_by_autodiff_and_given(name, numbers):
    points = np.random.default_rng(1).uniform(-0.6, 0.6, (200, 3))
    step = 1e-3 if name.startswith("test") else 1e-6
    ahead, behind = (
        np.stack([distances(find_plugin(name), numbers, points + side * step * e) for e in np.eye(3)], axis=1)
        for side in (1, -1)
    )
    numeric = (ahead - behind) / (2 * step)
    close = np.linalg.norm(gradients(name, numbers, points) - numeric, axis=1) < 1e-2  # except across creases
    assert close.mean() > 0.97


def test_mesh_of_a_field():
    vert, face = field_mesh("test.sdf.cone", {"slope": "0.5", "height": "0.4"})
    corner = vert[face].astype(float)
    volume = np.einsum("ij,ij->", corner[:, 0], np.cross(corner[:, 1], corner[:, 2])) / 6
    assert volume == pytest.approx(np.pi * 0.4**2 * 0.8 / 3, rel=5e-3)


ONE = """<mujoco><extension><plugin plugin="{plugin}"/></extension>
  <asset><mesh name="m" {mesh}><plugin plugin="{plugin}">{config}</plugin></mesh></asset>
  <worldbody><body><freejoint/><geom type="sdf" mesh="m"><plugin plugin="{plugin}">{config}</plugin></geom></body>
  </worldbody></mujoco>"""


def test_a_ring_compiled_here_is_that_of_mujoco():
    xml = ONE.format(plugin="mujoco.sdf.torus", config='<config key="radius2" value=".2"/>', mesh="")
    m, h = mujoco.MjModel.from_xml_string(xml), compile_model(xml)
    assert h.nmeshvert == m.nmeshvert and h.nmeshface == m.nmeshface
    for name in ("body_mass", "body_inertia", "geom_aabb", "geom_rbound", "body_ipos", "geom_pos"):
        np.testing.assert_allclose(getattr(h, name), getattr(m, name), rtol=1e-5, atol=1e-6, err_msg=name)
    engine = Engine(m, 1, device="cpu")
    assert engine.extension.fields.parameters[0].tolist() == [0.35, 0.2]


def test_shapes_that_differ_per_world(tmp_path):
    """A ball on a ring that lies in the air, fixed: each world's ring is that of a model compiled with its radii."""
    xml = """<mujoco><option timestep=".002"/>
      <extension><plugin plugin="mujoco.sdf.torus"><instance name="t">{}</instance></plugin></extension>
      <asset><mesh name="t"><plugin instance="t"/></mesh></asset>
      <worldbody><geom type="sdf" mesh="t"><plugin instance="t"/></geom>
        <body pos="0 0 .4"><joint type="slide" axis="0 0 1"/><geom size=".3"/></body></worldbody></mujoco>"""
    config = '<config key="radius1" value="{}"/><config key="radius2" value="{}"/>'
    radii = np.array([[0.35, 0.15], [0.3, 0.12], [0.25, 0.2]])
    sim = Simulation(xml.format(""), 3, device="cpu")
    sim.set_plugin_parameter("mujoco.sdf.torus", "radius1", radii[:, :1])
    sim.set_plugin_parameter("mujoco.sdf.torus", "radius2", radii[:, 1:])
    engine = sim.engine
    np.testing.assert_allclose(engine.extension.fields.half[:2, 0], [[np.nan] * 3, [0.42, 0.42, 0.12]], rtol=1e-6)
    engine.step(400)
    for world, (ring, tube) in enumerate(radii):
        m = mujoco.MjModel.from_xml_string(xml.format(config.format(ring, tube)))
        d = mujoco.MjData(m)
        mujoco.mj_step(m, d, 400)
        assert d.ncon > 3
        assert engine.read("qpos")[world, 0] == pytest.approx(d.qpos[0], abs=3e-4)
        assert 0.4 + d.qpos[0] == pytest.approx(np.sqrt((0.3 + tube) ** 2 - ring**2), abs=2e-3)
    assert np.ptp(engine.read("qpos")) > 0.05
    with pytest.raises(PluginError, match="plugin mujoco.sdf.torus: radius2=-1: must be above 0"):
        sim.set_plugin_parameter("mujoco.sdf.torus", "radius2", -1.0)
    with pytest.raises(BuildError, match=r"radius2 of shape \(7, 1\) does not fit"):
        sim.set_plugin_parameter("mujoco.sdf.torus", "radius2", np.ones((7, 1)))
    alone = sim.copy_of_world(2)
    alone.step(400)
    assert np.array_equal(alone.d.qpos[0], sim.d.qpos[2])
    sim.save(tmp_path / "rings.npz")
    restored = Simulation.restore(tmp_path / "rings.npz", device="cpu")
    for s in (sim, restored):
        s.step(10)
    assert np.array_equal(restored.d.qpos, sim.d.qpos)


@pytest.mark.parametrize(
    ("plugin_name", "config", "mesh", "reason"),
    [
        ("mujoco.sdf.torus", "", 'scale="2 2 2"', "scale is not compatible with SDFs"),
        ("mujoco.sdf.torus", '<config key="radius1" value="x"/>', "", "radius1='x'"),
        ("mujoco.pid", "", "", "does not support signed distance fields"),
    ],
)
def test_refused(plugin_name, config, mesh, reason):
    with pytest.raises(CompileError, match=reason):
        compile_model(ONE.format(plugin=plugin_name, config=config, mesh=mesh))


def test_touch_grid_belongs_on_a_site():
    xml = f"""<mujoco><extension><plugin plugin="mujoco.sensor.touch_grid"/></extension>
        <worldbody><body name="s"><geom size=".1"/></body></worldbody>
        <sensor>{GRID.replace('objtype="site"', 'objtype="body"')}</sensor></mujoco>"""
    with pytest.raises(PluginError, match="must be attached to a site"):
        Engine(compile_model(xml), 1, device="cpu")


@pytest.mark.parametrize("site", ["palm", "pad"])
def test_touch_grid_on_a_pad_that_is_fixed_to_a_body(site):
    """Forces are those on what the site is part of, which may be several bodies, first or second of a contact."""
    here = {name: '<site name="s" pos="0 0 .05"/>' if name == site else "" for name in ("palm", "pad")}
    xml = f"""<mujoco><extension><plugin plugin="mujoco.sensor.touch_grid"/></extension><worldbody>
      <geom type="plane" size="1 1 .1"/>
      <body name="palm" pos="0 0 .148"><freejoint/>{here["palm"]}<geom type="box" size=".1 .1 .05"/>
        <body name="pad" pos="0 0 -.1">{here["pad"]}<geom type="box" size=".04 .05 .05"/></body></body>
      <body pos="0 0 .242"><freejoint/><geom size=".05"/></body></worldbody><sensor>{GRID}</sensor></mujoco>"""
    m = mujoco.MjModel.from_xml_string(xml)
    d, engine = mujoco.MjData(m), Engine(m, 1, device="cpu")
    mujoco.mj_forward(m, d)
    engine.forward()
    assert d.ncon == 5 and np.abs(d.sensordata).max() > 1
    np.testing.assert_allclose(engine.read("sensordata")[0], d.sensordata, atol=1e-3 * np.abs(d.sensordata).max())
