"""Sensors of a `Model`, as Newton has them; sensors of a document are read as `sensordata`."""

from typing import Any

from kinema.model.contact_sensor import SensorContact
from kinema.model.site_sensors import SensorFrameTransform, SensorIMU

__all__ = ["SensorContact", "SensorFrameTransform", "SensorIMU", "SensorTiledCamera"]  # noqa: F822  (the last: below)


def __getattr__(name: str) -> Any:
    if name == "SensorTiledCamera":
        from kinema.render.tiled_camera import SensorTiledCamera  # a higher layer, imported on use

        return SensorTiledCamera
    raise AttributeError(f"module 'kinema.sensors' has no attribute {name!r}")
