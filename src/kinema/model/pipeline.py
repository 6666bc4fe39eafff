"""CollisionPipeline: Newton's object for finding contacts, over the one way that Kinema finds them.

    pipeline = CollisionPipeline(model)
    contacts = pipeline.contacts()
    pipeline.collide(state, contacts)

The broad phase is chosen by the model, contacts are not merged and their order is the same every time, so arguments
that choose among Newton's ways are taken where they ask for what happens anyway, and refused by name where not. Those
that say what counts as a contact are done.
Solvers find their own contacts; this is for programs that look at them.
"""

from __future__ import annotations

from typing import Any

from ..closed import Closed
from ..errors import ArgumentNotNeeded, BuildError, did_you_mean, warn_caller
from .contacts import Contacts
from .model import Model
from .state import State

ANY = object()
BROAD = (None, "nxn", "sap", "explicit")
DONE = ("rigid_contact_max", "soft_contact_max", "soft_contact_gap", "soft_contact_margin", "broad_phase",
        "shape_pairs_filtered", "include_static_kinematic_pairs")  # fmt: skip
TAKEN = {
    "reduce_contacts": ANY, "max_triangle_pairs": ANY, "deterministic": ANY, "verify_buffers": ANY,
    "contact_reduction_hashtable_size_factor": ANY, "shape_pairs_max": ANY, "requires_grad": (None, False),
    "enable_rigid_soft_full_surface_contact": (False,),
    "narrow_phase": (None,), "sdf_hydroelastic_config": (None,), "contact_matching": ANY,
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
        soft_contact_gap: Distance [m] within which particles are in contact, beyond radius and margin; None: 0.01.
        soft_contact_margin: The same, as it was called before.
        broad_phase: "nxn", "sap" or "explicit": with the last only `shape_pairs_filtered` count.
        shape_pairs_filtered: Pairs of shapes that count, (n, 2); None: all that may touch.
        include_static_kinematic_pairs: Whether things touch of which none is free to move.
        others: Newton's other arguments (`TAKEN`).
    """

    def __init__(
        self, model: Model, *, rigid_contact_max: int | None = None, soft_contact_max: int | None = None,
        soft_contact_gap: float | None = None, soft_contact_margin: float | None = None,
        broad_phase: str | None = None, shape_pairs_filtered: Any = None, include_static_kinematic_pairs: bool = True,
        **others: Any,
    ):  # fmt: skip
        for name, value in others.items():
            if name not in TAKEN:
                raise BuildError(f"CollisionPipeline() has no argument {name!r}{did_you_mean(name, [*TAKEN, *DONE])}")
            values: Any = TAKEN[name]
            if values is not ANY and not any(value is known or value == known for known in values):
                raise BuildError(f"CollisionPipeline(): {name}={value!r} is not supported")
        if others.get("contact_matching", "disabled") != "disabled":
            warn_caller("CollisionPipeline(): contact_matching is taken and not needed: a step begins with the forces "
                        "of the last one without it", ArgumentNotNeeded)  # fmt: skip
        if broad_phase not in BROAD:
            known = ", ".join(str(word) for word in BROAD if word)
            raise BuildError(f"broad_phase={broad_phase!r}{did_you_mean(str(broad_phase), BROAD[1:])}: one of {known}")
        if soft_contact_gap is not None and soft_contact_margin is not None:
            raise BuildError("soft_contact_margin is soft_contact_gap's former name: give one of them")
        self.model = model
        self.soft_contact_gap = soft_contact_margin if soft_contact_gap is None else soft_contact_gap
        self._rules: Any = None
        pairs = shape_pairs_filtered if broad_phase == "explicit" else None
        if pairs is not None or not include_static_kinematic_pairs:
            from ..adapter.model_contacts import rules_of  # a higher layer, imported on use

            self._rules = rules_of(model, pairs, moved_only=not include_static_kinematic_pairs)
        if rigid_contact_max is not None:
            model.rigid_contact_max = int(rigid_contact_max)
        if soft_contact_max is not None:
            model.soft_contact_max = int(soft_contact_max)

    def contacts(self) -> Contacts:
        """Empty buffers."""
        return self.model.contacts()

    def collide(
        self, state: State, contacts: Contacts, *, soft_contact_margin: float | None = None, dt: float | None = None,
        soft_self_contact: bool | None = None,
    ) -> None:  # fmt: skip
        """Find the contacts of a state; the buffers are cleared first.

        Args:
            state: The state.
            contacts: Where they go.
            soft_contact_margin: How near particles count as touching [m]; None: as the pipeline was told.
            dt: Not used: contacts are those of the state, none is looked for ahead.
            soft_self_contact: Not used: `SolverConvex(particle_enable_self_contact=True)` has these.
        """
        from ..adapter.model_contacts import collide_model  # a higher layer, imported on use

        gap = self.soft_contact_gap if soft_contact_margin is None else soft_contact_margin
        collide_model(self.model, state, contacts, rules=self._rules, soft_gap=gap)
