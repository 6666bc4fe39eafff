"""Names of a model's objects, for whatever kind of model it is."""

from __future__ import annotations

SIZES = {
    "body": "nbody", "joint": "njnt", "geom": "ngeom", "actuator": "nactuator", "sensor": "nsensor", "camera": "ncam",
    "key": "nkey", "site": "nsite", "tendon": "ntendon", "light": "nlight",
}  # fmt: skip


def names_of(m, kind: str) -> list[str]:
    """Names of all objects of a kind, in order; those without one are called by their number."""
    count = int(getattr(m, SIZES[kind]))
    if callable(getattr(m, "names", None)):  # compile's HostModel; in an MjModel `names` is an array
        own = m.names(kind)
    else:
        own = [getattr(m, kind)(i).name for i in range(count)]
    return [name or f"{kind} {i}" for i, name in enumerate(own)]


def control_names(m) -> list[str]:
    """Names of all controls, in ctrl's order: of their actuators, with a number where one has several."""
    found = [""] * int(m.nu)
    for i, name in enumerate(names_of(m, "actuator")):
        first, count = int(m.actuator_ctrladr[i]), int(m.actuator_ctrlnum[i])
        for k in range(count):
            found[first + k] = name if count == 1 else f"{name} [{k}]"
    return found
