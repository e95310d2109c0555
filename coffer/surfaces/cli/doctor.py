"""`coffer doctor`, `coffer audit`, `coffer invocations`: how it is, what was changed, what was asked."""

from __future__ import annotations

import argparse

from coffer.surfaces.cli.client import Client, Failed
from coffer.surfaces.cli.parsing import Commands, add_command, add_json
from coffer.surfaces.cli.render import one_line, print_json, table


def register(commands: Commands) -> None:
    """Add the three commands to the command line."""
    add_json(add_command(commands, "doctor", _doctor, "Check that everything is in order."))
    for name, run, help in (
        ("audit", _audit, "List what was changed, newest first, without any content."),
        ("invocations", _invocations, "List the agents' calls, newest first, without any content."),
    ):
        parser = add_command(commands, name, run, help)
        parser.add_argument(
            "--limit", type=int, metavar="N", help="at most this many, 1 to 500 (50 without it)"
        )
        add_json(parser)


def _doctor(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.get("/doctor")
    checks = answer.json()["checks"]
    if arguments.json:
        print_json(answer.body)
    else:
        for check in checks:
            print(f"{check['status']:<8} {one_line(check['name'])}: {one_line(check['message'])}")
            if check.get("action"):
                print(f"{'':<8} -> {one_line(check['action'])}")
    if problems := [check for check in checks if check["status"] == "problem"]:
        raise Failed(f"{len(problems)} of {len(checks)} checks found a problem.")
    return 0


def _audit(arguments: argparse.Namespace, client: Client) -> int:
    return _print_list(
        arguments,
        client,
        "events",
        "/audit",
        {
            "TIME": "time",
            "EVENT": "event",
            "BY": "actor",
            "AGENT": "agent",
            "STORE": "store",
            "DETAILS": "details",
        },
    )


def _invocations(arguments: argparse.Namespace, client: Client) -> int:
    return _print_list(
        arguments,
        client,
        "invocations",
        "/invocations",
        {
            "TIME": "time",
            "TOOL": "tool",
            "AGENT": "agent",
            "SESSION": "session",
            "MS": "duration_ms",
            "OUTCOME": "outcome",
            "ERROR": "error_code",
        },
    )


def _print_list(
    arguments: argparse.Namespace, client: Client, listed: str, path: str, columns: dict[str, str]
) -> int:
    answer = client.get(path, limit=arguments.limit)
    if arguments.json:
        print_json(answer.body)
    elif entries := answer.json()[listed]:
        rows = [[entry[key] for key in columns.values()] for entry in entries]
        print(table(list(columns), rows))
    else:
        print("Nothing yet.")
    return 0
