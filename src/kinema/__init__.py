"""Kinema: compose mechanical models as MJCF, build many worlds, simulate with MuJoCo's physics."""

__version__ = "0.1.0"
