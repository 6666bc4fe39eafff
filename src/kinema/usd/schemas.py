"""Whose attributes mean what: names of Newton, PhysX and MuJoCo for the same numbers, as one table.

A row says where a vocabulary keeps a number of a prim, and how it reads. Only what is authored counts: what a schema
would fill in is left to the builder's defaults. Vocabularies are asked in the order they are given in; by default
Newton's alone is, as in Newton.

    angular values are per degree in Newton's and PhysX's schemas, per radian in MuJoCo's ("damping_per_rad")
    +inf is no limit of speed, -inf a number that is not given
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..errors import BuildError, did_you_mean

Entry = str | tuple[tuple[str, ...], Callable[..., Any]]
"""An attribute, or several and what is made of their values (None where one is not authored)."""

AXES = ("linear", "angular", "transX", "transY", "transZ", "rotX", "rotY", "rotZ")


def _given(value: Any) -> Any:
    return None if value is None or value == float("-inf") else value


def _gap(contact: Any, rest: Any) -> Any:
    return None if _given(contact) is None or _given(rest) is None else float(contact) - float(rest)


def stiffness_and_damping(solref: Any) -> tuple[float | None, float | None]:
    """What a solref of MuJoCo's amounts to: k = 1/(t d)^2, b = 2/t, or both as they are where they are negative."""
    if solref is None or len(solref) < 2:
        return None, None
    time, ratio = float(solref[0]), float(solref[1])
    if time < 0.0 and ratio < 0.0:
        return -time, -ratio
    if time <= 0.0 or ratio <= 0.0:
        return None, None
    return 1.0 / (time * ratio) ** 2, 2.0 / time


def _effort(low: Any, high: Any, limited: Any) -> float | None:
    if low is None and high is None:
        return None
    low, high = float(low or 0.0), float(high or 0.0)
    wanted = limited == "true" or (limited in (None, "auto") and low < high)
    return max(abs(low), abs(high)) if wanted else None


def _each(template: str, spelled: str) -> dict[str, Entry]:
    return {template.format(axis): spelled.format(axis) for axis in AXES}


VOCABULARIES: dict[str, dict[str, dict[str, Entry]]] = {
    "newton": {
        "scene": {
            "iterations": "newton:maxSolverIterations", "steps_per_second": "newton:timeStepsPerSecond",
            "gravity_enabled": "newton:gravityEnabled",
        },
        "joint": {
            "armature": "newton:armature", "damping": "newton:damping", "friction": "newton:friction",
            "limit_ke": "newton:limitStiffness", "limit_kd": "newton:limitDamping",
            "velocity_limit": "newton:velocityLimit",
            **_each("limit_{}_ke", "newton:{}:limitStiffness"), **_each("limit_{}_kd", "newton:{}:limitDamping"),
            **_each("{}_position", "newton:{}:position"), **_each("{}_velocity", "newton:{}:velocity"),
        },
        "shape": {
            "margin": "newton:contactMargin", "gap": (("newton:contactGap",), _given),
            "ke": "newton:contact_ke", "kd": "newton:contact_kd", "kf": "newton:contact_kf", "ka": "newton:contact_ka",
            "mass_model": "newton:massModel", "shell_thickness": (("newton:shellThickness",), _given),
        },
        "material": {
            "mu_torsional": "newton:torsionalFriction", "mu_rolling": "newton:rollingFriction",
            "ke": "newton:contactStiffness", "kd": "newton:contactDamping", "kf": "newton:contactFrictionGain",
            "ka": "newton:contactAdhesion",
        },
        "articulation": {"self_collisions": "newton:selfCollisionEnabled"},
    },
    "physx": {
        "scene": {
            "iterations": "physxScene:maxVelocityIterationCount", "steps_per_second": "physxScene:timeStepsPerSecond",
            "gravity_enabled": (("physxRigidBody:disableGravity",), lambda v: None if v is None else not v),
        },
        "joint": {
            "armature": "physxJoint:armature", "velocity_limit": "physxJoint:maxJointVelocity",
            **_each("limit_{}_ke", "physxLimit:{}:stiffness"), **_each("limit_{}_kd", "physxLimit:{}:damping"),
            **_each("{}_position", "state:{}:physics:position"), **_each("{}_velocity", "state:{}:physics:velocity"),
        },
        "shape": {
            "margin": (("physxCollision:restOffset",), _given),
            "gap": (("physxCollision:contactOffset", "physxCollision:restOffset"), _gap),
        },
        "material": {
            "ke": "physxMaterial:compliantContactStiffness", "kd": "physxMaterial:compliantContactDamping",
        },
        "articulation": {"self_collisions": "physxArticulation:enabledSelfCollisions"},
    },
    "mjc": {
        "scene": {
            "iterations": "mjc:option:iterations",
            "steps_per_second": (("mjc:option:timestep",), lambda s: int(1.0 / s) if s and s > 0.0 else None),
            "gravity_enabled": "mjc:flag:gravity",
        },
        "joint": {
            "armature": "mjc:armature", "damping_per_rad": "mjc:damping", "friction": "mjc:frictionloss",
            "effort_limit": (
                ("mjc:actuatorfrcrange:min", "mjc:actuatorfrcrange:max", "mjc:actuatorfrclimited"), _effort,
            ),
        },
        "shape": {
            "margin": "mjc:margin", "gap": "mjc:gap",
            "mass_model": (("mjc:shellinertia",), lambda v: None if v is None else "shell" if v else "solid"),
            "ke": (("mjc:solref",), lambda v: stiffness_and_damping(v)[0]),
            "kd": (("mjc:solref",), lambda v: stiffness_and_damping(v)[1]),
        },
        "material": {
            "mu_torsional": "mjc:torsionalfriction", "mu_rolling": "mjc:rollingfriction",
            "ke": (("mjc:solref",), lambda v: stiffness_and_damping(v)[0]),
            "kd": (("mjc:solref",), lambda v: stiffness_and_damping(v)[1]),
        },
    },
}  # fmt: skip


