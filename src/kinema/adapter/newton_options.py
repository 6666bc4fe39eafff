"""Arguments of Newton's SolverMuJoCo, as options of MuJoCo.

    options       fields of mjOption of the same name: ls_iterations, density, wind ...
    flags         enable_sleeping, disable_contacts ...: bits of enableflags and disableflags
    needless      what says how Newton goes about it (room for contacts, which program runs): taken, and nothing to do
"""

from __future__ import annotations

from typing import Any

from kinema.errors import BuildError, did_you_mean
from kinema.mujoco_enums import Disable, Enable

OPTIONS = (
    "ls_iterations", "ls_tolerance", "ccd_iterations", "ccd_tolerance", "sdf_iterations", "sdf_initpoints", "density",
    "viscosity", "wind", "magnetic", "sleep_tolerance",
)  # fmt: skip
FLAGS = {
    "enable_sleeping": ("enableflags", Enable.SLEEP, True), "disable_contacts": ("disableflags", Disable.CONTACT, True),
    "disable_sensors": ("disableflags", Disable.SENSOR, True),
    "enable_multiccd": ("disableflags", Disable.MULTICCD, False),
}  # fmt: skip
"""Field of mjOption, bit, and the bit's value where the argument is True."""
NEEDLESS = (
    "separate_worlds", "njmax", "njmax_nnz", "nconmax", "nvmax", "jacobian", "use_mujoco_cpu", "update_data_interval",
    "include_sites", "skip_visual_only_geoms", "deterministic",
)  # fmt: skip
REFUSED = {
    "use_mujoco_contacts": (True, "contacts are the engine's own: model.collide finds others for reading"),
    "save_to_mjcf": (None, "call model.save_mjcf(path)"),
}


def mujoco_options(given: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, int, bool]]]:
    """Options by name, and flags as (field, bit, whether it is set); errors where an argument is not known."""
    options: dict[str, Any] = {}
    flags: list[tuple[str, int, bool]] = []
    for name, value in given.items():
        if name in REFUSED:
            if value != REFUSED[name][0]:
                raise BuildError(f"{name}={value!r} is not supported: {REFUSED[name][1]}")
        elif name in FLAGS:
            field, bit, when = FLAGS[name]
            if value is not None and (value or when):
                flags.append((field, int(bit), bool(value) == when))
        elif name in OPTIONS:
            options |= {} if value is None else {name: value}
        elif name not in NEEDLESS:
            known = [*OPTIONS, *FLAGS, *NEEDLESS, "iterations", "tolerance", "impratio", "integrator", "solver", "cone"]
            raise BuildError(f"the solver has no argument {name!r}{did_you_mean(name, known)}")
    return options, flags
