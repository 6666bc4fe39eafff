"""Python's collector of cycles: away while much is made, and as it was afterwards."""

import gc
import subprocess
import sys

import pytest

from kinema.collector import paused


class Node:
    """Something the collector keeps track of."""


def test_off_meanwhile_and_on_again():
    assert gc.isenabled()
    with paused():
        assert not gc.isenabled()
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() and gc.get_freeze_count() == 0


def test_what_was_made_counts_as_old():
    with paused():
        made = [Node() for _ in range(10)]
    old = {id(thing) for thing in gc.get_objects(generation=2)}
    assert all(id(thing) in old for thing in made)


def test_on_again_after_an_error():
    with pytest.raises(ValueError), paused():
        raise ValueError
    assert gc.isenabled()


def test_one_that_is_off_stays_off():
    gc.disable()
    try:
        with paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_frozen_objects_of_others_stay_frozen():
    kept = Node()
    gc.freeze()
    try:
        with paused():
            pass
        assert gc.get_freeze_count() > 0
        assert all(thing is not kept for thing in gc.get_objects())  # a frozen object is in no generation
    finally:
        gc.unfreeze()
    assert any(thing is kept for thing in gc.get_objects())


def test_nothing_is_searched_at_exit():
    code = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 1000)); import kinema.collector"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "True"
