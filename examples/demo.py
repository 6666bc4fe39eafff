"""The main job, run by `make demo`: compose a model, build it into many worlds, simulate it, check it with MuJoCo.

    python examples/demo.py [worlds] [steps]
"""

import sys
import time

import numpy as np

from kinema import Simulation, mjcf


def leg(name: str) -> mjcf.RootElement:
    """A hip and a knee, each with its servo."""
    model = mjcf.RootElement(model=name)
    model.default.joint.damping = 1
    model.default.geom.set_attributes(type="capsule", size=[0.03])
    thigh = model.worldbody.add("body", name="thigh")
    hip = thigh.add("joint", name="hip", axis=[0, 1, 0], range=[-60, 60])
    thigh.add("geom", fromto=[0, 0, 0, 0.1, 0, -0.1])
    shin = thigh.add("body", name="shin", pos=[0.1, 0, -0.1])
    knee = shin.add("joint", name="knee", axis=[0, 1, 0], range=[-90, 30])
    shin.add("geom", fromto=[0, 0, 0, 0, 0, -0.2])
    for joint in (hip, knee):
        model.actuator.add("position", name=joint.name, joint=joint, kp=20, ctrlrange=[-1, 1])
    return model


def walker(legs: int = 4) -> mjcf.RootElement:
    """A torso on the ground plane with legs attached around it."""
    model = mjcf.RootElement(model="walker")
    model.worldbody.add("geom", type="plane", size=[10, 10, 0.1])
    torso = model.worldbody.add("body", name="torso", pos=[0, 0, 0.45])
    torso.add("freejoint")
    torso.add("geom", type="ellipsoid", size=[0.2, 0.2, 0.08], mass=4)
    for i in range(legs):
        angle = 360 * i / legs
        at = [0.18 * np.cos(np.radians(angle)), 0.18 * np.sin(np.radians(angle)), 0]
        torso.add("site", name=f"hip{i}", pos=at, euler=[0, 0, angle]).attach(leg(f"leg{i}"))
    return model


def agreement(model: mjcf.RootElement, sim: Simulation, ctrl: np.ndarray, steps: int) -> str:
    """How far world 0 is from MuJoCo after a few steps of the same motion."""
    try:
        import mujoco
    except ImportError:
        return "MuJoCo is not installed: not compared"
    m = mujoco.MjModel.from_xml_string(model.to_xml_string(), model.get_assets())
    d = mujoco.MjData(m)
    d.ctrl[:] = ctrl[0]
    mujoco.mj_step(m, d, steps)
    sim.reset()
    sim.set_state(ctrl=ctrl)
    sim.step(steps)
    return f"largest difference to MuJoCo's qpos after {steps} steps: {np.abs(sim.d.qpos[0] - d.qpos).max():.1e}"


def main(worlds: int = 256, steps: int = 500) -> None:
    model = walker()
    print(model.find("body", "torso").to_xml_string(self_only=True).strip())
    print("joints:   ", ", ".join(joint.full_identifier for joint in model.find_all("joint")))

    begin = time.perf_counter()
    sim = Simulation(model, worlds=worlds)
    sim.forward()
    print(f"{sim!r}, ready in {time.perf_counter() - begin:.1f} s (kernels are compiled on first use)")

    ctrl = np.random.default_rng(0).uniform(-0.5, 0.5, (worlds, sim.model.nu))  # every world its own pose to hold
    print(agreement(model, sim, ctrl, 50))

    sim.reset()
    sim.set_state(ctrl=ctrl)
    begin = time.perf_counter()
    sim.step(steps)
    elapsed = time.perf_counter() - begin
    sim.check()
    heights = sim.d.qpos[:, 2]
    rate = worlds * steps / elapsed
    print(f"{worlds} worlds x {steps} steps: {rate:,.0f} steps/s, {rate * sim.m.timestep:.0f} x real time")
    print(f"height of the torso: {heights.min():.3f} to {heights.max():.3f} m")
    print(f"contacts a world: {sim.d.ncon.mean():.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
