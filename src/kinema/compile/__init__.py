"""From an MJCF document to mjModel's arrays, on the host in float64, exactly as MuJoCo compiles it."""

from kinema.compile.host_model import HostModel
from kinema.compile.pipeline import compile_model

__all__ = ["HostModel", "compile_model"]
