"""Clamps: what an actuator can give at most.

    max effort        |f| <= f_max
    DC motor          max(s (-1 - v / v_max), -f_max) <= f <= min(s (1 - v / v_max), f_max)
    position based    |f| <= table(q), linear between entries, constant beyond them

s is the effort at stall and v_max the speed without load. v is held where the lines of the motor meet ±f_max, at
v_max (1 + f_max / s), so that a dof that spins far too fast is braked with f_max and no more.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any, ClassVar, no_type_check

import numpy as np
import warp as wp

from ..errors import BuildError
from .parameters import Number, Part, bind_columns, same_shape


class ClampingBase(Part):
    """A bound of effort. `modify_forces` must be given."""

    evaluate_clamp: ClassVar[Any] = None
    """The bound as a `wp.func` of (value, q, qd, params, i, first column) -> float64, or None."""

    def finalize(self, device: Any, num_actuators: int) -> None:
        """Allocate what the clamp needs; called once, by the actuator."""

    def param_width(self) -> int:
        """Columns that `bind_params` fills."""
        return 0

    def bind_params(self, block: wp.array) -> None:
        """Write parameters as rows for `evaluate_clamp`, and let the clamp's own arrays be columns of them."""
        raise NotImplementedError(f"{type(self).__name__} has no form that can be solved for")

    def modify_forces(
        self, src_forces: wp.array, dst_forces: wp.array, positions: wp.array, velocities: wp.array,
        pos_indices: wp.array, vel_indices: wp.array, device: Any = None,
    ) -> None:  # fmt: skip
        """Write the efforts of `src_forces`, bounded, into `dst_forces`, which may be the same array."""
        raise NotImplementedError(f"{type(self).__name__} must implement modify_forces")


# ---- the same at every speed


@no_type_check
@wp.func
def within_effort(
    value: wp.float64, q: wp.float64, qd: wp.float64, params: wp.array2d(dtype=float), i: int, base: int
) -> wp.float64:
    most = wp.float64(params[i, base])
    return wp.clamp(value, -most, most)


@no_type_check
@wp.kernel
def clamp_effort(most: wp.array(dtype=float), src: wp.array(dtype=float), dst: wp.array(dtype=float)):
    i = wp.tid()
    dst[i] = wp.clamp(src[i], -most[i], most[i])


class ClampingMaxEffort(ClampingBase):
    """No more than `max_effort` [N or N m] either way."""

    PARAMETERS = {"max_effort": Number(math.inf, 0.0)}
    evaluate_clamp = within_effort

    def __init__(self, max_effort: wp.array):
        self.max_effort = max_effort

    def param_width(self) -> int:
        """One column."""
        return 1

    def bind_params(self, block: wp.array) -> None:
        """Rows of max_effort."""
        bind_columns(self, ("max_effort",), block)

    def modify_forces(
        self, src_forces, dst_forces, positions, velocities, pos_indices, vel_indices, device=None
    ) -> None:
        """Write bounded efforts."""
        inputs = [self.max_effort, src_forces]
        wp.launch(clamp_effort, len(src_forces), inputs=inputs, outputs=[dst_forces], device=device)


# ---- a motor


@no_type_check
@wp.func
def motor_bounds(v: Any, stall: Any, top: Any, most: Any):
    """Least and largest effort of a motor at a speed."""
    one = type(v)(1.0)
    meets = top
    if stall > type(v)(0.0):
        ratio = most / stall
        if ratio == ratio:
            meets = top * (one + ratio)
    share = wp.clamp(v, -meets, meets) / top
    return wp.max(stall * (-one - share), -most), wp.min(stall * (one - share), most)


@no_type_check
@wp.func
def within_motor(
    value: wp.float64, q: wp.float64, qd: wp.float64, params: wp.array2d(dtype=float), i: int, base: int
) -> wp.float64:
    stall, top, most = wp.float64(params[i, base]), wp.float64(params[i, base + 1]), wp.float64(params[i, base + 2])
    low, high = motor_bounds(qd, stall, top, most)
    return wp.clamp(value, low, high)


