"""C and D of every kind of sensor that MJCF has, against differences of MuJoCo in double precision."""

import mujoco
import numpy as np
import warp as wp

from kinema import Simulation
from kinema.gradients import transcribe
from kinema.gradients.tangent_kernels import in_phases, part_kernel_of_warps
from kinema.mjcf import schema

from ..conformance.gradients import staged_tangents
from ..conformance.staged import StagedEngine

BODY = """
<mujoco>
  <option timestep="0.003" integrator="implicitfast" magnetic=".3 .1 -.5" tolerance="0" iterations="100"/>
  <asset><mesh name="tet" vertex="0 0 0 .2 0 0 0 .2 0 0 0 .2"/>
    <hfield name="h" nrow="4" ncol="4" size="2 2 .1 .1"
      elevation="0 .1 .3 .2 .2 .4 .1 0 .3 .2 .5 .1 0 .1 .3 .2"/></asset>
  <default><geom condim="4"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <geom name="hills" type="hfield" hfield="h" pos="0 0 -.05" contype="0" conaffinity="0"/>
    <geom name="wall" type="mesh" mesh="tet" pos="1.2 .1 .7" contype="0" conaffinity="0"/>
    <geom name="can" type="cylinder" size=".1 .2" pos="1.0 .3 .7" contype="0" conaffinity="0"/>
    <geom name="egg" type="ellipsoid" size=".1 .2 .15" pos=".5 -.6 .7" contype="0" conaffinity="0"/>
    <camera name="fixed" pos="0 -2 1" xyaxes="1 0 0 0 .5 1" resolution="8 6"/>
    <body name="a" pos="0 0 .8">
      <joint name="j" axis="0 1 0" damping=".1"/>
      <joint name="k" axis="0 0 1" damping=".1" range="-3 2.9" limited="true"/>
      <geom name="ga" type="capsule" fromto="0 0 0 .3 0 0" size=".03"/><site name="s0" pos=".1 0 .05"/>
      <body name="b" pos=".3 0 0">
        <joint name="ball" type="ball" damping=".1"/><geom name="gb" type="box" size=".1 .03 .02" pos=".1 0 0"/>
        <site name="s" pos=".2 .01 0" euler="10 70 3" size=".3"/><site name="t" pos="0 0 .04"/>
        <camera name="cam" pos=".1 0 .1" resolution="3 2"/>
        <site name="down" pos="0 0 .1" zaxis="0 0 -1"/><site name="far" pos="0 0 .1" zaxis=".2 .5 -1"/>
        <site name="to_can" pos="0 .3 -.1" zaxis="1 0 .02"/><site name="to_egg" pos="0 0 -.1" zaxis=".2 -.6 .02"/>
        <site name="to_mesh" pos="0 0 -.05" zaxis=".9 .16 -.02"/><site name="to_ball" pos="0 .4 0" zaxis=".2 0 -.7"/>
      </body>
    </body>
    <body name="loose" pos=".5 .4 .098"><freejoint/><geom name="round" size=".1"/><site name="pad" size=".15"/></body>
  </worldbody>
  <tendon><spatial name="ten" limited="true" range="0 .19"><site site="s0"/><site site="t"/></spatial></tendon>
  <actuator><position name="m" joint="j" kp="4"/><motor name="mt" tendon="ten" gear=".3"/></actuator>
  <sensor>{}</sensor>
</mujoco>
"""
SENSORS = {
    "touch": ['site="pad"'], "accelerometer": ['site="s"', 'site="s" cutoff="1"'], "velocimeter": ['site="s"'],
    "gyro": ['site="s"'], "force": ['site="s0"'], "torque": ['site="s0"'], "magnetometer": ['site="s"'],
    "camprojection": ['camera="fixed" site="s"'], "jointpos": ['joint="j"'], "jointvel": ['joint="j"'],
    "tendonpos": ['tendon="ten"'], "tendonvel": ['tendon="ten"'], "actuatorpos": ['actuator="m"'],
    "actuatorvel": ['actuator="mt"'], "actuatorfrc": ['actuator="m"'], "jointactuatorfrc": ['joint="j"'],
    "tendonactuatorfrc": ['tendon="ten"'], "ballquat": ['joint="ball"'], "ballangvel": ['joint="ball"'],
    "jointlimitpos": ['joint="k"'], "jointlimitvel": ['joint="k"'], "jointlimitfrc": ['joint="k"'],
    "tendonlimitpos": ['tendon="ten"'], "tendonlimitvel": ['tendon="ten"'], "tendonlimitfrc": ['tendon="ten"'],
    "framepos": ['objtype="site" objname="s"', 'objtype="body" objname="b" reftype="body" refname="loose"'],
    "framequat": ['objtype="xbody" objname="b"'], "framexaxis": ['objtype="geom" objname="gb"'],
    "frameyaxis": ['objtype="camera" objname="cam"'], "framezaxis": ['objtype="site" objname="s"'],
    "framelinvel": ['objtype="site" objname="s" reftype="body" refname="loose"'],
    "frameangvel": ['objtype="site" objname="s"'], "framelinacc": ['objtype="site" objname="s"'],
    "frameangacc": ['objtype="site" objname="s"'], "subtreecom": ['body="a"'], "subtreelinvel": ['body="a"'],
    "subtreeangmom": ['body="a"'], "e_potential": [""], "clock": [""], "user": ['dim="2"'],
    "insidesite": ['site="s" objtype="body" objname="b"'],
    "distance": ['geom1="gb" geom2="round" cutoff="2"', 'geom1="gb" geom2="wall" cutoff="3"'],
    "normal": ['geom1="ga" geom2="round" cutoff="2"'], "fromto": ['body1="b" body2="loose" cutoff="2"'],
    "contact": ['geom1="round" geom2="floor" num="1" data="found force dist pos normal"'],
    "rangefinder": [*(f'site="{name}" data="dist point normal"'
                      for name in ("down", "far", "to_can", "to_egg", "to_mesh", "to_ball")), 'camera="cam"'],
}  # fmt: skip
"""How each is asked for, once or more."""

