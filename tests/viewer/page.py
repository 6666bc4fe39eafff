"""A page that is not there: what a browser would say to the server, and waiting until the server is done with it."""

import asyncio

PAGE = 7
"""Number of the page."""


def says(viewer, handle, value) -> None:
    """A user of the page gives an input a value; returns when the server's event loop has taken it."""
    from viser._messages import GuiUpdateMessage

    server = viewer.server
    server._connected_clients.setdefault(PAGE, object())
    try:
        message = GuiUpdateMessage(handle._impl.uuid, {"value": value})
        on_loop(viewer, server.gui._handle_gui_updates(PAGE, message))
    finally:
        del server._connected_clients[PAGE]


def settle(viewer) -> None:
    """Until all that was written back so far is written."""
    on_loop(viewer, asyncio.sleep(0))


def on_loop(viewer, coroutine) -> None:
    asyncio.run_coroutine_threadsafe(coroutine, viewer.server.get_event_loop()).result(60)