@no_type_check
@wp.kernel
def clamp_motor(
    velocities: wp.array(dtype=float), at: wp.array(dtype=wp.uint32), stall: wp.array(dtype=float),
    top: wp.array(dtype=float), most: wp.array(dtype=float), src: wp.array(dtype=float), dst: wp.array(dtype=float),
):  # fmt: skip
    i = wp.tid()
    low, high = motor_bounds(velocities[at[i]], stall[i], top[i], most[i])
    dst[i] = wp.clamp(src[i], low, high)


class ClampingDCMotor(ClampingBase):
    """What a DC motor can give at its speed.

    Args:
        saturation_effort: Effort at stall [N or N m] of each dof.
        velocity_limit: Speed without load [m/s or rad/s].
        max_motor_effort: Most effort [N or N m] at any speed.
    """

    PARAMETERS = {
        "saturation_effort": Number(math.inf, 0.0), "velocity_limit": Number(math.inf, 0.0, strict=True),
        "max_motor_effort": Number(math.inf, 0.0),
    }  # fmt: skip
    evaluate_clamp = within_motor

    @classmethod
    def resolve_arguments(cls, args: dict[str, Any]) -> dict[str, Any]:
        """Arguments of one dof, checked, with defaults where none is given."""
        found = super().resolve_arguments(args)
        if math.isinf(found["saturation_effort"]) and not math.isinf(found["velocity_limit"]):
            raise BuildError(f"velocity_limit={found['velocity_limit']!r} needs a saturation_effort that is finite")
        return found

    def __init__(self, saturation_effort: wp.array, velocity_limit: wp.array, max_motor_effort: wp.array):
        same_shape(
            saturation_effort=saturation_effort, velocity_limit=velocity_limit, max_motor_effort=max_motor_effort
        )
        self.saturation_effort, self.velocity_limit = saturation_effort, velocity_limit
        self.max_motor_effort = max_motor_effort

    def param_width(self) -> int:
        """Three columns."""
        return 3

    def bind_params(self, block: wp.array) -> None:
        """Rows of the three numbers."""
        bind_columns(self, tuple(self.PARAMETERS), block)

    def modify_forces(
        self, src_forces, dst_forces, positions, velocities, pos_indices, vel_indices, device=None
    ) -> None:
        """Write bounded efforts."""
        inputs = [
            velocities, vel_indices, self.saturation_effort, self.velocity_limit, self.max_motor_effort, src_forces,
        ]  # fmt: skip
        wp.launch(clamp_motor, len(src_forces), inputs=inputs, outputs=[dst_forces], device=device)


# ---- a table over positions


@no_type_check
@wp.func
def looked_up(x: Any, table: wp.array(dtype=float), xs: int, ys: int, n: int):
    """y at x of a table whose x begin at `xs` and y at `ys`; constant beyond its ends."""
    found = type(x)(table[ys + n - 1])
    if x <= type(x)(table[xs]):
        found = type(x)(table[ys])
    elif x < type(x)(table[xs + n - 1]):
        k = int(0)
        while type(x)(table[xs + k + 1]) < x:
            k += 1
        x0, x1 = type(x)(table[xs + k]), type(x)(table[xs + k + 1])
        y0, y1 = type(x)(table[ys + k]), type(x)(table[ys + k + 1])
        found = y0
        if x1 > x0:
            found = y0 + (x - x0) / (x1 - x0) * (y1 - y0)
    return found


@no_type_check
@wp.func
def within_table(
    value: wp.float64, q: wp.float64, qd: wp.float64, params: wp.array2d(dtype=float), i: int, base: int
) -> wp.float64:
    n = int(params[i, base])
    most = looked_up(q, params[i], base + 1, base + 1 + n, n)
    return wp.clamp(value, -most, most)


@no_type_check
@wp.kernel
def clamp_by_table(
    positions: wp.array(dtype=float), at: wp.array(dtype=wp.uint32), table: wp.array(dtype=float), n: int,
    src: wp.array(dtype=float), dst: wp.array(dtype=float),
):  # fmt: skip
    i = wp.tid()
    most = looked_up(positions[at[i]], table, 0, n, n)
    dst[i] = wp.clamp(src[i], -most, most)


