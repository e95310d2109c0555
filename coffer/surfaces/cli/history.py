"""`coffer memory`: what happened, who wrote what, what changed between two moments, and taking it back."""

from __future__ import annotations

import argparse

from coffer.surfaces.cli.client import Client, Json, escaped
from coffer.surfaces.cli.parsing import Commands, add_command, add_json, add_store
from coffer.surfaces.cli.render import author, one_line, print_json, table, visible
from coffer.surfaces.cli.stores import store_route

COMMIT_DIGITS = 12  # Enough for any repository; the daemon takes an abbreviated commit.
MOMENT = "a commit, or a time such as 2026-06-03 (its end) or 2026-06-03T09:30Z"


def register(group: Commands) -> None:
    """Add the commands about the past to `coffer memory`."""
    history = add_command(group, "history", _history, "List what changed, newest first.")
    add_store(history, optional=True)
    which = history.add_mutually_exclusive_group()
    which.add_argument("--fact", metavar="ID", help="only the versions of this fact")
    which.add_argument("--path", metavar="P", help="only what touched this path inside the store")
    which.add_argument("--all", action="store_true", help="what changed in any store")
    add_json(history)

    diff = add_command(group, "diff", _diff, "Show what changed in a store from one moment to another.")
    add_store(diff)
    diff.add_argument("start", metavar="FROM", help=MOMENT)
    diff.add_argument("end", metavar="TO", nargs="?", help="likewise (the newest commit without it)")
    add_json(diff)

    blame = add_command(group, "blame", _blame, "Show who wrote each line of a fact.")
    add_store(blame)
    blame.add_argument("id", metavar="ID", help="the fact's id")
    add_json(blame)

    undo = add_command(group, "undo", _undo, "Take back what one commit did; what came later stays.")
    undo.add_argument("commit", metavar="COMMIT", help="from `coffer memory history`")


def _history(arguments: argparse.Namespace, client: Client) -> int:
    listed = "commits"
    if arguments.all:
        answer = client.get("/history")
    elif arguments.fact is not None:
        route = store_route(client, arguments.store)
        answer, listed = client.get(f"{route}/facts/{escaped(arguments.fact)}/history"), "versions"
    else:
        answer = client.get(f"{store_route(client, arguments.store)}/history", path=arguments.path)
    if arguments.json:
        print_json(answer.body)
    elif entries := answer.json()[listed]:
        rows = [
            (_short(entry), entry["time"], entry["op"], author(entry), entry["subject"]) for entry in entries
        ]
        print(table(("COMMIT", "TIME", "WHAT", "BY", "SUBJECT"), rows))
    else:
        print("No history.")
    return 0


def _diff(arguments: argparse.Namespace, client: Client) -> int:
    query = {"from": arguments.start, "to": arguments.end}
    answer = client.get(f"{store_route(client, arguments.store)}/diff", **query)
    if arguments.json:
        print_json(answer.body)
        return 0
    found = answer.json()
    for file in found["files"]:
        text = file["diff"]
        told = (
            visible(text.rstrip("\n")) if text else f"{file['status']}: {one_line(file['path'])} (not shown)"
        )
        print(told)
    if more := found["total"] - len(found["files"]):
        print(f"{more} more files differ.")
    if not found["total"]:
        print("No difference.")
    return 0


def _blame(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.get(f"{store_route(client, arguments.store)}/facts/{escaped(arguments.id)}/blame")
    if arguments.json:
        print_json(answer.body)
        return 0
    lines = answer.json()["lines"]
    heads = table(("COMMIT", "TIME", "BY"), [(_short(line), line["time"], author(line)) for line in lines])
    head, *rows = heads.split("\n")
    widest = max(map(len, [head, *rows]))
    print(f"{head:<{widest}}  LINE")
    for row, line in zip(rows, lines):
        print(f"{row:<{widest}}  {visible(line['text'])}".rstrip())
    return 0


def _undo(arguments: argparse.Namespace, client: Client) -> int:
    undone = client.send("POST", "/memory_stores/undo", {"commit": arguments.commit}).json()
    files = len(undone["paths"])
    by = f"by {undone['commit'][:COMMIT_DIGITS]} " if undone["commit"] else ""
    print(f"Undone {by}in {files} file{'s' * (files != 1)}: {one_line(undone['subject'])}")
    if reason := undone["pending_reason"]:
        print(f"The files are as they were; the commit is pending: {one_line(reason)}")
    return 0


def _short(entry: Json) -> str:
    return str(entry["commit"][:COMMIT_DIGITS])
