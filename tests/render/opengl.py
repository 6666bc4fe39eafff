"""Run as a program: pictures by MuJoCo's own renderer, into an .npz. OpenGL is chosen when mujoco is imported, and
may take the process with it, so it has one of its own.

    python opengl.py out.npz width height [model.xml camera] ...
"""

import os
import sys

os.environ["MUJOCO_GL"] = "egl"

import mujoco  # noqa: E402
import numpy as np  # noqa: E402


def main(out: str, width: int, height: int, pairs: list[str]) -> None:
    found = {}
    for k, (path, camera) in enumerate(zip(pairs[::2], pairs[1::2], strict=True)):
        m = mujoco.MjModel.from_xml_path(path)
        d = mujoco.MjData(m)
        if m.nkey:
            mujoco.mj_resetDataKeyframe(m, d, 0)
        mujoco.mj_forward(m, d)
        with mujoco.Renderer(m, height, width) as renderer:
            renderer.update_scene(d, int(camera))
            found[f"rgb{k}"] = renderer.render()
            renderer.enable_depth_rendering()
            found[f"depth{k}"] = renderer.render()
            renderer.enable_segmentation_rendering()
            found[f"segmentation{k}"] = renderer.render()
    np.savez(out, **found)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
