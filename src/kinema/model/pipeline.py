"""CollisionPipeline: Newton's object for finding contacts, over the one way that Kinema finds them.

    pipeline = CollisionPipeline(model)
    contacts = pipeline.contacts()
    pipeline.collide(state, contacts)

The broad phase is chosen by the model, contacts are not merged and their order is the same every time, so arguments
that choose among Newton's ways are taken where they ask for what happens anyway, and refused by name where not.
Solvers find their own contacts; this is for programs that look at them.
"""

from __future__ import annotations

from typing import Any

from ..closed import Closed
from ..errors import BuildError, did_you_mean
from .contacts import Contacts
from .model import Model
from .state import State

ANY = object()
TAKEN = {
    "reduce_contacts": ANY, "max_triangle_pairs": ANY, "include_static_kinematic_pairs": ANY, "broad_phase": ANY,
    "deterministic": ANY, "verify_buffers": ANY, "contact_reduction_hashtable_size_factor": ANY,
    "shape_pairs_max": ANY, "requires_grad": (None, False), "shape_pairs_filtered": (None,),
    "soft_contact_gap": (None,), "soft_contact_margin": (None,), "enable_rigid_soft_full_surface_contact": (False,),
    "narrow_phase": (None,), "sdf_hydroelastic_config": (None,), "contact_matching": ("disabled",),
    "contact_matching_pos_threshold": ANY, "contact_matching_normal_dot_threshold": ANY, "contact_report": (False,),
    "speculative_contact_gap_max": (None,),
}  # fmt: skip
"""Newton's other arguments, and the values at which they ask for what is done here."""


class CollisionPipeline(Closed):
    """Finds the contacts of a model's states.

    Args:
        model: The model.
        rigid_contact_max: Room for contacts of shapes; None: estimated.
        soft_contact_max: Room for contacts of particles; None: estimated.
        others: Newton's other arguments (`TAKEN`).
    """

    def __init__(
        self, model: Model, *, rigid_contact_max: int | None = None, soft_contact_max: int | None = None, **others: Any
    ):
        for name, value in others.items():
            if name not in TAKEN:
                raise BuildError(f"CollisionPipeline() has no argument {name!r}{did_you_mean(name, TAKEN)}")
            values: Any = TAKEN[name]
            if values is not ANY and not any(value is known or value == known for known in values):
                raise BuildError(f"CollisionPipeline(): {name}={value!r} is not supported")
        self.model = model
        if rigid_contact_max is not None:
            model.rigid_contact_max = int(rigid_contact_max)
        if soft_contact_max is not None:
            model.soft_contact_max = int(soft_contact_max)

    def contacts(self) -> Contacts:
        """Empty buffers."""
        return self.model.contacts()

    def collide(self, state: State, contacts: Contacts) -> None:
        """Find the contacts of a state; the buffers are cleared first."""
        self.model.collide(state, contacts)
