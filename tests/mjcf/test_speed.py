"""The document layer is fast, and stays so as documents grow; `python -m benchmarks document` prints the ratios."""

import time

import pytest
from benchmarks import document

from kinema import mjcf


def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def test_faster_than_pymjcf():
    """At least five times; measured again when a busy machine blurs it."""
    wanted = ("parse suite/dog.xml", "parse, attach and write 100 robots")
    for _ in range(3):
        found = {name: theirs / own for name, theirs, own in document.rows(repetitions=4) if theirs > 1e-3}
        if all(found[name] >= 5 for name in wanted):
            break
    assert all(found[name] >= 5 for name in wanted), found


def test_unnamed_geoms_take_no_time():
    write = document.unnamed_geoms(mjcf, 4000)
    assert seconds(write) < 1


WORK = {"geoms": lambda n: document.unnamed_geoms(mjcf, n)(), "copies": lambda n: document.attach_copies(mjcf, n)}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_nothing_is_quadratic(work):
    work(10)
    small, large = (min(seconds(lambda n=n: work(n)) for _ in range(3)) for n in (50, 400))
    assert large / small < 8 * 3, (small, large)


def test_identifiers_of_unnamed_elements_are_counted_once():
    root = mjcf.RootElement()
    geoms = [root.worldbody.add("geom") for _ in range(4000)]
    assert seconds(lambda: [geom.full_identifier for geom in geoms]) < 1
