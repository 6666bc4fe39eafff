"""Models for tests of plugins, as text: no test, no pytest, so that they can be run anywhere (cuda_check.py).

workshop    PID servos, motors, a stepping activation, drag, a cable: all that needs no contact
touching    every distance field, and a touch grid
robot       two joints, driven by one plugin
sheet       particles that a shell holds together
"""

import io

import numpy as np

PID = {
    "P": (dict(kp=40), "", 0.071021512),
    "PD": (dict(kp=40, kd=4), "", 0.256525445),
    "PID, imax 3": (dict(kp=40, kd=4, ki=40, imax=3), 'actdim="1"', 0.332082502),
    "PID": (dict(kp=40, kd=4, ki=40), 'actdim="1"', 0.483925976),
    "PID, slew": (dict(kp=40, kd=4, ki=40, slewmax=0.5), 'actdim="2"', 0.469847166),
    "PID, slew, imax 1": (dict(kp=40, kd=4, ki=40, slewmax=0.5, imax=1), 'actdim="2"', 0.271294124),
    "PID, filter": (dict(kp=40, kd=4, ki=40), 'actdim="2" dyntype="filter" dynprm="0.1"', 0.474348056),
    "PID, filterexact": (dict(kp=40, kd=4, ki=40), 'actdim="2" dyntype="filterexact" dynprm="0.1"', 0.473399569),
}
"""Configuration, attributes, and where a 1 kg slide is after 2 s (facts/plugins.md)."""

LINKS, LINK, RADIUS, BEND, LOAD = 10, 0.05, 0.02, 5e5, 0.01
MOTOR = dict(resistance=2.0, constant=0.3, alpha=0.004, thermal_resistance=1.5, heat_capacity=4.0, ambient=20.0)


def config(**values) -> str:
    """<config> elements."""
    return "".join(f'<config key="{key}" value="{value}"/>' for key, value in values.items())


def slides() -> tuple[str, str]:
    """Bodies and actuators of the PID variants."""
    bodies = actuators = ""
    for i, (values, attributes, _) in enumerate(PID.values()):
        bodies += f"""<body pos="{i} 0 0"><joint name="pid{i}" type="slide" axis="0 0 1"/><geom size=".1" mass="1"/>
            </body>"""
        actuators += f'<plugin plugin="mujoco.pid" joint="pid{i}" {attributes}>{config(**values)}</plugin>'
    return bodies, actuators


def links(k: int = 0) -> str:
    """A cantilever: the first link fixed, the others on ball joints."""
    if k > LINKS:
        return '<site name="tip"/>'
    joint = '<joint type="ball" damping=".3"/>' if k else ""
    shape = f'<geom type="capsule" size="{RADIUS}" fromto="0 0 0 {LINK} 0 0" density="1000"/>'
    pos = f"{LINK} 0 0" if k else "0 5 0"
    return f'<body name="link{k}" pos="{pos}" gravcomp="1">{joint}{shape}<plugin instance="rod"/>{links(k + 1)}</body>'


def workshop() -> str:
    """Every plugin that needs no contact, each on a body of its own."""
    bodies, actuators = slides()
    return f"""<mujoco>
      <option timestep="0.002"><flag constraint="disable"/></option>
      <extension>
        <plugin plugin="mujoco.pid"/><plugin plugin="test.stepper"/><plugin plugin="test.speedometer"/>
        <plugin plugin="test.drag"/><plugin plugin="test.nan"/>
        <plugin plugin="kinema.dcmotor"><instance name="m">{config(**MOTOR)}</instance></plugin>
        <plugin plugin="mujoco.elasticity.cable">
          <instance name="rod">{config(twist=BEND / 2.6, bend=BEND)}</instance></plugin>
      </extension>
      <worldbody>
        {bodies}
        <body pos="0 3 0"><joint name="motor" axis="0 1 0" damping=".02"/><geom size=".1" mass="2"/></body>
        <body pos="1 3 0"><joint name="step" axis="0 1 0"/><geom size=".1" mass="1e6"/></body>
        <body pos="2 3 0"><joint name="nan" axis="0 1 0"/><geom size=".1" mass="1"/></body>
        <body pos="4 3 0"><joint name="winding" axis="0 1 0"/><geom size=".1" mass="1e6"/></body>
        <body pos="3 3 9"><joint type="slide" axis="0 0 1"/><geom size=".1" mass="1"/><site name="ball"/>
          <plugin plugin="test.drag">{config(cd=0.8)}</plugin></body>
        {links()}
      </worldbody>
      <actuator>
        {actuators}
        <plugin joint="motor" instance="m"/>
        <plugin joint="step" plugin="test.stepper" actdim="2" dyntype="integrator">{config(rate=2, limit=0.09)}
        </plugin>
        <plugin joint="nan" plugin="test.nan" ctrllimited="false"/>
        <plugin joint="winding" plugin="kinema.dcmotor" actdim="1">
          {config(resistance=2, constant=0.3, inductance=0.05, alpha=0)}</plugin>
      </actuator>
      <sensor>
        <plugin instance="m"/>
        <plugin plugin="test.speedometer" objtype="site" objname="ball">{config(gain="1 3")}</plugin>
      </sensor>
    </mujoco>"""


SHAPES = ("torus", "bowl", "gear", "nut", "bolt")
REST = {"torus": 0.149892, "bowl": 1.019698, "gear": 0.099892, "nut": 0.499887, "bolt": 0.999892}
"""Heights on a plane, from facts/plugins.md."""
RINGS = (0.149793, 0.447939)
"""Heights of a ring and of one dropped on it 0.1 beside its axis, likewise."""
REACH = {"torus": 0.45, "bowl": 1.05, "gear": 1.4, "nut": 0.55, "bolt": 0.55}
"""How far from the centre a small sphere touches each."""

