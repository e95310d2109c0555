"""The command line `coffer`: REST's client, light to start.

    __init__     main: parse, run one command, turn every failure into one line and an exit status
    parsing      what the commands' parsers have in common
    client       one request to the daemon, refusals as sentences
    stores       which store a name, a label or `.` means
    render       tables, and stored text that can't drive the terminal
    daemon       coffer daemon ...
    doctor       coffer doctor, audit, invocations
    setup        coffer setup
    sync         coffer sync ...
    agents       coffer agent ...
    memory       coffer memory ... that reads; curate changes, editing opens the editor, history tells the past,
                 merging joins stores, lanes the rest

Standard library only, and of that only what starts fast.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from coffer.discovery import DaemonUnavailable, coffer_home
from coffer.surfaces.cli import agents, daemon, doctor, memory, setup, sync
from coffer.surfaces.cli.client import Client, Failed
from coffer.surfaces.cli.parsing import Layout
from coffer.surfaces.cli.render import one_line


class _Version(argparse.Action):
    """Print the version, whose look-up is too slow to do before somebody asks."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print("coffer", version("coffer"))
        except PackageNotFoundError:
            print("coffer unreleased")
        parser.exit()


def command_line() -> argparse.ArgumentParser:
    """Return the parser of every command; what it yields has `run`."""
    parser = argparse.ArgumentParser(
        prog="coffer",
        description="One memory for every coding agent on your machine.",
        allow_abbrev=False,
        formatter_class=Layout,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    setup.register(commands)
    memory.register(commands)
    agents.register(commands)
    sync.register(commands)
    daemon.register(commands)
    doctor.register(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0 when it was done, 1 when refused or failed, 130 when interrupted.

    A failure is exactly one line on standard error. Wrong usage ends in SystemExit(2), as argparse has it.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that can't show a character gets it written out.
            stream.reconfigure(errors="backslashreplace")
    arguments = command_line().parse_args(argv)
    try:
        status: int = arguments.run(arguments, Client(coffer_home(os.environ), os.environ))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _drop_output()  # The reader has seen enough.
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as problem:
        _drop_output()
        return _fail(f"{problem.strerror}: {problem.filename or 'standard output'}")
    except (Failed, DaemonUnavailable) as failure:
        return _fail(str(failure))


def _fail(sentence: str) -> int:
    print(f"coffer: {one_line(sentence)}", file=sys.stderr)
    return 1


def _drop_output() -> None:
    """Let what can't be written go, so that the interpreter's last flush doesn't complain of it too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
