"""The door to simulating a document, opened by the simulation layer.

`Physics` keeps the name that programs written for PyMJCF import. The document layer stands below the simulation, so the
class that does the work registers itself here.
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
