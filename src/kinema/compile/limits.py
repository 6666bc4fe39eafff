"""Whether a range counts: `limited` false, true or auto beside a `range`, under the `autolimits` setting."""

from __future__ import annotations

import numpy as np

from kinema.compile.element import AUTO, FALSE_TRUE_AUTO, TRUE, Element


def limited(e: Element, attribute: str, bounds: np.ndarray, range_attribute: str, *, force: int | None = None) -> bool:
    """Whether `bounds` limit something. `force` replaces the attribute's own value (an element that implies it).

    Raises when autolimits is off and the document leaves open whether a given range counts.
    """
    value = e.keyword(attribute, FALSE_TRUE_AUTO, AUTO) if force is None else force
    if value == AUTO:
        if not e.settings.autolimits and bounds.any():
            raise e.error(
                f"{e.kind} has {range_attribute!r} but not {attribute!r}: set compiler autolimits, or write "
                f"{attribute}=\"true\" or \"false\""
            )
        return bool(bounds[0] < bounds[1])
    return value == TRUE
