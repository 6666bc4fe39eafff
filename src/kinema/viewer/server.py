"""The web server of a viewer: viser, bound to this machine unless told otherwise, and silent."""

from __future__ import annotations

import contextlib
import io

from kinema.errors import BuildError, need


def open_server(host: str, port: int, *, label: str | None = None):
    """A viser server that loads and shares nothing over the network.

    Args:
        host: Address to bind to.
        port: Port; 0: any that is free. If it is taken, the next free one is used.
        label: Title of the panel.
    """
    viser = need("viser", "view", "Pages in the browser")
    messages = need("viser._messages", "view", "Pages in the browser")
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints a banner of its own
            server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
    except OSError as error:
        raise BuildError(f"cannot open a page at {host}:{port}: {error}; choose another port or host") from None
    server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
    for message in (messages.ShareUrlRequest, messages.ShareUrlDisconnect):  # a tunnel through someone else's machine
        server._websock_server.unregister_handler(message)
    return server


def close_server(server) -> None:
    """End a server, silently."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()
