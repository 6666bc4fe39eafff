"""The `kinema` command: one file a command, and `main`, which finds it, runs it and tells what went wrong.

    kinema run MODEL        simulate many worlds
    kinema check MODEL      compare with MuJoCo, field by field
    kinema info MODEL       what is in a model
    kinema compose MODEL    attach models to each other
    kinema view MODEL       look at it in a browser
    kinema warm MODEL       compile kernels ahead
    kinema bench            measure speed

Exit codes: 0 all is well; 1 the answer is no (worlds went bad, a check failed); 2 a file, a flag or the installation is
wrong; 3 Kinema itself failed; 130 Ctrl-C. Nothing heavy is imported before a command runs, so help is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from kinema.cli.arguments import parse

__all__ = ["main"]

NO, WRONG_INPUT, FAILED, INTERRUPTED = 1, 2, 3, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the given words (those of the process by default); returns the exit code."""
    try:
        code = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to fail at exit
        return 0


def _run(argv: Sequence[str]) -> int:
    try:
        args = parse(argv)
    except SystemExit as end:  # argparse has said what there was to say
        return int(end.code or 0)
    if args.debug:
        return _command(args)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            return _command(args)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        return _tell(error)


def _command(args: argparse.Namespace) -> int:
    """Load the plugins that are named, then run the command: every one takes them."""
    if args.plugins:
        from kinema.cli.models import load_plugins

        load_plugins(args.plugins)
    return args.run(args)


def _warn(message, category, filename, lineno, file=None, line=None) -> None:
    """A warning as a line; where in Kinema it comes from is of no use to the user of a command."""
    print(f"warning: {message}", file=sys.stderr)


def _tell(error: Exception) -> int:
    """Say what went wrong in words meant for the user; the exit code."""
    from kinema.errors import KinemaError

    if isinstance(error, KinemaError):
        print(f"error: {error}", file=sys.stderr)
        return WRONG_INPUT
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        print(f"error: {place}{error.strerror or error}", file=sys.stderr)
        return WRONG_INPUT
    if isinstance(error, MemoryError):
        print("error: not enough memory; fewer --worlds need less (`kinema info MODEL` says how much)", file=sys.stderr)
        return WRONG_INPUT
    print(f"internal error: {type(error).__name__}: {error}\nAdd --debug to see where it comes from.", file=sys.stderr)
    return FAILED
