"""A kernel on the CPU as one C call: its arguments are packed once, and numbers among them changed in place.

What Warp records (`wp.launch(..., record_cmd=True)`) packs the arguments anew at every launch; Model and Data are some
15 kB each, and a launch of one world is then mostly that. Here they are packed when the call is made:

    call = Call(kernel, 1, [m, d, 0], device)
    call.args.first = 3        a number, by the name the kernel gives it
    call()

While somebody records a graph on the CPU, Warp launches it, so that it is recorded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import warp as wp

from kinema.devices import device_named


class Call:
    """A launch that can be repeated at little cost.

    Args:
        kernel: The kernel.
        dim: Number of threads.
        inputs: Its arguments.
        device: A CPU device.

    Attributes:
        args: The arguments as kernels see them, one block of memory; numbers in it may be written.
        bounds: Address of the description of the threads.
        entry: Address of the kernel's function.
    """

    def __init__(self, kernel: wp.Kernel, dim: int, inputs: Sequence[Any], device: Any):
        self._command = wp.launch(kernel, dim=dim, inputs=list(inputs), device=device, record_cmd=True)
        self._device = self._command.device
        params = self._command.params
        labels = [arg.label for arg in kernel.adj.args]
        block = type("Arguments", (ctypes.Structure,), {
            "_fields_": [(label, type(param)) for label, param in zip(labels, params[1:], strict=True)]
        })  # fmt: skip
        self.args: Any = block(*params[1:])
        self._kept = params  # what the arguments point to
        self.bounds = ctypes.addressof(params[0])
        self._forward = self._command.hooks.forward
        self.entry: int = ctypes.cast(self._forward, ctypes.c_void_p).value or 0
        self._where = ctypes.byref(params[0]), ctypes.byref(self.args)

    def offset(self, name: str) -> int:
        """Where a number lies in the block of arguments."""
        return getattr(type(self.args), name).offset

    @property
    def address(self) -> int:
        """Where the block of arguments lies."""
        return ctypes.addressof(self.args)

    def __call__(self) -> None:
        if self._device.is_capturing:
            for k, arg in enumerate(self._command.kernel.adj.args):
                if arg.type in (int, wp.int32):
                    self._command.set_param_at_index(k, getattr(self.args, arg.label))
            self._command.launch()
        else:
            self._forward(*self._where)


def repeatable(kernel: wp.Kernel, dim: int, inputs: Sequence[Any], device: Any) -> Callable[[], None]:
    """A launch that can be repeated at little cost on any device."""
    if device_named(device).is_cpu:
        return Call(kernel, dim, inputs, device)
    return wp.launch(kernel, dim=dim, inputs=list(inputs), device=device, record_cmd=True).launch
