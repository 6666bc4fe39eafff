"""Plugins on a GPU against the same plugins on the CPU: one line a check, no test framework needed.

    python tests/plugins/cuda_check.py [--device cuda:0] [--only word ...]

Where only the devices differ, results agree to float32 roundoff, grown over the steps; where only the number of worlds
differs, they are equal bit for bit. `--device cpu` checks the checks. test_cuda.py runs them where there is a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import traceback
import types
from functools import cache
from pathlib import Path

import numpy as np
import warp as wp

if __name__ == "__main__":
    wp.config.quiet = True
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root), str(root / "src")]
if importlib.util.find_spec("lxml") is None:  # it edits documents; none are edited here
    lxml = types.ModuleType("lxml")
    lxml.etree = types.ModuleType("lxml.etree")
    sys.modules.update({"lxml": lxml, "lxml.etree": lxml.etree})

from kinema import resources  # noqa: E402
from kinema.compile import compile_model  # noqa: E402
from kinema.convex.engine import Engine  # noqa: E402
from kinema.convex.status import BAD_PLUGIN  # noqa: E402
from kinema.errors import PluginError  # noqa: E402
from kinema.plugins.parameters import write_parameter  # noqa: E402
from tests.plugins import forms as form_plugins  # noqa: E402
from tests.plugins import samples, scenes  # noqa: E402, F401

STATE = ("qpos", "qvel", "act", "plugin_state", "time")
NAN_ID = 10  # of the workshop's actuator that gives NaN beyond a control of 1


@cache
def model(name: str):
    """The models the checks share, compiled once."""
    if name == "network":
        resources.memory["net.npz"] = scenes.network()[1]
        return compile_model(scenes.robot("kinema.mlp_actuator", weights="memory:net.npz", motors=2, history=2))
    texts = {
        "workshop": scenes.workshop, "sheet": scenes.sheet,
        "touching": lambda: scenes.touching({"cone": "test.sdf.cone"}),
        "motor": lambda: scenes.robot("kinema.dcmotor", constant=0.5, heat_capacity=0.5),
        "raises": lambda: scenes.robot("test.raises_in_compute"),
    }  # fmt: skip
    if name in texts:
        return compile_model(texts[name]())
    plugin, integrator = name.split("/")
    return compile_model(scenes.forms(plugin, integrator))


@cache
def engine(name: str, worlds: int, device: str, role: str = "device") -> Engine:
    """Engines are shared too: what a check leaves behind, `start` clears. The reference is another engine."""
    return Engine(model(name), worlds, device=device, nconmax=600 if name == "touching" else None)


def start(name: str, worlds: int, device: str, *, moving: float = 0.3, role: str = "device") -> Engine:
    """An engine at its initial state, with random velocities and controls that depend on the world only."""
    made = engine(name, worlds, device, role)
    made.reset()
    source = made.source
    rng = np.random.default_rng(0)
    qvel, ctrl = (rng.normal(size=(4096, n)) for n in (source.nv, source.nu))
    if name == "workshop":
        ctrl[:, NAN_ID] = 0.0
    if source.nv:
        made.write("qvel", moving * qvel[:worlds])
    if source.nu:
        made.write("ctrl", ctrl[:worlds])
    return made


def both(name: str, worlds: int, device: str, *, moving: float = 0.3) -> tuple[Engine, Engine]:
    """The same start on the CPU, as reference, and on the device."""
    return start(name, worlds, "cpu", moving=moving, role="reference"), start(name, worlds, device, moving=moving)


def apart(one: Engine, other: Engine, names: tuple[str, ...]) -> float:
    """The largest difference, in units of each field's size; never less than that of a NaN."""
    worst = 0.0
    for name in names:
        a, b = (np.asarray(e.read(name), dtype=float) for e in (one, other))
        if a.size:
            if not (np.all(np.isfinite(a)) and np.all(np.isfinite(b))):
                return np.inf
            worst = max(worst, float(np.abs(a - b).max() / max(1.0, np.abs(a).max())))
    return worst


