"""Documents with keyframes, a table built by hand and free objects in one world: as the one document that holds all."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema import ModelBuilder, Simulation, SolverConvex
from kinema.errors import BuildError
from kinema.model import ShapeConfig
from kinema.model.transform import quat_rotate

OBJECTS = 6
STEPS = 40
TURN = (0.0, 0.0, np.sin(0.3), np.cos(0.3))
TABLE = '<geom type="box" size=".6 .6 .05" pos="0 0 .35"/>'


def _arm(model, length):
    """A document of its own: names are those of the other one, and its foot stands still in the table."""
    inner = f"""<body name="foot" pos="0 0 .42"><geom name="stand" size=".05"/></body>
    <body name="link" pos="0 0 .6"><joint name="turn" axis="0 0 1" damping=".5"/>
      <geom name="upper" type="capsule" fromto="0 0 0 {length} 0 0" size=".04"/>
      <body name="tip" pos="{length} 0 0"><joint name="lift" axis="0 1 0" range="-90 90" damping=".2"/>
        <geom name="fore" type="capsule" fromto="0 0 0 .2 0 0" size=".03"/><site name="end" pos=".2 0 0"/>
      </body></body>"""
    tail = '<position name="drive" joint="turn" kp="20"/>'
    return inner, tail, f"""<mujoco model="{model}"><option timestep=".002" integrator="implicitfast"/>
      <worldbody>{inner}</worldbody><actuator>{tail}</actuator><sensor><framepos objtype="site" objname="end"/></sensor>
      <keyframe><key name="home" qpos=".4 -.3" ctrl=".4"/></keyframe></mujoco>"""


def _objects():
    bodies = "".join(
        f'<body name="o{k}" pos="{0.25 * (k % 3) - 0.25} {0.25 * (k // 3) - 0.1} .46"><freejoint name="f{k}"/>'
        f'<geom type="{"box" if k % 2 else "sphere"}" size=".05 .05 .05"/></body>' for k in range(OBJECTS)
    )  # fmt: skip
    return bodies, f"""<mujoco model="objects"><worldbody>{bodies}</worldbody></mujoco>"""


def _one_document():
    first, second, (bodies, _) = _arm("a", 0.3), _arm("b", 0.4), _objects()
    quat = f"{TURN[3]} 0 0 {TURN[2]}"
    renamed = second[0].replace('name="', 'name="b/')
    world = f"""{first[0]}<frame pos="1.5 .2 0" quat="{quat}">{renamed}</frame>{bodies}
      <geom type="plane" size="0 0 1"/>{TABLE}"""
    drives = first[1] + second[1].replace('"drive"', '"b/drive"').replace('"turn"', '"b/turn"')
    return f"""<mujoco><option timestep=".002" integrator="implicitfast"/><worldbody>{world}</worldbody>
      <actuator>{drives}</actuator></mujoco>"""


@pytest.fixture(scope="module")
def scene():
    """Two worlds of it, and the solver."""
    template = ModelBuilder()
    cfg = ShapeConfig(ke=0.0, kd=0.0)
    template.add_mjcf(_arm("a", 0.3)[2])
    template.add_mjcf(_arm("b", 0.4)[2], xform=((1.5, 0.2, 0.0), TURN))
    template.add_mjcf(_objects()[1])
    place = wp.transform((0.0, 0.0, 0.35), wp.quat_identity())
    template.add_shape_box(-1, xform=place, hx=0.6, hy=0.6, hz=0.05, cfg=cfg)
    main = ModelBuilder()
    main.add_ground_plane(cfg=cfg)
    main.replicate(template, 2, spacing=(4.0, 0.0, 0.0))
    model = main.finalize(device="cpu")
    return model, SolverConvex(model)


def test_names_and_keyframes(scene):
    host = scene[1].batches[0].source.host
    assert host.names("joint")[:4] == ["turn", "lift", "b/turn", "b/lift"]
    assert host.names("key") == ["home", "b/home"] and host.names("actuator") == ["drive", "b/drive"]
    assert host.names("body")[-1] != "world" and "o5" in host.names("body")
    start = np.asarray(host.qpos0)
    home, other = np.asarray(host.key_qpos)
    np.testing.assert_allclose(home[:4], [0.4, -0.3, 0, 0])
    np.testing.assert_allclose(other[:4], [0, 0, 0.4, -0.3])
    np.testing.assert_allclose(home[4:], start[4:])


def test_runs_as_one_document(scene):
    model, solver = scene
    m = mujoco.MjModel.from_xml_string(_one_document())
    d = mujoco.MjData(m)
    d.ctrl[:] = (0.4, -0.6)
    state, control = model.state(), model.control()
    control.mujoco.ctrl.assign(np.tile(d.ctrl, 2).astype(np.float32))
    for _ in range(STEPS):
        solver.step(state, state, control)
    mujoco.mj_step(m, d, STEPS)
    assert solver.trouble() == {} and d.ncon >= OBJECTS
    mujoco.mj_kinematics(m, d)
    places = model.world_classes[0].xforms
    x = state.body_q.numpy().astype(float).reshape(2, -1, 7)
    for world in range(2):
        local = quat_rotate(places[world, 3:] * [-1, -1, -1, 1], x[world, :, :3] - places[world, :3])
        np.testing.assert_allclose(local, d.xpos[1:], atol=3e-4)
    assert np.abs(d.qpos[:4]).max() > 0.005


def test_is_seen(scene):
    sim = Simulation(scene[1])
    sim.reset(keyframe="b/home")
    np.testing.assert_allclose(sim.d.qpos[0, :4], [0, 0, 0.4, -0.3], atol=1e-6)
    assert sim.joint("b/turn").qpos.shape[0] == 2
    assert np.ptp(np.asarray(sim.render(width=40, height=30), float)) > 0


def test_options_that_disagree_are_refused_where_they_are_added():
    builder = ModelBuilder()
    builder.add_mjcf(_arm("a", 0.3)[2])
    with pytest.raises(BuildError, match="option timestep is .01 in this document but .002"):
        builder.add_mjcf(_arm("b", 0.4)[2].replace('timestep=".002"', 'timestep=".01"'))
    assert builder.body_count == 3, "nothing of it was added"
