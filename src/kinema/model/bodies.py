"""Adding rigid bodies and articulations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BuildError
from .columns import numeric
from .enums import BodyFlags, JointType
from .transform import IDENTITY
from .worlds import WorldMethods, pose


def vector(value: Any, size: int, call: str, name: str) -> np.ndarray:
    """`value` as `size` finite floats."""
    array = numeric(value)
    if array is None or array.size != size or array.dtype.kind not in "fiu" or not np.all(np.isfinite(array)):
        raise BuildError(f"{call}: {name}={value!r} is not {size} finite numbers")
    return array.reshape(size).astype(np.float64)


def nonnegative(value: Any, call: str, name: str) -> float:
    """`value` as a finite float that is not negative."""
    number = float(value)
    if not np.isfinite(number) or number < 0.0:
        raise BuildError(f"{call}: {name}={value!r} must be finite and not negative")
    return number


class BodyMethods(WorldMethods):
    """The builder's methods that add bodies and articulations."""

    def add_link(
        self,
        *,
        xform: Any = None,
        com: Any = None,
        inertia: Any = None,
        mass: float = 0.0,
        label: str | None = None,
        lock_inertia: bool = False,
        is_kinematic: bool = False,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:
        """Add a body without a joint, to be connected by `add_joint_*`; returns its index.

        Args:
            xform: Pose [m, xyzw] in the world.
            com: Centre of mass [m] in the body.
            inertia: Inertia [kg m²] about the centre of mass, 3 by 3.
            mass: Mass [kg]; shapes add theirs.
            label: Name; ``body_<index>`` if None.
            lock_inertia: Shapes added later leave mass and inertia alone.
            is_kinematic: The body moves as it is told, not by forces.
            custom_attributes: Values of custom attributes of frequency BODY.
        """
        call = "add_link()"
        self.mutable(call)
        rows, custom = self._prepare_body(
            call, xform, com, inertia, mass, label, lock_inertia, is_kinematic, custom_attributes
        )
        return self._commit_body(rows, custom)

    def _prepare_body(self, call, xform, com, inertia, mass, label, lock_inertia, is_kinematic, custom_attributes):
        matrix = np.zeros(9) if inertia is None else vector(inertia, 9, call, "inertia")
        placed = pose(xform, call)
        rows = self.prepare(
            "body",
            1,
            {
                "body_label": [label or f"body_{self.count('body')}"],
                "body_q": IDENTITY if placed is None else placed,
                "body_com": np.zeros(3) if com is None else vector(com, 3, call, "com"),
                "body_mass": nonnegative(mass, call, "mass"),
                "body_inertia": matrix,
                "body_flags": int(BodyFlags.KINEMATIC if is_kinematic else BodyFlags.DYNAMIC),
                "body_lock_inertia": bool(lock_inertia),
            },
            call,
        )
        return rows, self.prepare_custom({"body": 1}, custom_attributes, call)

    def _commit_body(self, rows, custom) -> int:
        body = self.commit("body", 1, rows)
        self.commit_custom("body", body, custom["body"])
        return body

    def add_body(
        self,
        *,
        xform: Any = None,
        com: Any = None,
        inertia: Any = None,
        mass: float = 0.0,
        label: str | None = None,
        lock_inertia: bool = False,
        is_kinematic: bool = False,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:
        """Add a free-floating body: a link, a free joint and an articulation of that joint. Arguments as `add_link`."""
        call = "add_body()"
        self.mutable(call)
        rows, custom = self._prepare_body(
            call, xform, com, inertia, mass, label, lock_inertia, is_kinematic, custom_attributes
        )
        body = self._commit_body(rows, custom)
        joint = self.add_joint_free(body, label=f"{label}_free_joint" if label else None)
        self.add_articulation([joint], label=f"{label}_articulation" if label else None)
        return body

    def add_articulation(
        self, joints: list[int], label: str | None = None, custom_attributes: dict[str, Any] | None = None
    ) -> int:
        """Make a tree of consecutive joints an articulation; returns its index.

        Args:
            joints: Joint indices, rising without gaps, none of them in another articulation.
            label: Name; ``articulation_<index>`` if None.
            custom_attributes: Values of custom attributes of frequency ARTICULATION.
        """
        call = "add_articulation()"
        self.mutable(call)
        if len(joints) == 0:
            raise BuildError(f"{call}: an articulation needs at least one joint")
        index = self.check_indices("joint", joints, call)
        if np.any(np.diff(index) != 1):
            raise BuildError(
                f"{call}: joints must rise without gaps, got {list(joints)}; "
                "add all joints of one articulation before those of the next"
            )
        owner = self.rows("joint_articulation")[index]
        if np.any(owner >= 0):
            taken = int(index[np.argmax(owner >= 0)])
            raise BuildError(
                f"{call}: joint {taken} ({self.rows('joint_label')[taken]!r}) is already in articulation {owner.max()}"
            )
        if np.any(self.rows("joint_world")[index] != self._current_world):
            raise BuildError(f"{call}: joints {list(joints)} are not all in the current world {self._current_world}")
        parents, children = self.rows("joint_parent")[index], self.rows("joint_child")[index]
        check_tree(parents, children, call)
        kinematic = (self.rows("body_flags")[children] & BodyFlags.KINEMATIC) != 0
        if np.any(kinematic & (parents >= 0)):
            wrong = int(children[np.argmax(kinematic & (parents >= 0))])
            raise BuildError(f"{call}: body {wrong} is kinematic but not a root; only roots may be")
        rows = self.prepare(
            "articulation",
            1,
            {
                "articulation_label": [label or f"articulation_{self.count('articulation')}"],
                "articulation_start": int(index[0]),
                "articulation_end": int(index[-1]) + 1,
            },
            call,
        )
        custom = self.prepare_custom({"articulation": 1}, custom_attributes, call)
        articulation = self.commit("articulation", 1, rows)
        self.commit_custom("articulation", articulation, custom["articulation"])
        self._column("joint_articulation").write(int(index[0]), np.full(len(index), articulation, np.int32))
        return articulation


def check_tree(parents: np.ndarray, children: np.ndarray, call: str) -> None:
    """Each body has one parent, and no body is its own ancestor."""
    parent_of: dict[int, int] = {}
    for parent, child in zip(parents.tolist(), children.tolist(), strict=True):
        if parent_of.setdefault(child, parent) != parent:
            raise BuildError(
                f"{call}: body {child} has two parents, {parent_of[child]} and {parent}; "
                "leave joints that close a loop out of the articulation"
            )
    settled: set[int] = set()
    for start in parent_of:
        path: list[int] = []
        body = start
        while body in parent_of and body not in settled:
            if body in path:
                loop = path[path.index(body) :]
                raise BuildError(f"{call}: bodies {loop} form a cycle; leave the joint that closes it out")
            path.append(body)
            body = parent_of[body]
        settled.update(path)


FREE_TYPES = (JointType.FREE, JointType.DISTANCE)
