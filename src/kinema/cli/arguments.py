"""Command-line arguments: the parser of all commands, with suggestions for words it does not know."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Sequence
from typing import NoReturn

from kinema import __version__
from kinema.errors import did_you_mean

COMMANDS = ("run", "check", "info", "compose", "view", "warm", "bench")
"""Each is a module of this package with SUMMARY, EXAMPLES, `arguments(parser)` and `run(args) -> exit code`."""

DESCRIPTION = "Compose mechanical models as MJCF, simulate many worlds of them, compare with MuJoCo."
FIRST_STEPS = """\
first steps:
  kinema info robot.xml                         what is in a model, and what a world of it costs
  kinema run robot.xml --worlds 256             simulate it
  kinema check robot.xml                        does it move as in MuJoCo?
  kinema COMMAND --help                         the options of a command, with examples
"""


class Parser(argparse.ArgumentParser):
    """argparse's parser; errors are one line with a suggestion."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}\nTry '{self.prog} --help'.\n")

    def flags(self) -> list[str]:
        """Every long option."""
        return [word for word in self._option_string_actions if word.startswith("--")]


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments, with `run`: the function of the command they name."""
    parser = Parser(prog="kinema", description=DESCRIPTION, epilog=FIRST_STEPS)
    parser.add_argument("--version", action="version", version=f"kinema {__version__}")
    _add_debug(parser, default=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    parsers = {}
    for name in COMMANDS:
        module = importlib.import_module(f"kinema.cli.{name}")
        description = f"{module.SUMMARY}\n\n{(module.__doc__ or '').partition(chr(10))[2].strip()}"
        parsers[name] = commands.add_parser(name, help=module.SUMMARY, description=description, epilog=module.EXAMPLES)
        module.arguments(parsers[name])
        _add_plugin(parsers[name])
        _add_debug(parsers[name], default=argparse.SUPPRESS)  # where it is not given, what stands before the command
        parsers[name].set_defaults(run=module.run)
    words = list(argv)
    first = next((word for word in words if not word.startswith("-")), None)
    if first is not None and first not in parsers:
        parser.error(f"there is no command {first!r}{did_you_mean(first, parsers)}: {', '.join(parsers)}")
    args, unknown = parser.parse_known_args(words)
    if args.command is None:
        parser.print_help()
        parser.exit(0 if not words else 2)
    if unknown:
        chosen = parsers[args.command]
        word = unknown[0].partition("=")[0]
        chosen.error(f"unknown argument {word!r}{did_you_mean(word, chosen.flags())}")
    return args


def _add_debug(parser: argparse.ArgumentParser, *, default) -> None:
    parser.add_argument("--debug", action="store_true", default=default, help="show the traceback of an error")


def _add_plugin(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plugin", action="append", default=[], metavar="FILE", dest="plugins",
        help="Python file, or folder of files, whose plugins the model uses; may be given again",
    )  # fmt: skip


def count(minimum: int = 1) -> Callable[[str], int]:
    """The type of an option that takes a whole number: 4096, 10_000 or 1e6."""

    def convert(text: str) -> int:
        try:
            number = int(text) if text.lstrip("+-").replace("_", "").isdigit() else float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        if number != int(number) or number < minimum:
            raise argparse.ArgumentTypeError(f"{text!r}: a whole number from {minimum} on is expected")
        return int(number)

    return convert


def add_model(parser: argparse.ArgumentParser, **options) -> None:
    """The argument MODEL."""
    what = "an MJCF or URDF file, or a zip of a model and its files"
    parser.add_argument("model", metavar="MODEL", help=what, **options)


def add_device(parser: argparse.ArgumentParser) -> None:
    """The option --device."""
    parser.add_argument("--device", default="cpu", help='"cpu" (default) or a GPU such as "cuda:0"')