def need(true: bool, text: str) -> None:
    if not true:
        raise AssertionError(text)


def below(value: float, limit: float) -> str:
    need(value < limit, f"{value:.2e}, should be below {limit:.0e}")
    return f"{value:.1e} (limit {limit:.0e})"


# ---------------------------------------------------------------------------------------------- checks


def check_small_forms_equal_the_cpu(device: str) -> str:
    """PID in eight settings, DC motors, a stepping activation, drag, speedometer; the cable over an instance."""
    here, there = both("workshop", 4, device)
    for e in (here, there):
        e.step(50)
    return below(apart(here, there, (*STATE, "sensordata", "actuator_force", "qfrc_passive")), 2e-4)


def check_pid_step_responses(device: str) -> str:
    """Where a slide is after 2 s, from facts/plugins.md."""
    e = start("workshop", 4, device, moving=0.0)
    e.write("ctrl", 0.0)
    e.step(50)
    ctrl = np.zeros(e.source.nu)
    ctrl[:8] = 0.5
    e.write("ctrl", ctrl)
    e.step(950)
    expected = [value for _, _, value in scenes.PID.values()]
    return below(float(np.abs(e.read("qpos")[:, :8] - expected).max()), 5e-6)


def check_each_form_equals_the_cpu(device: str) -> str:
    """Actuator, activation, sensor, passive force and state, in functions of elements, of instances, on the host."""
    worst = 0.0
    for plugin in form_plugins.FORMS:
        here, there = both(f"{plugin}/Euler", 4, device)
        for e in (here, there):
            e.step(40)
        worst = max(worst, apart(here, there, (*STATE, "sensordata", "actuator_force", "qfrc_passive", "act_dot")))
    return below(worst, 1e-4)


def check_forms_equal_each_other(device: str) -> str:
    """Three forms of one plugin on one device."""
    made = [start(f"{plugin}/Euler", 4, device) for plugin in form_plugins.FORMS]
    for e in made:
        e.step(40)
    return below(max(apart(made[0], e, (*STATE, "sensordata", "actuator_force")) for e in made[1:]), 1e-5)


def check_runge_kutta(device: str) -> str:
    """Host functions in the four evaluations of a step: as many calls as MuJoCo makes, the CPU's result."""
    here, there = both("test.form.host/RK4", 4, device)
    here.step(20)
    there.step(20)
    return below(apart(here, there, (*STATE, "sensordata")), 1e-4)


def check_host_code_is_captured(device: str) -> str:
    """After the first step no Python of the plugin runs; replaying changes nothing."""
    e = start("test.form.host/Euler", 4, device)
    e.step()
    form_plugins.host_calls.clear()
    e.step(30)
    calls = len(form_plugins.host_calls)
    if not e.device.is_cuda:
        return f"{calls} calls in 30 steps on the CPU"
    need(calls == 0, f"{calls} calls of Python in 30 steps")
    return "0 calls of Python in 30 steps"


def check_long_graph_of_the_user(device: str) -> str:
    """Ten steps recorded in one graph by the user equal ten steps, bit for bit."""
    plain, captured = (Engine(model("test.form.host/Euler"), 4, device=device, on_overflow="warn") for _ in range(2))
    if not plain.device.is_cuda:
        return "graphs are CUDA's"
    for e in (plain, captured):
        e.write("ctrl", [0.5, -0.5])
        e.step()
    with wp.ScopedCapture(device=device) as capture:
        for _ in range(10):
            captured._run("step", 1, advancing=True)
    wp.capture_launch(capture.graph)
    plain.step(10)
    need(all(np.array_equal(plain.read(n), captured.read(n)) for n in STATE), "the graph gave other states")
    return "equal"


