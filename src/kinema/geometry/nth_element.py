"""std::nth_element as LLVM's C++ library does it, for orders that are not quite orders.

Where elements "closer than 1e-14 go by number", a chain of close values has a < b < c < a: which of them end up left of
the median then depends on the very sequence of comparisons and exchanges. This is that sequence (quickselect with the
median of first, middle and last as pivot), so that a tree built with it is MuJoCo's tree.
"""

from __future__ import annotations

from collections.abc import Callable

Less = Callable[[int, int], bool]


def nth_element(x: list[int], first: int, nth: int, last: int, less: Less) -> None:
    """Rearrange x[first:last] so that what belongs at ``nth`` is there, smaller ones before it, larger ones after."""
    while nth != last:
        length = last - first
        if length < 2:
            return
        if length == 2:
            if less(x[last - 1], x[first]):
                x[first], x[last - 1] = x[last - 1], x[first]
            return
        if length == 3:
            _sort3(x, first, first + 1, last - 1, less)
            return
        if length <= 7:
            _selection_sort(x, first, last, less)
            return
        middle, end = first + length // 2, last - 1
        swaps = _sort3(x, first, middle, end, less)
        i, j = first, end
        if not less(x[i], x[middle]):  # the first equals the pivot: look for something smaller to put there
            j = _guard(x, i, j, middle, less)
            if j == i:  # nothing is smaller: split off those equal to the first instead
                split = _split_equal(x, first, last, less)
                if split is None or nth < split:
                    return
                first = split
                continue
            x[i], x[j] = x[j], x[i]
            swaps += 1
        i += 1
        if i < j:
            while True:
                while less(x[i], x[middle]):
                    i += 1
                j -= 1
                while not less(x[j], x[middle]):
                    j -= 1
                if i >= j:
                    break
                x[i], x[j] = x[j], x[i]
                swaps += 1
                if middle == i:
                    middle = j
                i += 1
        if i != middle and less(x[middle], x[i]):
            x[i], x[middle] = x[middle], x[i]
            swaps += 1
        if nth == i:
            return
        if swaps == 0:  # perfectly partitioned already: perhaps the part of interest is even sorted
            begin, stop = (first, i) if nth < i else (i, last)
            if _is_sorted(x, begin, stop, less):
                return
        if nth < i:
            last = i
        else:
            first = i + 1


def _guard(x: list[int], i: int, j: int, middle: int, less: Less) -> int:
    """Going down from j, the first place with something below the pivot; i where there is none."""
    while True:
        j -= 1
        if i == j or less(x[j], x[middle]):
            return j


def _split_equal(x: list[int], first: int, last: int, less: Less) -> int | None:
    """Move what equals x[first] to the front; where the rest begins, or None where there is no rest to look at."""
    i, j = first + 1, last - 1
    if not less(x[first], x[j]):
        while True:
            if i == j:
                return None
            if less(x[first], x[i]):
                x[i], x[j] = x[j], x[i]
                i += 1
                break
            i += 1
    if i == j:
        return None
    while True:
        while not less(x[first], x[i]):
            i += 1
        j -= 1
        while less(x[first], x[j]):
            j -= 1
        if i >= j:
            return i
        x[i], x[j] = x[j], x[i]
        i += 1


def _is_sorted(x: list[int], begin: int, end: int, less: Less) -> bool:
    return not any(less(x[k + 1], x[k]) for k in range(begin, end - 1))


def _sort3(x: list[int], a: int, b: int, c: int, less: Less) -> int:
    """Sort three places; the number of exchanges."""
    if not less(x[b], x[a]):
        if not less(x[c], x[b]):
            return 0
        x[b], x[c] = x[c], x[b]
        if less(x[b], x[a]):
            x[a], x[b] = x[b], x[a]
            return 2
        return 1
    if less(x[c], x[b]):
        x[a], x[c] = x[c], x[a]
        return 1
    x[a], x[b] = x[b], x[a]
    if less(x[c], x[b]):
        x[b], x[c] = x[c], x[b]
        return 2
    return 1


def _selection_sort(x: list[int], first: int, last: int, less: Less) -> None:
    for place in range(first, last - 1):
        smallest = place
        for k in range(place + 1, last):
            if less(x[k], x[smallest]):
                smallest = k
        if smallest != place:
            x[place], x[smallest] = x[smallest], x[place]
