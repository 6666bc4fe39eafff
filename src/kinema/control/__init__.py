"""Control: what a program wants of a mechanism, turned into numbers for it."""

from kinema.control import ik

__all__ = ["ik"]
