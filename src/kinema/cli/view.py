"""Look at a model, moving, in a web browser.

The viewer is a web server on this machine (the page needs nothing else): the address is printed, Ctrl-C ends it.
"""

from __future__ import annotations

import argparse

from kinema.cli.arguments import add_device, add_model, count

SUMMARY = "Look at a model in a browser."
EXAMPLES = """\
examples:
  kinema view robot.xml
  kinema view robot.xml --worlds 16 --port 8081
  kinema view run.npz                      a recording of kinema run --record
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--worlds", type=count(), default=1, metavar="N", help="number of worlds (default 1)")
    parser.add_argument("--port", type=count(), default=8080, metavar="N", help="port of the web server (default 8080)")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="address to serve at (default: this machine only)"
    )
    parser.add_argument("--open", action="store_true", help="open the browser too")
    add_device(parser)


def run(args: argparse.Namespace) -> int:
    from kinema.cli.models import device_of, source_of
    from kinema.errors import need

    need("viser", "view", "Viewers")
    from kinema.viewer import view

    source = args.model if args.model.endswith(".npz") else source_of(args.model)
    view(
        source, worlds=args.worlds, host=args.host, port=args.port, device=device_of(args.device),
        open_browser=args.open, block=True,
    )  # fmt: skip
    return 0
