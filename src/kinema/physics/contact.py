"""Contacts as records, the force in one, and velocities of objects.

The formulas are those of mj_contactForce and mj_objectVelocity:

    force of a contact, elliptic cone    rows of efc_force are normal, tangents, spin, rolls
    pyramidal cone, edges f+_i, f-_i     normal = Σ_i f+_i + f-_i,   component i = mu_i (f+_i - f-_i)
    velocity at p of a body of a tree    ω and v + ω x (p - c), with (ω, v) = cvel at c, the tree's centre of mass
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.errors import BuildError, WrongKind
from kinema.mujoco_enums import Cone, Obj
from kinema.simulation.contact import contact_records

if TYPE_CHECKING:
    from kinema.physics.run import Run

FRAMES = {
    Obj.BODY: ("xipos", "ximat", None), Obj.XBODY: ("xpos", "xmat", None),
    Obj.GEOM: ("geom_xpos", "geom_xmat", "geom_bodyid"), Obj.SITE: ("site_xpos", "site_xmat", "site_bodyid"),
    Obj.CAMERA: ("cam_xpos", "cam_xmat", "cam_bodyid"),
}  # fmt: skip
"""Position, axes and body of the objects that have a frame."""


def contacts(run: Run) -> np.recarray:
    """The contacts of the only world, as records with mjContact's names."""
    if run.worlds > 1:
        raise BuildError("data.contact is of one world; with several, read contact arrays by Simulation.d")
    count = int(run.mirror("ncon").values[0])  # brings what is due up to date
    found: Any = contact_records(run.engine)
    return found[0, :count].copy()


def contact_force(run: Run, contact_id: int) -> np.ndarray:
    """Force and torque of a contact in its frame, (2, 3)."""
    found = contacts(run)
    if not 0 <= contact_id < len(found):
        raise BuildError(f"`contact_id` must be between 0 and {len(found) - 1} (inclusive), got: {contact_id}.")
    contact = found[contact_id]
    wrench = np.zeros(6)
    if contact.efc_address >= 0:
        pyramid = run.model.opt.cone == Cone.PYRAMIDAL and contact.dim > 1
        rows = 2 * (contact.dim - 1) if pyramid else contact.dim
        force = run.engine.array("efc_force").numpy()[0, contact.efc_address :][:rows].astype(float)
        if pyramid:
            wrench[0] = force.sum()
            wrench[1 : contact.dim] = (force[::2] - force[1::2]) * contact.friction[: contact.dim - 1]
        else:
            wrench[:rows] = force
    return wrench.reshape(2, 3)


def object_velocity(run: Run, kind: str | int, object_id: int, local_frame: bool) -> np.ndarray:
    """Linear and angular velocity of an object, (..., 2, 3), in the world's axes or in its own."""
    kind = Obj[kind.upper()] if isinstance(kind, str) else Obj(int(kind))
    if kind not in FRAMES:
        known = ", ".join(found.name.lower() for found in FRAMES)
        raise WrongKind(f"a {kind.name.lower()} has no frame of its own; velocities are of: {known}")
    place, axes, owner = FRAMES[kind]
    body = object_id if owner is None else int(getattr(run.model, owner)[object_id])
    point = run.mirror(place).hand_out()[..., object_id, :]
    centre = run.mirror("subtree_com").hand_out()[..., int(run.model.body_rootid[body]), :]
    spin, linear = np.split(run.mirror("cvel").hand_out()[..., body, :], 2, axis=-1)
    velocity = np.stack([linear + np.cross(spin, point - centre), spin], axis=-2)
    if local_frame:
        rotation = run.mirror(axes).hand_out()[..., object_id, :]
        velocity = velocity @ rotation.reshape(*rotation.shape[:-1], 3, 3)
    return velocity
