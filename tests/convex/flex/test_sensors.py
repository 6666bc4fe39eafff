"""Sensors that feel flexes: contacts of the bodies that bear them, touch, and forces that leave them out, as MuJoCo."""

import copy

import mujoco
import numpy as np
import pytest

from tests.conformance.dynamics import make_engine, put_states

ALL = "found force torque dist pos normal tangent linvel angvel"
SIZE, STEP = 3, 0.06


def sheet() -> tuple[str, str]:
    """Bodies with sites, and a flex of triangles between them."""
    names = [f"v{i}{j}" for i in range(SIZE) for j in range(SIZE)]
    slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    bodies = "".join(
        f'<body name="{name}" pos="{STEP * (k // SIZE)} {STEP * (k % SIZE)} .0{k // SIZE + k % SIZE + 2}">{slides}'
        f'<geom size=".001" mass=".02" contype="0" conaffinity="0"/><site name="s{name}" size=".04"/></body>'
        for k, name in enumerate(names)
    )
    corner = [SIZE * i + j for i in range(SIZE - 1) for j in range(SIZE - 1)]
    elements = " ".join(f"{a} {a + 1} {a + SIZE + 1} {a} {a + SIZE + 1} {a + SIZE}" for a in corner)
    return bodies, f'<flex name="f" dim="2" radius=".02" body="{" ".join(names)}" element="{elements}"/>'


def contact_sensors(bodies: list[str]) -> str:
    found = ""
    for name in bodies:
        for reduce in ("none", "mindist", "maxforce"):
            found += f'<contact body1="{name}" num="3" data="{ALL}" reduce="{reduce}"/>'
        found += f'<contact body1="{name}" num="1" data="found force torque pos" reduce="netforce"/>'
        found += f'<contact subtree1="{name}" num="2" data="found force pos linvel"/>'
        found += f'<contact body2="{name}" num="2" data="found force normal linvel angvel"/>'
    return found + '<touch site="top"/><force site="top"/><torque site="top"/><contact site="top" data="found linvel"/>'


def document(bodies: str, deformable: str, sensors: str, cone: str) -> str:
    return f"""<mujoco><option timestep=".002" cone="{cone}"/><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
      {bodies}<body name="box" pos=".05 .05 .1"><freejoint/><geom type="box" size=".05 .04 .03" mass=".2"/>
      <site name="top" size=".06"/></body></worldbody>{deformable}<sensor>{sensors}</sensor></mujoco>"""


def by_hand(cone: str) -> str:
    bodies, flex = sheet()
    sensors = contact_sensors(["v00", "v11", "v21", "box"]) + '<touch site="sv11"/><touch site="sv00"/>'
    return document(bodies, f"<deformable>{flex}</deformable>", sensors, cone)


def soft(dof: str, names: list[str], pin: str, cone: str) -> str:
    inside = f'{pin}<elasticity young="2e4" poisson=".2" damping=".002"/><contact selfcollide="none"/>'
    flexcomp = (
        f'<flexcomp name="f" type="box" dim="3" count="3 3 3" spacing=".05 .05 .05" radius=".005" mass=".2" '
        f'dof="{dof}">{inside}</flexcomp>'
    )
    held = f'<body name="parent" pos=".05 .05 .03">{flexcomp}</body>'
    return document(held, "", contact_sensors([*names, "box"]), cone).replace('pos=".05 .05 .1"', 'pos=".05 .05 .105"')


@pytest.mark.parametrize(
    "text",
    [
        by_hand("pyramidal"),
        by_hand("elliptic"),
        soft("trilinear", ["f_0_0_0", "f_1_0_1"], "", "pyramidal"),
        soft("full", ["f_0", "f_3"], "", "elliptic"),
        soft("full", ["f_5", "parent"], '<pin id="0 1 2 3"/>', "pyramidal"),
        soft("trilinear", ["f_0_0_1", "parent"], '<pin id="0"/>', "elliptic"),
    ],
    ids=["sheet", "elliptic sheet", "trilinear", "solid", "pinned", "pinned trilinear"],
)
def test_sensors_feel_what_touches_a_flex(text):
    m = mujoco.MjModel.from_xml_string(text)
    engine, d = make_engine(m), mujoco.MjData(m)
    d.qvel[:] = 0.1 * np.random.default_rng(0).normal(size=m.nv)
    felt, of_flex = 0, (m.sensor_type == int(mujoco.mjtSensor.mjSENS_CONTACT)) & (m.sensor_objid != m.body("box").id)
    for k in range(45):
        mujoco.mj_step(m, d)
        if k % 11:
            continue
        theirs = copy.copy(d)
        put_states(engine, [theirs])
        engine.forward()
        mujoco.mj_forward(m, theirs)
        ours = engine.read("sensordata")[0]
        for i, (at, size) in enumerate(zip(m.sensor_adr, m.sensor_dim, strict=True)):
            wanted = theirs.sensordata[at : at + size]
            assert np.abs(ours[at : at + size] - wanted).max() < 1e-3 * max(1.0, np.abs(wanted).max()), i
            felt += bool(of_flex[i] and np.abs(wanted).max() > 0)
    assert felt > 5