def check_network(device: str) -> str:
    """kinema.mlp_actuator: forces and the history in its state."""
    here, there = both("network", 4, device)
    for e in (here, there):
        e.step(20)
    return below(apart(here, there, (*STATE, "actuator_force")), 2e-4)


def check_shell(device: str) -> str:
    here, there = both("sheet", 4, device, moving=0.05)
    for e in (here, there):
        e.step(30)
    return below(apart(here, there, ("qpos", "qvel", "qfrc_passive")), 1e-4)


def check_fields_and_touch(device: str) -> str:
    """Rest heights of all distance fields, one differentiated by Warp; ring on ring; touch grid; contact counts."""
    here, there = both("touching", 2, device, moving=0.0)
    for e in (here, there):
        e.forward()
    counts = [e.read("ncon").tolist() for e in (here, there)]
    need(counts[0] == counts[1], f"contacts at the start: {counts}")
    for e in (here, there):
        e.step(300)
    heights = there.read("qpos")[:, : 14 * 5].reshape(-1, 5, 14)[:, :, 2]
    need(np.abs(heights - list(scenes.REST.values())).max() < 2e-4, f"rest heights {heights[0]}")
    touch = [e.read("sensordata").reshape(2, 6, -1)[:, 0].sum(axis=1) for e in (here, there)]
    need(np.abs(touch[0] - touch[1]).max() < 2e-2, f"touch {touch}")
    rings = [e.read("qpos")[0, 14 * 6 : 14 * 7].reshape(2, 7)[:, 2] for e in (here, there)]
    worst = below(float(np.abs(rings[0] - rings[1]).max()), 1e-3)
    return f"heights {np.round(heights[0], 5).tolist()}, touch {touch[1][0]:.4f}, rings {rings[1]} apart by {worst}"


def check_4096_motors_equal_fewer(device: str) -> str:
    """4096 worlds together, and the same worlds 64 at a time and one at a time: the same bits."""
    many = start("motor", 4096, device)
    ctrl, qvel = many.read("ctrl").copy(), many.read("qvel").copy()
    many.step(20)
    together = {name: many.read(name) for name in STATE}
    few, one = engine("motor", 64, device), engine("motor", 1, device)
    for e, first in [*((few, 64 * k) for k in range(64)), *((one, 16 * k) for k in range(256))]:
        part = slice(first, first + e.nworld)
        e.reset()
        e.write("ctrl", ctrl[part])
        e.write("qvel", qvel[part])
        e.step(20)
        for name in STATE:
            need(np.array_equal(e.read(name), together[name][part]), f"{name} of worlds {part} differs")
    need(together["plugin_state"].min() > 25.0, "the motors did not warm")
    return "all 4096 in groups of 64, 256 of them alone"


def check_4096_forms_equal_fewer(device: str) -> str:
    """The same of the form on the host."""
    many, few = (start("test.form.host/Euler", worlds, device) for worlds in (4096, 4))
    for e in (many, few):
        e.step(20)
    for name in (*STATE, "sensordata"):
        need(np.array_equal(many.read(name)[:4], few.read(name)), f"{name} differs")
    return "equal"


def check_parameters_per_world(device: str) -> str:
    """Gains that differ per world, on the device as on the CPU."""
    made = [Engine(model("workshop"), 4, device=where) for where in ("cpu", device)]
    for e in made:
        write_parameter(e, "mujoco.pid", "kp", np.array([40.0, 80.0, 20.0, 40.0])[:, None])
        e.step(100)
    q = made[1].read("qpos")[:, :8]
    need(np.array_equal(q[0], q[3]) and np.all(np.abs(q[1]) < np.abs(q[0])), f"positions {q}")
    return below(apart(*made, STATE), 1e-4)


