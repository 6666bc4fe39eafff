"""From an MJCF document to mjModel's arrays, on the host in float64, exactly as MuJoCo compiles it."""

from kinema.compile.host_model import HostModel
from kinema.compile.pipeline import compile_model
from kinema.compile.price import Limits
from kinema.compile.urdf import from_urdf

__all__ = [
    "HostModel", "Limits", "MjcfResult", "add_mjcf", "add_urdf", "compile_model", "from_urdf",
    "register_mujoco_attributes",
]  # fmt: skip


def __getattr__(name: str):
    # the builder's side is imported on use: compiling a document needs no model layer
    if name in ("MjcfResult", "add_mjcf", "register_mujoco_attributes"):
        from kinema.compile import import_mjcf as module

        return getattr(module, name)
    if name == "add_urdf":
        from kinema.compile.import_urdf import add_urdf

        return add_urdf
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
