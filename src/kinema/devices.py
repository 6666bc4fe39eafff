"""Devices by name, and what is said where one is not there."""

from __future__ import annotations

import os

import warp as wp

from kinema.errors import BuildError, did_you_mean


def device_named(device: str | wp.Device | None = None) -> wp.Device:
    """A Warp device: by its name ("cpu", "cuda", "cuda:1"), itself, or for None the present default.

    BuildError, which lists the devices there are, where there is none of that name.
    """
    try:
        return wp.get_device(device)
    except (ValueError, RuntimeError):
        known = [str(each) for each in wp.get_devices()]
        name = str(device)
        why = ""
        if name.startswith("cuda") and not wp.is_cuda_available():
            why = (
                ". CUDA is not available: NVIDIA's driver is not installed, or cannot be seen from here (a container "
                "must be started with its GPUs)"
            )
        hint = "" if why else did_you_mean(name, [*known, "cuda"] if wp.is_cuda_available() else known)
        raise BuildError(f"there is no device {name!r}{hint}; this machine has {', '.join(known)}{why}") from None


def cores() -> int:
    """CPU cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