def check_shapes_per_world(device: str) -> str:
    """Rings of other radii in each world: the same depths of contact as on the CPU."""
    made = [Engine(model("touching"), 2, device=where, nconmax=600) for where in ("cpu", device)]
    for e in made:
        write_parameter(e, "mujoco.sdf.torus", "radius2", [[0.18], [0.16]])
        qpos = e.read("qpos").copy()
        qpos[:, 14 * 6 + 9] = 0.45  # the upper ring
        e.write("qpos", qpos)
        e.forward()
    deepest = []
    for e in made:
        ring = np.all(e.read("contact_geom") >= 1, axis=-1) & (np.arange(600) < e.read("ncon")[:, None])
        deepest.append(np.where(ring, e.read("contact_dist"), 0.0).min(axis=1))
    need(np.all(deepest[0] < -0.005) and abs(deepest[0][0] - deepest[0][1]) > 0.01, f"depths {deepest[0]}")
    return below(float(np.abs(deepest[0] - deepest[1]).max()), 1e-4)


def check_save_restore_reset(device: str) -> str:
    """Continuing from a saved state, and a reset of some worlds: bit for bit."""
    e = start("workshop", 4, device)
    e.step(10)
    saved = {name: e.read(name).copy() for name in STATE}
    e.step(10)
    after = {name: e.read(name).copy() for name in STATE}
    for name, value in saved.items():
        e.write(name, value)
    e.step(10)
    need(all(np.array_equal(e.read(name), after[name]) for name in STATE), "the restored run differs")
    e.reset([False, True, False, False])
    need(np.array_equal(np.sort(e.read("plugin_state")[1]), [2.0, 20.0, 25.0]), "the reset world's states")
    need(np.array_equal(e.read("plugin_state")[2], after["plugin_state"][2]), "another world was reset")
    return "equal"


def check_nan_freezes_its_world(device: str) -> str:
    e = start("workshop", 4, device)
    e.step(5)
    before = {name: e.read(name).copy() for name in STATE}
    ctrl = e.read("ctrl").copy()
    ctrl[1, NAN_ID] = 2.0
    e.write("ctrl", ctrl)
    e.step(5)
    status = e.read("status")
    need(bool(status[1] & BAD_PLUGIN) and not np.any(status[[0, 2, 3]] & BAD_PLUGIN), f"status {status}")
    need(all(np.array_equal(e.read(n)[1], before[n][1]) for n in STATE), "the frozen world moved")
    need(all(np.all(np.isfinite(e.read(n))) for n in STATE), "not finite")
    need(e.read("time")[0] > e.read("time")[1], "the others stand still")
    e.reset([False, True, False, False])
    return "frozen and revived"


def check_exception_leaves_the_state(device: str) -> str:
    """A host function that raises, while a graph is captured: an error that names the plugin, and nothing has moved."""
    e = Engine(model("raises"), 2, device=device)
    e.write("qpos", [0.3, -0.2])
    for _ in range(2):
        try:
            e.step()
        except PluginError as error:
            need("test.raises_in_compute" in str(error) and "half way" in str(error), str(error))
        else:
            raise AssertionError("no error")
    need(np.allclose(e.read("qpos"), [0.3, -0.2]) and np.all(e.read("time") == 0.0), "the state has changed")
    other = start("test.form.host/Euler", 4, device)
    other.step()
    need(np.all(other.read("time") > 0), "nothing runs afterwards")
    return "named, state unchanged, device usable"


CHECKS = {name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")}


def run(name: str, device: str) -> tuple[bool, str]:
    """Run one check: whether it holds, and what was seen."""
    try:
        return True, CHECKS[name](device)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return False, f"{type(error).__name__}: {error} ({last.filename.rsplit('/', 1)[-1]}:{last.lineno})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", nargs="*", default=(), help="words of the checks to run")
    args = parser.parse_args()
    failed = 0
    for name in CHECKS:
        if args.only and not any(word in name for word in args.only):
            continue
        begin = time.perf_counter()
        good, text = run(name, args.device)
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {name:32s} {time.perf_counter() - begin:6.1f} s  {text}", flush=True)
    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
