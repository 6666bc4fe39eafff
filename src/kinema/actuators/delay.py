"""Delay: commands that reach a drive some steps late.

The last D commands of every dof (targets and feed-forward) lie in a ring; the newest is at `write_idx`. A dof that is
d steps late reads d - 1 entries back from it before the command of this step is put in; while fewer have come since a
reset it reads the oldest, and where none has, or d is 0, the command itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, no_type_check

import warp as wp

from ..errors import BuildError
from .drives import check_mask, entry


@no_type_check
@wp.kernel
def read_late(
    steps: wp.array(dtype=int), count: wp.array(dtype=int), newest: wp.array(dtype=int), depth: int,
    ring_q: wp.array2d(dtype=float), ring_qd: wp.array2d(dtype=float), ring_f: wp.array2d(dtype=float),
    target_q: wp.array(dtype=float), target_qd: wp.array(dtype=float), feedforward: wp.array(dtype=float),
    at_q: wp.array(dtype=wp.uint32), at_qd: wp.array(dtype=wp.uint32),
    late_q: wp.array(dtype=float), late_qd: wp.array(dtype=float), late_f: wp.array(dtype=float),
):  # fmt: skip
    i = wp.tid()
    if count[i] == 0 or steps[i] == 0:
        late_q[i] = target_q[at_q[i]]
        late_qd[i] = target_qd[at_qd[i]]
        late_f[i] = entry(feedforward, int(at_qd[i]))
    else:
        k = (newest[0] - wp.min(steps[i], count[i]) + 1 + depth) % depth
        late_q[i] = ring_q[k, i]
        late_qd[i] = ring_qd[k, i]
        late_f[i] = ring_f[k, i]


@no_type_check
@wp.kernel
def put_in(
    target_q: wp.array(dtype=float), target_qd: wp.array(dtype=float), feedforward: wp.array(dtype=float),
    at_q: wp.array(dtype=wp.uint32), at_qd: wp.array(dtype=wp.uint32), depth: int,
    ring_q: wp.array2d(dtype=float), ring_qd: wp.array2d(dtype=float), ring_f: wp.array2d(dtype=float),
    count: wp.array(dtype=int), newest: wp.array(dtype=int),
    next_q: wp.array2d(dtype=float), next_qd: wp.array2d(dtype=float), next_f: wp.array2d(dtype=float),
    next_count: wp.array(dtype=int), next_newest: wp.array(dtype=int),
):  # fmt: skip
    i = wp.tid()
    here = (newest[0] + 1) % depth
    for k in range(depth):
        next_q[k, i] = ring_q[k, i]
        next_qd[k, i] = ring_qd[k, i]
        next_f[k, i] = ring_f[k, i]
    next_q[here, i] = target_q[at_q[i]]
    next_qd[here, i] = target_qd[at_qd[i]]
    next_f[here, i] = entry(feedforward, int(at_qd[i]))
    next_count[i] = wp.min(count[i] + 1, depth)
    if i == 0:
        next_newest[0] = here


@no_type_check
@wp.kernel(enable_backward=False)
def forget(
    mask: wp.array(dtype=wp.bool), ring_q: wp.array2d(dtype=float), ring_qd: wp.array2d(dtype=float),
    ring_f: wp.array2d(dtype=float), count: wp.array(dtype=int),
):  # fmt: skip
    i = wp.tid()
    if mask[i]:
        for k in range(ring_q.shape[0]):
            ring_q[k, i] = 0.0
            ring_qd[k, i] = 0.0
            ring_f[k, i] = 0.0
        count[i] = 0


class Delay:
    """Commands that come late.

    Args:
        delay_steps: How many steps late, of each dof.
        max_delay: The longest delay, 1 or more: how many commands are kept.
    """

    @dataclass
    class State:
        """The ring of commands."""

        buffer_pos: Any = None
        """Target positions [m or rad], shape (max_delay, N)."""
        buffer_vel: Any = None
        """Target velocities [m/s or rad/s], shape (max_delay, N)."""
        buffer_act: Any = None
        """Feed-forward [N or N m], shape (max_delay, N)."""
        num_pushes: Any = None
        """Commands since the last reset, at most max_delay, shape (N,)."""
        write_idx: Any = None
        """Row of the newest command, shape (1,)."""

        def reset(self, mask: wp.array | None = None) -> None:
            """Forget the commands of dofs where `mask` says so, or of all."""
            rings = (self.buffer_pos, self.buffer_vel, self.buffer_act)
            if mask is None:
                for array in (*rings, self.num_pushes):
                    array.zero_()
                self.write_idx.fill_(self.buffer_pos.shape[0] - 1)
                return
            check_mask(mask, self.buffer_pos.shape[1], "reset()")
            wp.launch(forget, len(mask), inputs=[mask], outputs=[*rings, self.num_pushes], device=mask.device)

    @classmethod
    def resolve_arguments(cls, args: dict[str, Any]) -> dict[str, Any]:
        """The delay of one dof, checked."""
        if "delay_steps" not in args:
            raise BuildError("Delay needs delay_steps")
        if args["delay_steps"] < 0:
            raise BuildError(f"delay_steps={args['delay_steps']!r} must be at least 0")
        return {"delay_steps": args["delay_steps"]}

    def __init__(self, delay_steps: wp.array, max_delay: int):
        if max_delay < 1:
            raise BuildError(f"max_delay={max_delay!r} must be at least 1")
        self.delay_steps, self.buf_depth = delay_steps, max_delay
        self._grad = False
        self._late: list[wp.array] = []

    def finalize(self, device: Any, num_actuators: int, requires_grad: bool = False) -> None:
        """Allocate the commands that a step uses; called once, by the actuator."""
        self._grad = requires_grad
        self._late = [
            wp.zeros(num_actuators, dtype=wp.float32, device=device, requires_grad=requires_grad) for _ in range(3)
        ]

    def state(self, num_actuators: int, device: Any) -> Delay.State:
        """An empty ring."""
        shape = (self.buf_depth, num_actuators)
        q, qd, f = (wp.zeros(shape, dtype=wp.float32, device=device, requires_grad=self._grad) for _ in range(3))
        count: wp.array = wp.zeros(num_actuators, dtype=wp.int32, device=device)
        return Delay.State(q, qd, f, count, wp.full(1, self.buf_depth - 1, dtype=wp.int32, device=device))

    def get_delayed_targets(
        self, target_pos: wp.array, target_vel: wp.array, feedforward: wp.array | None, pos_indices: wp.array,
        vel_indices: wp.array, current_state: Delay.State,
    ) -> tuple[wp.array, wp.array, wp.array]:  # fmt: skip
        """Positions, velocities and feed-forward that reach the drive in this step, one a dof."""
        ring = current_state
        inputs = [
            self.delay_steps, ring.num_pushes, ring.write_idx, self.buf_depth, ring.buffer_pos, ring.buffer_vel,
            ring.buffer_act, target_pos, target_vel, feedforward, pos_indices, vel_indices,
        ]  # fmt: skip
        late = self._late
        wp.launch(read_late, len(self.delay_steps), inputs=inputs, outputs=late, device=self.delay_steps.device)
        return late[0], late[1], late[2]

    def update_state(
        self, target_pos: wp.array, target_vel: wp.array, feedforward: wp.array | None, pos_indices: wp.array,
        vel_indices: wp.array, current_state: Delay.State, next_state: Delay.State,
    ) -> None:  # fmt: skip
        """Put the commands of this step into the ring."""
        old, new = current_state, next_state
        inputs = [
            target_pos, target_vel, feedforward, pos_indices, vel_indices, self.buf_depth, old.buffer_pos,
            old.buffer_vel, old.buffer_act, old.num_pushes, old.write_idx,
        ]  # fmt: skip
        outputs = [new.buffer_pos, new.buffer_vel, new.buffer_act, new.num_pushes, new.write_idx]
        wp.launch(put_in, len(self.delay_steps), inputs=inputs, outputs=outputs, device=self.delay_steps.device)
