"""`coffer setup`: connect every agent on this machine, after showing what that changes; or take it all back."""

from __future__ import annotations

import argparse

from coffer.surfaces.cli.client import Client, Failed, Json
from coffer.surfaces.cli.parsing import Commands, add_command, confirm
from coffer.surfaces.cli.render import indented, one_line


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    setup = add_command(commands, "setup", _setup, "Connect the agents on this machine, or take that back.")
    setup.add_argument(
        "--agent", metavar="NAME", action="append", default=[], help="only this one; repeatable"
    )
    setup.add_argument("--undo", action="store_true", help="put every file back and forget the agents")
    setup.add_argument("--yes", action="store_true", help="don't ask")


def _setup(arguments: argparse.Namespace, client: Client) -> int:
    route, body = "/setup/undo" if arguments.undo else "/setup", {"agents": arguments.agent}
    agents = client.send("POST", route, {**body, "apply": arguments.yes}).json()["agents"]
    for agent in agents:
        _show(agent, arguments.undo)
    if not agents:
        print("No agent was found on this machine; start one once, it makes its settings.")
        return 0
    if not arguments.yes and any(_has_work(agent, arguments.undo) for agent in agents):
        confirm(
            "Do this?", "Nothing was changed; say --yes where nobody can be asked.", "Nothing was changed."
        )
        agents = client.send("POST", route, {**body, "apply": True}).json()["agents"]
        print("Done.")
    for agent in agents:
        if agent["advice"]:
            print(f"{one_line(agent['title'])}: {one_line(agent['advice'])}")
    if problems := [agent for agent in agents if agent["problem"]]:
        told = "; ".join(f"{agent['name']}: {agent['problem']}" for agent in problems)
        raise Failed(f"{len(problems)} of {len(agents)} agents could not be done. {told}")
    if not arguments.undo:
        print("`coffer doctor` tells whether memory arrives.")
    return 0


def _show(agent: Json, undo: bool) -> None:
    """Print what is done about one agent, file by file."""
    print(f"{one_line(agent['title'])}, as {one_line(agent['name'])}, in {one_line(agent['config_dir'])}")
    if agent["problem"]:
        print(f"  {one_line(agent['problem'])}")
    elif not _has_work(agent, undo):
        print("  nothing to change")
    for change in agent["changes"]:
        print(f"  {one_line(change['path'])}: {one_line(change['says'])}")
        print(indented(change["diff"]))
    print()


def _has_work(agent: Json, undo: bool) -> bool:
    return agent["problem"] is None and (bool(agent["changes"]) or agent["registered"] == undo)
