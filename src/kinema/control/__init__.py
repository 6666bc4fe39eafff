"""Control: what a program wants of a mechanism, turned into numbers for it."""

from kinema.control import ik, ilqr, mppi

__all__ = ["ik", "ilqr", "mppi"]
