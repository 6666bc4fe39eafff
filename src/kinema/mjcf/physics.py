"""The door to simulating a document.

`Physics` keeps the name and the first call that programs written for PyMJCF use. The document layer stands below the
simulation, so until the simulation opens the door it says so.
"""

from __future__ import annotations

from typing import Any


class Physics:
    """A document compiled and running; see the simulation layer."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError("Physics arrives with the simulation; for now to_xml_string() gives what it will run")

    @classmethod
    def from_mjcf_model(cls, mjcf_model: Any) -> Physics:
        """A simulation of a document."""
        return cls(mjcf_model)