class SchemaResolver:
    """One vocabulary; Newton's programs give instances of these as `schema_resolvers`."""

    name = ""


class SchemaResolverNewton(SchemaResolver):
    """Newton's attributes."""

    name = "newton"


class SchemaResolverPhysx(SchemaResolver):
    """PhysX's attributes."""

    name = "physx"


class SchemaResolverMjc(SchemaResolver):
    """MuJoCo's attributes."""

    name = "mjc"


def authored(prim: Any, name: str) -> Any:
    """An attribute's value where somebody wrote one; else None."""
    attribute = prim.GetAttribute(name)
    return attribute.Get() if attribute and attribute.HasAuthoredValue() else None


class Schemas:
    """Reads numbers of prims in the words of some vocabularies, the first that has one deciding.

    Args:
        resolvers: Vocabularies, by name or as objects with a `name`; Newton's if None.
    """

    def __init__(self, resolvers: Iterable[Any] | None = None):
        wanted = ["newton"] if resolvers is None else [getattr(r, "name", r) for r in resolvers]
        for name in wanted:
            if name not in VOCABULARIES:
                raise BuildError(
                    f"add_usd(): schema_resolvers: {name!r} is not known{did_you_mean(str(name), VOCABULARIES)}; "
                    f"known are {', '.join(VOCABULARIES)}"
                )
        self.names: list[str] = wanted
        self.seen: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in wanted}

    def value(self, prim: Any, kind: str, key: str, default: Any = None) -> Any:
        """What the first vocabulary says that says something."""
        found = self.first(prim, kind, (key,))
        return default if found is None else found[1]

    def first(self, prim: Any, kind: str, keys: tuple[str, ...]) -> tuple[str, Any] | None:
        """Which of several keys has a value, and the value; vocabularies count before keys."""
        for name in self.names:
            for key in keys:
                entry = VOCABULARIES[name].get(kind, {}).get(key)
                value = None if entry is None else self._read(name, prim, entry)
                if value is not None:
                    return key, value
        return None

    def _read(self, vocabulary: str, prim: Any, entry: Entry) -> Any:
        names, make = ((entry,), None) if isinstance(entry, str) else entry
        values = [authored(prim, name) for name in names]
        path = str(prim.GetPath())
        for name, value in zip(names, values, strict=True):
            if value is not None:
                self.seen[vocabulary].setdefault(path, {})[name] = value
        return values[0] if make is None else make(*values)
