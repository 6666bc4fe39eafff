"""Python's search for garbage in cycles, kept away while much is made that stays.

Importing the engine and generating its kernels makes some three hundred thousand objects that live as long as the
program. Python's collector looks through all of them again and again meanwhile, and several times more when the program
ends: together more than a second of a start that takes two. So

    with paused():             no search meanwhile; what was made counts as old afterwards, and is looked through rarely
        from kinema.convex.engine import Engine

and when the program ends nothing is searched: its memory goes back as a whole.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """While this lasts, no search for cycles; a decorator as well. Where the collector is off, it is left alone."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # somebody else's frozen objects stay frozen
            gc.freeze()
            gc.unfreeze()  # to the oldest generation, without a look at any of them
        gc.enable()


atexit.register(gc.freeze)
