"""Who touches whom, where: filter, broad phase, one file per pair family, the pair table, and the driver ``detect``."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinema.collide.model_contacts import collide_model as collide_model

__all__ = ["collide_model"]


def __getattr__(name: str) -> Any:
    """The door of the model layer, imported on use: who needs the narrow phase alone does not compile documents."""
    if name != "collide_model":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kinema.collide.model_contacts import collide_model

    return collide_model
