"""What a call costs beside its physics: one world stepped, written and read call by call, beside the peers.

    python -m benchmarks doors                             the CPU, beside MuJoCo's bindings and dm_control
    python -m benchmarks doors --device cuda:0             a GPU, synchronized after every call
    python -m benchmarks doors --model path/to/scene.xml

Times are microseconds a call, the least of many short turns in which all sides take part one after the other: what else
the machine does makes turns longer, never shorter. `physics` is a step within a call of many; `door` is what a call of
one step costs beyond it.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import warp as wp

from kinema import mjcf
from kinema.simulation import Simulation

TURNS = 60
CALLS = 50
MANY = ("physics", "mj_step, many a call")
Calls = dict[str, Callable[[], Any]]


def humanoid() -> str:
    """dm_control's humanoid, or the one of the examples."""
    spec = importlib.util.find_spec("dm_control")
    if spec and spec.submodule_search_locations:
        return str(Path(spec.submodule_search_locations[0]) / "suite/humanoid.xml")
    return str(Path(__file__).parents[1] / "examples/models/humanoid.xml")


def least(calls: Calls, restart: list[Callable[[], Any]], done: Callable[[], Any]) -> dict[str, float]:
    """Microseconds a call of each, in turns that all begin at the initial state; of `MANY` one call makes the turn."""
    found = dict.fromkeys(calls, np.inf)
    for turn in range(TURNS + 1):
        for name, call in calls.items():
            for again in restart:
                again()
            number = 1 if name in MANY else CALLS
            begin = time.perf_counter()
            for _ in range(number):
                call()
                done()
            if turn:
                found[name] = min(found[name], 1e6 * (time.perf_counter() - begin) / number)
    return found


def assigning(owner: Any, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(owner, name, value)


def kinema(path: str, device: str, joint: str) -> tuple[Calls, list[Callable[[], Any]], Callable[[], Any]]:
    """Calls of both doors, what starts them again, and what waits for the device."""
    sim = Simulation(path, 1, device)
    physics = mjcf.Physics.from_xml_path(path, device=device)
    action = np.zeros(sim.model.nu)
    calls: Calls = {
        "physics": lambda: sim.step(CALLS),
        "sim.step()": sim.step,
        "physics.step()": physics.step,
        "sim.d.ctrl = action": assigning(sim.d, "ctrl", action),
        "physics.set_control(action)": lambda: physics.set_control(action),
        "sim.d.qpos": lambda: sim.d.qpos,
        "physics.data.qpos": lambda: physics.data.qpos,
        f"sim.joint({joint!r}).qpos": lambda: sim.joint(joint).qpos,
        f"physics.named.data.qpos[{joint!r}]": lambda: physics.named.data.qpos[joint],
    }
    where = wp.get_device(device)
    wait = (lambda: None) if where.is_cpu else (lambda: wp.synchronize_device(where))
    return calls, [sim.reset, physics.reset], wait


def mujoco_calls(path: str, joint: str) -> tuple[Calls, list[Callable[[], Any]]]:
    """The same with MuJoCo's own bindings, and dm_control where it is installed."""
    m = mujoco.MjModel.from_xml_path(path)
    d = mujoco.MjData(m)
    action = np.zeros(m.nu)
    calls: Calls = {
        "mj_step": lambda: mujoco.mj_step(m, d),
        "mj_step, many a call": lambda: mujoco.mj_step(m, d, CALLS),
        "d.ctrl[:] = action": lambda: d.ctrl.__setitem__(slice(None), action),
        "d.qpos.copy()": lambda: d.qpos.copy(),
        f"d.joint({joint!r}).qpos": lambda: d.joint(joint).qpos,
    }
    restart: list[Callable[[], Any]] = [lambda: mujoco.mj_resetData(m, d)]
    if importlib.util.find_spec("dm_control"):
        from dm_control import mjcf as theirs

        try:
            physics = theirs.Physics.from_xml_path(path)
        except AttributeError as error:  # it reads fields by the names of the mujoco it was made for
            print(f"dm_control does not run with mujoco {mujoco.__version__}: {str(error).partition('.')[0]}")
            return calls, restart
        calls["dm_control physics.step()"] = physics.step
        calls["dm_control physics.set_control(action)"] = lambda: physics.set_control(action)
        calls["dm_control physics.data.qpos"] = lambda: physics.data.qpos
        calls[f"dm_control named.data.qpos[{joint!r}]"] = lambda: physics.named.data.qpos[joint]
        restart.append(physics.reset)
    return calls, restart


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--model", default=humanoid(), metavar="PATH")
    args = parser.parse_args(argv)
    m = mujoco.MjModel.from_xml_path(args.model)
    joint = next(name for name in (m.joint(k).name for k in range(m.njnt - 1, -1, -1)) if name)
    ours, restart, done = kinema(args.model, args.device, joint)
    theirs, again = mujoco_calls(args.model, joint)
    found = least({**ours, **theirs}, restart + again, done)
    found |= {name: found[name] / CALLS for name in MANY}
    print(f"{'call':44} {'us':>8}")
    for name, value in found.items():
        print(f"{name:44} {value:8.1f}")
    for door in ("sim.step()", "physics.step()"):
        print(f"{door}: {found[door] - found['physics']:.1f} us beyond its physics, "
              f"{found['mj_step'] / found[door]:.2f} times the rate of mj_step")  # fmt: skip