class ClampingPositionBased(ClampingBase):
    """As much as a table says at the dof's position; one table for all dofs of an actuator.

    Args:
        lookup_table_path: A file of two columns, position and effort, separated by commas or spaces.
        lookup_positions: Positions [m or rad], rising, instead of a file.
        lookup_efforts: Most effort [N or N m] at each.
    """

    SHARED_PARAMS = {"lookup_table_path", "lookup_positions", "lookup_efforts"}
    evaluate_clamp = within_table

    @classmethod
    def resolve_arguments(cls, args: dict[str, Any]) -> dict[str, Any]:
        """The table, from a file or as two lists."""
        given = {name: args[name] for name in sorted(cls.SHARED_PARAMS) if name in args}
        if "lookup_table_path" in given and len(given) == 1:
            return given
        if set(given) != {"lookup_positions", "lookup_efforts"}:
            raise BuildError(
                f"{cls.__name__} needs lookup_table_path=, or lookup_positions= and lookup_efforts=; got {list(given)}"
            )
        table = {name: tuple(float(x) for x in values) for name, values in given.items()}
        check_table(table["lookup_positions"], table["lookup_efforts"], cls.__name__)
        return table

    def __init__(
        self, lookup_table_path: str | None = None, lookup_positions: Any = None, lookup_efforts: Any = None
    ):
        name = type(self).__name__
        if lookup_table_path is not None:
            lookup_positions, lookup_efforts = read_table(lookup_table_path)
            name = str(lookup_table_path)
        if lookup_positions is None or lookup_efforts is None:
            raise BuildError(f"{name}: give lookup_table_path=, or both lookup_positions= and lookup_efforts=")
        check_table(lookup_positions, lookup_efforts, name)
        self.lookup_size = len(lookup_positions)
        self._rows = np.array([*lookup_positions, *lookup_efforts], dtype=np.float32)
        self._table: wp.array | None = None
        self.lookup_positions: wp.array | None = None
        self.lookup_efforts: wp.array | None = None

    def finalize(self, device: Any, num_actuators: int) -> None:
        """The table onto the device."""
        self._table = wp.array(self._rows, dtype=wp.float32, device=device)
        self.lookup_positions = self._table[: self.lookup_size]
        self.lookup_efforts = self._table[self.lookup_size :]

    def param_width(self) -> int:
        """The length of the table, and its two columns."""
        return 1 + 2 * self.lookup_size

    def bind_params(self, block: wp.array) -> None:
        """The table in every row, as it is now."""
        assert self._table is not None
        block.assign(np.tile([self.lookup_size, *self._table.numpy()], (block.shape[0], 1)).astype(np.float32))

    def modify_forces(
        self, src_forces, dst_forces, positions, velocities, pos_indices, vel_indices, device=None
    ) -> None:
        """Write bounded efforts."""
        inputs = [positions, pos_indices, self._table, self.lookup_size, src_forces]
        wp.launch(clamp_by_table, len(src_forces), inputs=inputs, outputs=[dst_forces], device=device)


def read_table(path: str) -> tuple[list[float], list[float]]:
    """Positions and efforts of a file of two columns; lines that begin with # are remarks."""
    file = Path(path)
    if not file.is_file():
        raise BuildError(f"lookup_table_path={str(path)!r}: there is no such file")
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    rows = [(k, line.replace(",", " ").split()) for k, line in lines if line.strip()[:1] not in ("", "#")]
    try:
        pairs = [(float(row[0]), float(row[1])) for _, row in rows]
    except (ValueError, IndexError):
        number, row = next((n, r) for n, r in rows if len(r) < 2 or not all(_is_number(x) for x in r[:2]))
        raise BuildError(f"{path}:{number}: {' '.join(row)!r} is not a position and an effort") from None
    if len(pairs) != len(rows) or not pairs:
        raise BuildError(f"{path}: the table is empty")
    if any(len(row) > 2 for _, row in rows):
        warnings.warn(f"{path}: only the first two columns are read", stacklevel=3)
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_table(positions: Any, efforts: Any, name: str) -> None:
    """A table has as many efforts as positions, which rise, and no effort below zero."""
    if len(positions) == 0 or len(positions) != len(efforts):
        raise BuildError(f"{name}: {len(positions)} positions and {len(efforts)} efforts: a table has as many of both")
    if any(effort < 0.0 for effort in efforts):
        raise BuildError(f"{name}: an effort of {min(efforts)} is below zero; the bound holds either way")
    if any(b < a for a, b in zip(positions, positions[1:], strict=False)):
        raise BuildError(f"{name}: positions must rise; they are {list(positions)}")
