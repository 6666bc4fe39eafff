"""Contacts: buffers that collision detection fills."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import warp as wp

from ..devices import device_named
from ..errors import BuildError
from .fields import CONTACT, FIELDS, Field
from .state import Holder, find, place


class Contacts(Holder):
    """Room for `rigid_contact_max` contacts between shapes and `soft_contact_max` between particles and shapes.

    Args:
        rigid_contact_max: Room for contacts between shapes.
        soft_contact_max: Room for contacts of particles with shapes.
        requires_grad: Whether gradients flow through the arrays.
        device: Where the arrays live.
        requested_attributes: Further arrays to allocate: ``"force"``.
        fields: Custom attributes assigned to contacts.
    """

    EXTENDED_ATTRIBUTES = frozenset(f.key for f in FIELDS.values() if f.assignment == CONTACT and f.on_request)

    @classmethod
    def validate_extended_attributes(cls, attributes: Iterable[str]) -> None:
        """Raise if a name is not one that can be requested."""
        wrong = sorted(set(attributes) - cls.EXTENDED_ATTRIBUTES)
        if wrong:
            raise BuildError(f"unknown contact attributes {wrong}; known are {sorted(cls.EXTENDED_ATTRIBUTES)}")

    def __init__(
        self,
        rigid_contact_max: int,
        soft_contact_max: int,
        *,
        requires_grad: bool = False,
        device: Any = None,
        requested_attributes: Iterable[str] | None = None,
        fields: dict[str, Field] | None = None,
    ):
        for name, room in (("rigid_contact_max", rigid_contact_max), ("soft_contact_max", soft_contact_max)):
            if room < 0:
                raise BuildError(f"Contacts: {name}={room} is negative")
        requested = set(requested_attributes or ())
        self.validate_extended_attributes(requested)
        own = {key: field for key, field in FIELDS.items() if field.assignment == CONTACT}
        super().__init__(own | (fields or {}))
        self.rigid_contact_max, self.soft_contact_max = int(rigid_contact_max), int(soft_contact_max)
        self.device = device_named(device)
        self._counters = wp.zeros(2, dtype=wp.int32, device=device)
        self.rigid_contact_count, self.soft_contact_count = self._counters[0:1], self._counters[1:2]
        rows = {"rigid_contact": self.rigid_contact_max, "soft_contact": self.soft_contact_max}
        for field in own.values():
            value: Any = None
            if not field.on_request or field.key in requested:
                grad = requires_grad and np.issubdtype(field.numpy_dtype, np.floating)
                value = wp.zeros(rows[field.frequency], dtype=field.dtype, device=device, requires_grad=grad)
                if np.any(field.fill):
                    value.fill_(int(field.fill))
            place(self, field, value)

    def clear(self, bump_generation: bool = True) -> None:
        """Forget all contacts; `bump_generation` is not used: nothing counts how often they were found."""
        self._counters.zero_()
        for field, array in self.arrays():
            if find(self, field) is not None and field.dtype == wp.int32 and np.any(field.fill):
                array.fill_(int(field.fill))
