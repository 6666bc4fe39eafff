"""Sensors of a `Model`, as Newton has them; sensors of a document are read as `sensordata`."""

from kinema.model.contact_sensor import SensorContact
from kinema.model.site_sensors import SensorFrameTransform, SensorIMU

__all__ = ["SensorContact", "SensorFrameTransform", "SensorIMU"]
