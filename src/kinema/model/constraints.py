"""Adding constraints between joints and bodies: mimic joints, and MuJoCo's equality constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import BuildError
from .enums import EqType, JointType
from .frequency import EQUALITY
from .joints import JointMethods
from .transform import IDENTITY
from .worlds import pose


class ConstraintMethods(JointMethods):
    """The builder's methods that add constraints."""

    def set_joint_mimic(self, joint: int, reference_joint: int | None, *, coeffs: Any = (0.0, 1.0)) -> None:
        """Let a joint follow another one, q = c0 + c1 q_reference; None lets it go."""
        call = "set_joint_mimic()"
        self.mutable(call)
        joint = self.check_index("joint", joint, call)
        if reference_joint is None:
            self.edit("joint_mimic_joint")[joint] = -1
            self.edit("joint_mimic_coeffs")[joint] = (0.0, 1.0)
            return
        leader = self.check_index("joint", reference_joint, call)
        types, dims = self.rows("joint_type"), self.rows("joint_dof_dim")
        pairs = [JointType(types[j]).dof_count(int(dims[j].sum())) for j in (joint, leader)]
        if joint == leader or pairs[0] != pairs[1]:
            raise BuildError(f"{call}: joint {joint} cannot follow joint {leader}; they must differ and match in size")
        if self.rows("joint_world")[joint] != self.rows("joint_world")[leader]:
            raise BuildError(f"{call}: joints {joint} and {leader} are in different worlds")
        if self.rows("joint_mimic_joint")[leader] != -1 or joint in self.rows("joint_mimic_joint"):
            raise BuildError(f"{call}: joint {leader} already follows, or joint {joint} is already followed")
        values = np.asarray(coeffs, dtype=np.float64)
        if values.shape != (2,) or not np.all(np.isfinite(values)):
            raise BuildError(f"{call}: coeffs={coeffs!r} are not two finite numbers")
        self.edit("joint_mimic_joint")[joint] = leader
        self.edit("joint_mimic_coeffs")[joint] = values

    def add_constraint_mimic(
        self, joint0: int, joint1: int, coef0: float = 0.0, coef1: float = 1.0, enabled: bool = True,
        label: str | None = None, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Constrain q0 = coef0 + coef1 q1; returns the index of the constraint."""
        call = "add_constraint_mimic()"
        self.mutable(call)
        for joint in (joint0, joint1):
            if self.rows("joint_world")[self.check_index("joint", joint, call)] != self._current_world:
                raise BuildError(f"{call}: joint {joint} is not in the current world {self._current_world}")
        rows = self.prepare("constraint_mimic", 1, {
            "constraint_mimic_joint0": joint0, "constraint_mimic_joint1": joint1, "constraint_mimic_coef0": coef0,
            "constraint_mimic_coef1": coef1, "constraint_mimic_enabled": bool(enabled),
            "constraint_mimic_label": [label or ""],
        }, call)  # fmt: skip
        custom = self.prepare_custom({"constraint_mimic": 1}, custom_attributes, call)
        index = self.commit("constraint_mimic", 1, rows)
        self.commit_custom("constraint_mimic", index, custom["constraint_mimic"])
        return index

    def add_equality_constraint(
        self, constraint_type: EqType, body1: int = -1, body2: int = -1, anchor: Any = None,
        torquescale: float | None = None, relpose: Any = None, joint1: int = -1, joint2: int = -1,
        polycoef: Sequence[float] | None = None, label: str | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add an equality constraint of any type to ``model.mujoco.equality_constraint_*``; returns its index."""
        call = "add_equality_constraint()"
        self.mutable(call)
        for kind, indices in (("body", (body1, body2)), ("joint", (joint1, joint2))):
            self.check_indices(kind, indices, call, none=True)
        placed = pose(relpose, call, "relpose")
        columns = {
            "type": int(EqType(constraint_type)), "body1": body1, "body2": body2,
            "anchor": np.zeros(3) if anchor is None else anchor,
            "torquescale": 1.0 if torquescale is None else torquescale,
            "relpose": IDENTITY if placed is None else placed, "joint1": joint1, "joint2": joint2,
            "polycoef": (0.0, 1.0, 0.0, 0.0, 0.0) if polycoef is None else polycoef, "label": [label or ""],
            "enabled": bool(enabled),
        }  # fmt: skip
        rows = self.prepare(EQUALITY, 1, {f"mujoco:equality_constraint_{k}": v for k, v in columns.items()}, call)
        custom = self.prepare_custom({EQUALITY: 1}, custom_attributes, call)
        index = self.commit(EQUALITY, 1, rows)
        self.commit_custom(EQUALITY, index, custom[EQUALITY])
        return index

    def add_equality_constraint_connect(
        self, body1: int = -1, body2: int = -1, anchor: Any = None, label: str | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Hold two bodies together at a point of the first."""
        return self.add_equality_constraint(
            EqType.CONNECT, body1, body2, anchor, label=label, enabled=enabled, custom_attributes=custom_attributes
        )

    def add_equality_constraint_weld(
        self, body1: int = -1, body2: int = -1, anchor: Any = None, torquescale: float | None = None,
        relpose: Any = None, label: str | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Hold two bodies together in position and orientation."""
        return self.add_equality_constraint(
            EqType.WELD, body1, body2, anchor, torquescale, relpose, label=label, enabled=enabled,
            custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_equality_constraint_joint(
        self, joint1: int = -1, joint2: int = -1, polycoef: Sequence[float] | None = None, label: str | None = None,
        enabled: bool = True, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Let a joint follow a polynomial of another one."""
        return self.add_equality_constraint(
            EqType.JOINT, joint1=joint1, joint2=joint2, polycoef=polycoef, label=label, enabled=enabled,
            custom_attributes=custom_attributes,
        )  # fmt: skip
