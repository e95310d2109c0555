"""`coffer memory`: the lanes beside facts: rules, journal, handoff scenes, and what the organizer did."""

from __future__ import annotations

import argparse

from coffer.surfaces.cli.client import Client, Failed
from coffer.surfaces.cli.parsing import Commands, add_command, add_json, add_store
from coffer.surfaces.cli.render import indented, one_line, print_json, visible
from coffer.surfaces.cli.stores import store_route


def register(group: Commands) -> None:
    """Add the lanes' commands to `coffer memory`."""
    for name, run, help in (
        ("rules", _rules, "Print a store's rules."),
        ("journal", _journal, "Print a project's journal, the newest day first."),
        ("handoff", _handoff, "Print where the work on each branch stands, the newest first."),
        ("log", _log, "Print what the organizer did to a store."),
    ):
        reading = add_command(group, name, run, help)
        add_store(reading, optional=True)
        add_json(reading)

    rule = add_command(group, "rules-add", _add_rule, "Add a rule of your own, for every later session.")
    add_store(rule)
    rule.add_argument("text", metavar="TEXT", help="the rule, one line")

    accept = add_command(group, "rules-accept", _accept, "Make a learned rule your own.")
    add_store(accept)
    which = accept.add_mutually_exclusive_group(required=True)
    which.add_argument("text", metavar="TEXT", nargs="?", help="the rule as it reads")
    which.add_argument("--all", action="store_true", help="every learned rule of the store")

    entry = add_command(group, "journal-add", _add_entry, "Note in a project's journal what happened.")
    add_store(entry)
    entry.add_argument("text", metavar="TEXT", help="the entry")


def _rules(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.get(f"{store_route(client, arguments.store)}/rules")
    return _print_text(arguments, answer.body, answer.json()["text"], "No rules.")


def _journal(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.get(f"{store_route(client, arguments.store)}/journal")
    text = "\n\n".join(day["text"].strip() for day in answer.json()["files"])
    return _print_text(arguments, answer.body, text, "The journal is empty.")


def _handoff(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.get(f"{store_route(client, arguments.store)}/handoff")
    scenes = [
        f"{one_line(scene['branch'])}  {one_line(scene['updated_at'] or 'time unknown')}  "
        f"{one_line(scene['agent'] or '')}".rstrip()
        + f"\n{indented(scene['text'])}"
        for scene in answer.json()["scenes"]
    ]
    if arguments.json:
        print_json(answer.body)
    else:
        print("\n\n".join(scenes) or "No handoffs.")
    return 0


def _log(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.get(f"{store_route(client, arguments.store)}/consolidation-log")
    return _print_text(arguments, answer.body, answer.json()["text"], "Nothing was organized yet.")


def _print_text(arguments: argparse.Namespace, body: bytes, text: str | None, absent: str) -> int:
    if arguments.json:
        print_json(body)
    else:
        print(visible(text.rstrip()) if text else absent)
    return 0


def _add_rule(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.send("POST", f"{store_route(client, arguments.store)}/rules", {"text": arguments.text})
    print(f"Rule: {one_line(answer.json()['text'])}")
    return 0


def _accept(arguments: argparse.Namespace, client: Client) -> int:
    route = store_route(client, arguments.store)
    if arguments.all:
        files = client.get(f"{route}/rules").json()["files"]
        texts = [rule["text"] for file in files for rule in file["rules"] if rule["learned"]]
        if not texts:
            raise Failed("The store has no learned rule.")
    else:
        texts = [arguments.text]
    for text in dict.fromkeys(texts):
        answer = client.send("POST", f"{route}/rules/accept", {"text": text})
        print(f"Your own now: {one_line(answer.json()['text'])}")
    return 0


def _add_entry(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.send("POST", f"{store_route(client, arguments.store)}/journal", {"text": arguments.text})
    print(f"Noted at {one_line(answer.json()['time'])}.")
    return 0
