"""Control: what is applied to a model from outside: forces, targets, activations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import warp as wp

from .fields import Field
from .state import Holder

if TYPE_CHECKING:
    from .model import Model


class Control(Holder):
    """Joint forces, targets and feed-forward, activations of elements and muscles."""

    def __init__(self, fields: dict[str, Field] | None = None):
        super().__init__(fields)
        self.joint_f = self.joint_act = self.joint_target_qd = None
        self.joint_target_q: Any = None
        self.tri_activations = self.tet_activations = self.muscle_activations = None

    def clear(self, model: Model | None = None) -> None:
        """Set everything to zero; position targets to the model's where it is given."""
        for _, array in self.arrays():
            array.zero_()
        if model is not None and self.joint_target_q is not None:
            wp.copy(self.joint_target_q, model.joint_target_q)