ELSEWHERE = {
    "e_kinetic": "mjd_transitionFD leaves it as it was where velocities move; compared with the momentum below",
    "tactile": "has no derivative to speak of: tests/convex/test_sensors_tactile.py",
    "plugin": "plugins have tests of their own",
}
STILL = {"clock", "user", "insidesite"}
"""What no small motion changes."""


def linearized(xml: str):
    """The model, MuJoCo's C and D, and ours."""
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    d.qpos[1], d.qvel[:], d.ctrl[:] = 0.06, 0.3 * np.random.default_rng(2).normal(size=m.nv), [0.3, 0.2]
    mujoco.mj_step(m, d, 3)
    sim = Simulation(xml, worlds=2)
    sim.set_state(qpos=d.qpos, qvel=d.qvel, ctrl=d.ctrl)
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:], d.ctrl[:] = sim.d.qpos[1], sim.d.qvel[1], sim.d.ctrl[1]
    nx = 2 * m.nv
    A, B, C, D = (np.zeros((rows, cols)) for rows in (nx, m.nsensordata) for cols in (nx, m.nu))
    mujoco.mjd_transitionFD(m, d, 1e-6, True, A, B, C, D)
    found = sim.linearize()
    return m, d, np.hstack([C, D]), np.hstack([found.C[1], found.D[1]])


def test_every_sensor_of_mjcf_is_here():
    kinds = set(schema.MUJOCO.children["sensor"].children)
    assert kinds == SENSORS.keys() | ELSEWHERE.keys()


def test_every_sensor_has_its_derivatives():
    elements = [(kind, f"<{kind} {text}/>") for kind, texts in SENSORS.items() for text in texts]
    m, d, expected, found = linearized(BODY.format("".join(text for _, text in elements)))
    still = []
    for i, (kind, text) in enumerate(elements):
        rows = slice(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i])
        scale = np.abs(expected[rows]).max()
        still += [kind] if scale < 1e-6 else []
        assert np.abs(expected[rows] - found[rows]).max() <= 1e-3 * max(scale, 1e-2), text
    assert set(still) == STILL


def test_kinetic_energy_moves_with_momentum():
    m, d, _, found = linearized(BODY.format("<e_kinetic/>"))
    mujoco.mj_forward(m, d)
    momentum = np.zeros(m.nv)
    mujoco.mj_mulM(m, d, momentum, d.qvel)
    np.testing.assert_allclose(found[0, m.nv : 2 * m.nv], momentum, atol=1e-4 * np.abs(momentum).max())


def test_rays_in_duals_compile_for_cuda(tmp_path):
    engine = StagedEngine(mujoco.MjModel.from_xml_string(BODY.format('<rangefinder site="to_mesh"/>')), nworld=1)
    transcribe.install()
    chosen = [stage for stage in staged_tangents(engine, sensors=True).stages if "range" in stage.func.key]
    assert chosen
    kernel = part_kernel_of_warps(in_phases(chosen), 8)
    wp.compile_aot_module(kernel.module, arch=90, module_dir=str(tmp_path), use_ptx=True)
    assert list(tmp_path.glob("*.ptx"))
