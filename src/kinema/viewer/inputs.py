"""Inputs that a page and the session both write, so that neither loses the other's word.

A page's change reaches the server's event loop, which stores the value and calls back in one go. So the value of an
order is taken right there, and what the session writes back it writes on that loop too, where it cannot come between
the two. And nothing is written back to an input while an order of its own waits: until that is obeyed the session is of
yesterday, and its word would undo the user's.

    page    ──value──►  event loop  ──order(value)──►  session      in the order in which a user acted
    page    ◄──value──  event loop  ◄──values────────  session      unless an order waits
"""

from __future__ import annotations

import threading
from asyncio import AbstractEventLoop
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any


class Inputs:
    """What a page can turn and press.

    Args:
        loop: The server's event loop.
        ask: Takes an order; it is obeyed later, on the session's thread.
    """

    def __init__(self, loop: AbstractEventLoop, ask: Callable[[Callable[[], object]], None]):
        self._loop, self._ask = loop, ask
        self._lock = threading.Lock()
        self._waiting: Counter[int] = Counter()  # orders not obeyed yet, by input
        self._writer: int | None = None  # thread that is writing back
        self._ended = False

    def end(self) -> None:
        """Take no more orders and write nothing back: the model these inputs were made for is gone."""
        self._ended = True

    def on(self, handle: Any, order: Callable[[Any], object]) -> None:
        """Have an order done with the new value whenever a user or a program changes an input."""

        async def by_page(event: Any) -> None:
            if event.client is not None:
                self._take(handle, order)

        def by_program(event: Any) -> None:
            if event.client is None and threading.get_ident() != self._writer:
                self._take(handle, order)

        handle.on_update(by_page)
        handle.on_update(by_program)

    def press(self, on_press: Callable[[Callable[[Any], Any]], object], order: Callable[[Any], object]) -> None:
        """Have an order done, with the page that asks for it, whenever a button or a key is pressed.

        Args:
            on_press: `on_click` of a button, `on_trigger` of a command.
            order: What to do.
        """

        async def pressed(event: Any) -> None:
            self._ask(lambda: None if self._ended else order(event.client))

        on_press(pressed)

    def _take(self, handle: Any, order: Callable[[Any], object]) -> None:
        value = handle.value
        with self._lock:
            self._waiting[id(handle)] += 1

        def obey() -> None:
            try:
                if not self._ended:
                    order(value)
            finally:  # after all that was written back before, which knows nothing of it
                self._later(self._done, handle)

        self._ask(obey)

    def _done(self, handle: Any) -> None:
        with self._lock:
            self._waiting[id(handle)] -= 1

    def write(self, values: Iterable[tuple[Any, Any]]) -> None:
        """Write values of the session back to inputs, where they differ; done when the event loop comes to it."""
        told = list(values)
        if told:
            self._later(self._put, told)

    def _later(self, call: Callable[..., None], *arguments: Any) -> None:
        """Have something done on the event loop; nothing where the server has ended."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *arguments)

    def _put(self, told: list[tuple[Any, Any]]) -> None:
        self._writer = threading.get_ident()
        try:
            for handle, value in told:
                with self._lock:
                    waits = self._waiting[id(handle)] > 0
                if not waits and not self._ended and handle.value != value:
                    handle.value = value
        finally:
            self._writer = None

