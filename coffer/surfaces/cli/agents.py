"""`coffer agent`: find, register, connect, change and remove the agents of this machine."""

from __future__ import annotations

import argparse
import os

from coffer.surfaces.cli.client import Answer, Client, Json, escaped
from coffer.surfaces.cli.parsing import Commands, add_command, add_group, add_json
from coffer.surfaces.cli.render import fields, one_line, print_json, table

SWITCHES = ("disable_native_memory", "prompt_notes")


def register(commands: Commands) -> None:
    """Add the group to the command line."""
    group = add_group(commands, "agent", "The agents that share the memory.")
    add_json(add_command(group, "list", _list, "List the registered agents."))
    add_json(add_command(group, "candidates", _candidates, "List the agents that are on this machine."))

    add = add_command(group, "add", _add, "Register an agent; nothing is changed in its files.")
    add.add_argument("type", metavar="TYPE", help="claude_code, codex, opencode or cursor")
    add.add_argument("--config-dir", metavar="DIR", help="the folder of its settings, if it isn't found")
    add.add_argument("--name", help="a name for it, its type without it")

    remove = add_command(
        group, "remove", _remove, "Take everything of Coffer's out of an agent's files, and forget it."
    )
    _add_name(remove)

    hooks = add_command(group, "hooks", _hooks, "Tell of, install or remove an agent's hooks.")
    _add_entry(hooks, "the hooks")

    mcp = add_command(group, "mcp", _mcp, "Tell of, install or remove an agent's entry for Coffer's tools.")
    _add_entry(mcp, "the entry for the tools")

    switch = add_command(group, "set", _set, "Change a setting of an agent.")
    _add_name(switch)
    switch.add_argument("key", metavar="KEY", choices=SWITCHES, help=" or ".join(SWITCHES))
    switch.add_argument("value", metavar="VALUE", choices=("true", "false"), help="true or false")


def _list(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.get("/agents")
    if arguments.json:
        print_json(answer.body)
        return 0
    rows = [
        [
            agent["name"],
            agent["type"],
            agent["native_memory"],
            "yes" if agent["prompt_notes"] else "no",
            agent["config_dir"],
        ]
        for agent in answer.json()["agents"]
    ]
    header = ["NAME", "TYPE", "OWN MEMORY", "NOTES", "SETTINGS"]
    print(table(header, rows) if rows else "No agents; `coffer setup` connects those on this machine.")
    return 0


def _candidates(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.get("/agents/candidates")
    if arguments.json:
        print_json(answer.body)
    elif found := answer.json()["candidates"]:
        rows = [[each["type"], each["registered"], each["config_dir"], each["because"]] for each in found]
        print(table(["TYPE", "REGISTERED AS", "SETTINGS", "FOUND BY"], rows))
    else:
        print("No agent was found on this machine.")
    return 0


def _add(arguments: argparse.Namespace, client: Client) -> int:
    body: Json = {"type": arguments.type}
    if arguments.config_dir is not None:
        body["config_dir"] = os.path.abspath(arguments.config_dir)
    if arguments.name is not None:
        body["name"] = arguments.name
    agent = client.send("POST", "/agents", body).json()
    print(f"Registered {agent['name']}, with its settings in {one_line(agent['config_dir'])}.")
    print(f"`coffer setup --agent {agent['name']}` connects it.")
    return 0


def _remove(arguments: argparse.Namespace, client: Client) -> int:
    client.send("DELETE", _route(arguments))
    print(f"Removed {one_line(arguments.name)}; nothing of Coffer's is left in its files.")
    return 0


def _hooks(arguments: argparse.Namespace, client: Client) -> int:
    answer = _entry(arguments, client, "hooks")
    if arguments.json:
        print_json(answer.body)
        return 0
    told = answer.json()
    if not told["hooks"]:
        print("It has no hooks; memory reaches it when it calls Coffer's tools.")
        return 0
    rows = [
        [
            hook["event"],
            "yes" if hook["installed"] else "no",
            {True: "yes", False: "no", None: ""}[hook["trusted"]],
            hook["last_fired"] or "never",
            hook["last_error"],
        ]
        for hook in told["hooks"]
    ]
    print(table(["EVENT", "INSTALLED", "APPROVED", "LAST CALLED", "LAST ERROR"], rows))
    for command in dict.fromkeys(hook["command"] for hook in told["hooks"] if hook["command"]):
        print(f"  {one_line(command)}")
    if told["advice"] and any(hook["installed"] for hook in told["hooks"]):
        print(one_line(told["advice"]))
    return 0


def _mcp(arguments: argparse.Namespace, client: Client) -> int:
    answer = _entry(arguments, client, "mcp")
    if arguments.json:
        print_json(answer.body)
        return 0
    told = answer.json()
    print(
        fields(
            [
                ("installed", "yes" if told["installed"] else "no"),
                ("file", told["path"]),
                ("command", told["command"]),
            ]
        )
    )
    return 0


def _set(arguments: argparse.Namespace, client: Client) -> int:
    agent = client.send("PATCH", _route(arguments), {arguments.key: arguments.value == "true"}).json()
    print(f"{agent['name']}: {arguments.key} is {str(agent[arguments.key]).lower()}.")
    return 0


def _entry(arguments: argparse.Namespace, client: Client, part: str) -> Answer:
    """Ask for a part of an agent's settings, after installing or removing it where that was said."""
    route = f"{_route(arguments)}/{part}"
    if arguments.install:
        return client.send("POST", route, {})
    return client.send("DELETE", route) if arguments.uninstall else client.get(route)


def _route(arguments: argparse.Namespace) -> str:
    return f"/agents/{escaped(arguments.name)}"


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the agent's name, from `coffer agent list`")


def _add_entry(parser: argparse.ArgumentParser, what: str) -> None:
    _add_name(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--install", action="store_true", help=f"put {what} into its settings")
    which.add_argument("--uninstall", action="store_true", help=f"take {what} out of its settings")
    add_json(parser)
