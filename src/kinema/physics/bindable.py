"""What a bound element offers: for each kind of element, its fields of mjModel and mjData under short names.

The tables of MuJoCo's fields decide: a field belongs to a kind if its first axis counts that kind's objects or their
rows; its short name is its name without the kind's prefix. Where two fields share a short name the later in the tables
wins, and mjModel's over mjData's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from kinema.model.mujoco_fields import Field, data_fields, model_arrays

KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "actuator": (("na", "nu", "nactuator", "nout"), ("actuator_",)),
    "body": (("nbody",), ("body_",)),
    "mocap_body": (("nbody", "nmocap"), ("body_",)),
    "camera": (("ncam",), ("cam_",)),
    "equality": (("neq",), ("eq_",)),
    "flex": (("nflex", "nflexvert", "nflexnode", "nflexedge", "nflexelem"), ("flex_",)),
    "geom": (("ngeom",), ("geom_",)),
    "hfield": (("nhfield",), ("hfield_",)),
    "joint": (("nq", "nv", "njnt"), ("jnt_", "dof_")),
    "light": (("nlight",), ("light_",)),
    "material": (("nmat",), ("mat_",)),
    "mesh": (("nmesh",), ("mesh_",)),
    "numeric": (("nnumeric", "nnumericdata"), ("numeric_",)),
    "sensor": (("nsensor", "nsensordata"), ("sensor_",)),
    "site": (("nsite",), ("site_",)),
    "skin": (("nskin",), ("skin_",)),
    "tendon": (("ntendon",), ("tendon_", "ten_")),
    "text": (("ntext", "ntextdata"), ("text_",)),
    "texture": (("ntex",), ("tex_",)),
}
"""Kinds of element that can be bound: the sizes that count them or their rows, and the prefixes of their fields."""

TRIGGERS = frozenset({"qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied"})
"""Fields of mjData from which others follow: writing one makes the others out of date."""

APPEARANCE = frozenset({"rgba", "matid", "emission", "specular", "shininess", "reflectance", "needstage"})
"""Short names of mjModel's fields from which nothing in mjData follows."""

SHORTCUTS = {
    **{f"{kind}_{what}": ("sameframe",) for kind in ("body", "geom", "site") for what in ("pos", "quat")},
    **{f"body_{what}": ("simple", "sameframe") for what in ("ipos", "iquat")},
}
"""Flags that say a frame coincides with another: they no longer hold once the field is written."""


@dataclass(frozen=True, slots=True)
class Bindable:
    """One attribute of a bound element.

    Attributes:
        field: Name in mjModel or mjData.
        struct: "model" or "data".
        triggers_dirty: Whether writing it makes other fields out of date.
        disable_on_write: Attributes that writing it sets to 0.
    """

    field: str
    struct: str
    triggers_dirty: bool
    disable_on_write: tuple[str, ...] = ()


@cache
def attributes_of(kind: str) -> Mapping[str, Bindable]:
    """The attributes of a kind of bound element by their short names; KeyError for other kinds."""
    sizes, prefixes = KINDS[kind]

    def belongs(field: Field) -> bool:
        return bool(field.shape) and field.shape[0] in sizes

    def short(name: str) -> str:
        return next((name.removeprefix(prefix) for prefix in prefixes if name.startswith(prefix)), name)

    found = {}
    for field in filter(belongs, data_fields().values()):
        name = short(field.name)
        found[name] = Bindable(field.name, "data", name in TRIGGERS)
    for field in filter(belongs, model_arrays()):
        name = short(field.name)
        found[name] = Bindable(field.name, "model", name not in APPEARANCE, SHORTCUTS.get(field.name, ()))
    return found
