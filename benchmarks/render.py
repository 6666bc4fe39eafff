"""Pictures per second, beside MuJoCo Warp's renderer: many small pictures for policies, and one large one on the CPU.

    python -m benchmarks render --device cuda:0                       64 x 64 in 1024 worlds
    python -m benchmarks render                                       small on the CPU, and 640 x 480
    python -m benchmarks render --model robot=path/to/scene.xml       a model of your own, repeatable

Both sides draw the same worlds by the same camera (the model's default free view): geoms only, colours and depth, no
mirrors, with and without shadows, from poses that are already computed. On CUDA each frame is a captured graph. They
are timed in turns; the ratio is of medians.
"""

import argparse
import statistics
import time

import mujoco
import numpy as np
import warp as wp

from benchmarks.throughput import TURNS, default_models
from kinema.render import Renderer
from kinema.simulation import Simulation

CAMERA = "benchmark"


def load(source: str) -> mujoco.MjModel:
    """A model with a camera at its default free view."""
    spec = mujoco.MjSpec.from_string(source) if source.startswith("<") else mujoco.MjSpec.from_file(source)
    m = spec.compile()
    view = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(m, view)
    azimuth, elevation = np.deg2rad([view.azimuth, view.elevation])
    forward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])
    mat, quat = np.stack([right, np.cross(right, forward), -forward], axis=1), np.zeros(4)
    mujoco.mju_mat2Quat(quat, mat.ravel())
    spec.worldbody.add_camera(name=CAMERA, pos=view.lookat - view.distance * forward, quat=quat, fovy=45)
    return spec.compile()


class Kinema:
    name = "kinema"

    def __init__(self, m, d, worlds: int, size: tuple[int, int], device: str, shadows: bool):
        begin = time.perf_counter()
        self.sim = Simulation(m, worlds, device)
        self.sim.set_state(qpos=np.array(d.qpos))
        self.renderer = Renderer(
            self.sim, CAMERA, *size, kinds=("rgb", "depth"), shadows=shadows, reflections=False, site_groups=(),
            tendon_groups=(),
        )  # fmt: skip
        self.renderer.render()
        self.device = self.sim.engine.device
        self.graph = None
        if self.device.is_cuda:
            with wp.ScopedCapture(device=self.device) as capture:
                self.renderer.render(refresh=False)
            self.graph = capture.graph
        self.run(1)
        self.setup = time.perf_counter() - begin

    def run(self, frames: int) -> None:
        for _ in range(frames):
            if self.graph:
                wp.capture_launch(self.graph)
            else:
                self.renderer.render(refresh=False)
        wp.synchronize_device(self.device)

    def picture(self) -> np.ndarray:
        return self.renderer.rgb.numpy()[0, 0] / 255.0


class MuJoCoWarp:
    name = "mujoco-warp"

    def __init__(self, m, d, worlds: int, size: tuple[int, int], device: str, shadows: bool):
        import mujoco_warp as mjw

        begin = time.perf_counter()
        self.device, self.size, self.worlds = wp.get_device(device), size, worlds
        with wp.ScopedDevice(device):
            self.m, self.d = mjw.put_model(m), mjw.put_data(m, d, nworld=worlds)
            only = [m.camera(i).name == CAMERA for i in range(m.ncam)]
            sky = bool(np.any(m.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX))
            self.context = mjw.create_render_context(
                m, nworld=worlds, cam_res=size, render_rgb=True, render_depth=True, render_seg=False,
                use_shadows=shadows, cam_active=only, render_skybox=sky,
            )  # fmt: skip
            self.frame = lambda: (mjw.refit_bvh(self.m, self.d, self.context), mjw.render(self.m, self.d, self.context))
            self.get_rgb = mjw.get_rgb
            self.frame()
            self.graph = None
            if self.device.is_cuda:
                with wp.ScopedCapture() as capture:
                    self.frame()
                self.graph = capture.graph
        self.run(1)
        self.setup = time.perf_counter() - begin

    def run(self, frames: int) -> None:
        with wp.ScopedDevice(self.device):
            for _ in range(frames):
                if self.graph:
                    wp.capture_launch(self.graph)
                else:
                    self.frame()
            wp.synchronize()

    def picture(self) -> np.ndarray:
        with wp.ScopedDevice(self.device):
            out = wp.zeros((self.worlds, self.size[1], self.size[0]), dtype=wp.vec3)
            self.get_rgb(self.context, 0, out)
            return out.numpy()[0]


def measure(sides: list, frames: int) -> dict[str, list[float]]:
    """Seconds a frame of each side, in turns."""
    times: dict[str, list[float]] = {side.name: [] for side in sides}
    for _ in range(TURNS):
        for side in sides:
            begin = time.perf_counter()
            side.run(frames)
            times[side.name].append((time.perf_counter() - begin) / frames)
    return times


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--worlds", type=int, default=None)
    parser.add_argument("--size", type=int, default=64, help="pixels on each side")
    parser.add_argument("--frames", type=int, default=None)
    parser.add_argument("--alone", action="store_true", help="leave MuJoCo Warp out")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=PATH")
    args = parser.parse_args(argv)
    on_cpu = wp.get_device(args.device).is_cpu
    models = dict(entry.split("=", 1) for entry in args.model) or default_models()
    worlds = args.worlds or (4 if on_cpu else 1024)
    frames = args.frames or (2 if on_cpu else 50)
    kinds = [Kinema] if args.alone else [Kinema, MuJoCoWarp]
    head = f"{'model':12} {'worlds':>6} {'size':>9} {'shadows':>7} {'kinema ms':>10}"
    print(head if args.alone else f"{head} {'mujoco-warp ms':>15} {'ratio':>6}  mean difference  setup s")
    for name, source in models.items():
        m = load(source)
        d = mujoco.MjData(m)
        if m.nkey:
            mujoco.mj_resetDataKeyframe(m, d, 0)
        mujoco.mj_forward(m, d)
        cases = [(worlds, (args.size, args.size), shadows) for shadows in (True, False)]
        if on_cpu:
            cases.append((1, (640, 480), True))
        for count, size, shadows in cases:
            sides = [kind(m, d, count, size, args.device, shadows) for kind in kinds]
            times = [statistics.median(found) * 1e3 for found in measure(sides, frames).values()]
            row = f"{name:12} {count:6} {size[0]:4}x{size[1]:4} {'yes' if shadows else 'no':>7} {times[0]:10.2f}"
            if not args.alone:
                apart = np.abs(sides[0].picture() - sides[1].picture()).mean()
                setups = ", ".join(f"{side.setup:.1f}" for side in sides)
                row += f" {times[1]:15.2f} {times[1] / times[0]:6.2f}  {apart:15.3f}  {setups}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