GRID = """<plugin plugin="mujoco.sensor.touch_grid" objtype="site" objname="s">
  <config key="nchannel" value="6"/><config key="size" value="5 4"/><config key="fov" value="80 80"/>
  <config key="gamma" value="0.3"/></plugin>"""


def touching(more: dict[str, str] | None = None) -> str:
    """Each shape beside a sphere; a ring on a ring; a box on a tilted plane with a touch grid.

    `more` are plugins of further shapes, by a name for them.
    """
    shapes = {**{s: f"mujoco.sdf.{s}" for s in SHAPES}, **(more or {})}
    plugins = "".join(f'<plugin plugin="{p}"><instance name="{s}"/></plugin>' for s, p in shapes.items())
    meshes = "".join(f'<mesh name="{s}"><plugin instance="{s}"/></mesh>' for s in shapes)
    bodies = ""
    for i, s in enumerate(shapes):
        geom = f'<geom type="sdf" mesh="{s}" density="100"><plugin instance="{s}"/></geom>'
        bodies += f"""<body pos="{6 * i} 0 {REST.get(s, 1.0)}"><freejoint/>{geom}</body>
            <body pos="{6 * i + 3} 0 .2"><freejoint/><geom size=".2"/></body>"""
    ring = '<geom type="sdf" mesh="torus" density="100"><plugin instance="torus"/></geom>'
    return f"""<mujoco>
      <option cone="elliptic"><flag multiccd="disable"/></option>
      <extension>{plugins}<plugin plugin="mujoco.sensor.touch_grid"/></extension>
      <asset>{meshes}</asset>
      <worldbody>
        <geom type="plane" size="50 50 .1"/>
        {bodies}
        <body pos="0 6 .15"><freejoint/>{ring}</body><body pos=".1 6 .5"><freejoint/>{ring}</body>
        <geom type="box" size="1 1 .1" pos="0 -8 1.9" euler="0 15 0" condim="6" friction="2 .1 .1"/>
        <body pos="0 -8 2.12" euler="0 15 0"><freejoint/><site name="s" pos="0 0 .02"/>
          <geom type="box" size=".1 .1 .1" mass="2" condim="6" friction="2 .1 .1"/></body>
      </worldbody>
      <sensor>{GRID}</sensor>
    </mujoco>"""


BOTH = '<plugin joint="hip" instance="i"/><plugin joint="knee" instance="i" gear="2"/>'


def robot(plugin: str, actuators: str = BOTH, more: str = "", integrator: str = "Euler", **values) -> str:
    """Two links on hinges; instance `i` of a plugin with the given configuration. `more` follows the actuators."""
    return f"""<mujoco>
      <option timestep="0.005" integrator="{integrator}"><flag constraint="disable"/></option>
      <extension><plugin plugin="{plugin}"><instance name="i">{config(**values)}</instance></plugin></extension>
      <worldbody>
        <body><joint name="hip" axis="0 1 0" damping=".1"/><geom type="capsule" size=".05" fromto="0 0 0 0 0 -.4"/>
          <body pos="0 0 -.4"><joint name="knee" axis="0 1 0" damping=".1"/><site name="foot" pos="0 0 -.4"/>
            <geom type="capsule" size=".04" fromto="0 0 0 0 0 -.4"/>{more and '<plugin instance="i"/>'}</body></body>
      </worldbody>
      <actuator>{actuators}</actuator>
      {more}
    </mujoco>"""


def forms(plugin: str, integrator: str = "Euler") -> str:
    """The robot with one instance behind both motors, a sensor on the foot and a force on the shin."""
    actuators = BOTH.replace('instance="i"', 'instance="i" actdim="1"')
    sensor = '<sensor><plugin instance="i" objtype="site" objname="foot"/></sensor>'
    return robot(plugin, actuators, sensor, integrator, gain=3, drag=0.4)


def network(sizes=(4, 8, 1)) -> tuple[dict[str, np.ndarray], bytes]:
    """Random layers, and the archive they are read from."""
    rng = np.random.default_rng(4)
    layers = {}
    for n, (inputs, outputs) in enumerate(zip(sizes[:-1], sizes[1:], strict=True)):
        layers[f"W{n}"], layers[f"b{n}"] = rng.normal(size=(outputs, inputs)), rng.normal(size=outputs)
    file = io.BytesIO()
    np.savez(file, **layers)
    return layers, file.getvalue()


FACES = [(0, 3, 4), (0, 4, 1), (1, 4, 5), (1, 5, 2), (3, 6, 7), (3, 7, 4), (4, 7, 8), (4, 8, 5)]
FLAT = np.array([[0.1 * i, 0.15 * j, 0.0] for i in range(3) for j in range(3)])
YOUNG, POISSON, THICKNESS = 2e6, 0.3, 0.004


def sheet(face: str = " ".join(str(v) for f in FACES for v in f)) -> str:
    """Nine particles on slides."""
    slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    bodies = "".join(f"""<body pos="{x} {y} {z}">{slides}<geom size=".01" mass=".1" contype="0" conaffinity="0"/>
        <plugin instance="sheet"/></body>""" for x, y, z in FLAT)  # fmt: skip
    return f"""<mujoco><option gravity="0 0 0"><flag constraint="disable"/></option>
      <extension><plugin plugin="mujoco.elasticity.shell"><instance name="sheet"><config key="face" value="{face}"/>
        <config key="young" value="{YOUNG}"/><config key="poisson" value="{POISSON}"/>
        <config key="thickness" value="{THICKNESS}"/></instance></plugin></extension>
      <worldbody>{bodies}</worldbody></mujoco>"""
