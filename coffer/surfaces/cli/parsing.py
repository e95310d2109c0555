"""The pieces that the command line's parts have in common."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial

from coffer.surfaces.cli.client import TYPE_CHECKING, Client, Failed

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Commands = argparse._SubParsersAction

# Without a width argparse looks for the terminal's, by modules that are slow to import, at every argument.
Layout = partial(argparse.HelpFormatter, width=100)
Run = Callable[[argparse.Namespace, Client], int]


def add_command(commands: Commands, name: str, run: Run, help: str) -> argparse.ArgumentParser:
    """Add the command `name`, done by `run`, which returns the exit status."""
    parser = _parser(commands, name, help)
    parser.set_defaults(run=run)
    return parser


def add_group(commands: Commands, name: str, help: str) -> Commands:
    """Add a group of commands, of which one must be given."""
    return _parser(commands, name, help).add_subparsers(metavar="COMMAND", required=True)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Let a reading command give the daemon's own answer."""
    parser.add_argument("--json", action="store_true", help="print the REST answer as JSON")


def add_store(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Take a store; where it's optional, none means the project of the current folder."""
    parser.add_argument(
        "store",
        metavar="STORE",
        nargs="?" if optional else None,
        default=".",
        help="a store's name, label or display name, or . for the project of the current folder"
        + (" (the default)" if optional else ""),
    )


def confirm(question: str, unasked: str, refused: str) -> None:
    """Return when the person says yes; raise Failed with `refused` if not, with `unasked` if nobody is there."""
    if not sys.stdin.isatty():
        raise Failed(unasked)
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failed(refused)


def _parser(commands: Commands, name: str, help: str) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=help, description=help, allow_abbrev=False, formatter_class=Layout)
