"""What a step tells besides the state, as Newton asks for it: accelerations, forces of joints, forces of contacts.

    observables = solver.observables({"body_qdd", "contact_f"}, contacts=contacts)
    solver.step(state, state, control, None, dt, observables=observables)
    observables.contact_f                       one row a contact of `contacts`, which the step has filled

Arrays are made once; nothing is computed for those that were not asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import warp as wp

from kinema.errors import BuildError, did_you_mean
from kinema.model import Contacts, Model

LOADS = frozenset({"body_qdd", "body_parent_f"})
"""What an engine computes while it makes a step, where it is wanted."""


class ObservableKind:
    """Names of what can be asked for."""

    BODY_QDD = "body_qdd"
    BODY_PARENT_F = "body_parent_f"
    CONTACT_F = "contact_f"


@dataclass(eq=False)
class Observables:
    """Arrays that `step` fills; None: not asked for.

    Attributes:
        model: The model they are of.
        contacts: Buffers of the contacts that forces are of.
        body_qdd: Accelerations of bodies' centres of mass, linear then angular [m/s², rad/s²].
        body_parent_f: Forces and torques of the joints that hold bodies, at their centres of mass [N, N m].
        contact_f: Forces and torques on shape 0 of each contact, in the world's frame [N, N m].
    """

    model: Model
    contacts: Contacts | None = None
    body_qdd: wp.array | None = None
    body_parent_f: wp.array | None = None
    contact_f: wp.array | None = None


def allocate(
    model: Model, kinds: Iterable[str], supported: Collection[str], contacts: Contacts | None
) -> Observables:
    """Arrays for some kinds; BuildError for one that is not supported."""
    wanted = {kinds} if isinstance(kinds, str) else set(kinds)
    for kind in sorted(wanted - set(supported)):
        known = ", ".join(sorted(supported))
        raise BuildError(f"observables(): {kind!r}{did_you_mean(kind, supported)} is not computed; known are {known}")
    made = Observables(model)
    wrench: Any = wp.spatial_vector
    for name in sorted(wanted & LOADS):
        setattr(made, name, wp.zeros(model.body_count, dtype=wrench, device=model.device))
    if ObservableKind.CONTACT_F in wanted:
        if contacts is None:
            raise BuildError("observables(): contact_f needs contacts=, the buffers that the forces are of")
        made.contacts = contacts
        made.contact_f = wp.zeros(contacts.rigid_contact_max, dtype=wrench, device=model.device)
    return made
