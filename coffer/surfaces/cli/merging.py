"""`coffer memory`: find stores that are one project's, and make them one."""

from __future__ import annotations

import argparse

from coffer.surfaces.cli.client import Client, Json
from coffer.surfaces.cli.parsing import Commands, add_command, add_json
from coffer.surfaces.cli.render import one_line, print_json
from coffer.surfaces.cli.stores import store_name

_SECONDS = 300.0  # A model may be asked fifty times.


def register(group: Commands) -> None:
    """Add the commands to `coffer memory`."""
    add_json(
        add_command(group, "merge-scan", _scan, "Find stores that seem to be one project's; changes nothing.")
    )
    merge = add_command(group, "merge", _merge, "Move everything of one project's store into another's.")
    merge.add_argument("source", metavar="SOURCE", help="the store that goes; its name leads to TARGET then")
    merge.add_argument("target", metavar="TARGET", help="the store that stays")
    merge.add_argument("--no-organize", action="store_true", help="don't tidy up the target afterwards")


def _scan(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.send("POST", "/memory_stores/merge_scan", {}, seconds=_SECONDS)
    if arguments.json:
        print_json(answer.body)
        return 0
    found = answer.json()
    for proposal in found["proposals"]:
        print(f"{_told(proposal['source_evidence'])} and {_told(proposal['target_evidence'])}")
        print(f"  {one_line(proposal['confidence'])}: {one_line(proposal['reason'])}")
        print(f"  coffer memory merge {proposal['source']} {proposal['target']}")
    if not found["proposals"]:
        print("No two stores seem to be one project's.")
    if found["engine"] == "no_model":
        print("Only remotes were compared, since no model is connected.")
    if found["truncated"]:
        print("Not every pair was judged; merge these, then scan again.")
    return 0


def _told(evidence: Json) -> str:
    count = evidence["fact_count"]
    where = evidence["root"] or evidence["remote"] or evidence["store"]
    return (
        f"{one_line(evidence['display_name'])} ({one_line(where)}, {count} fact{'' if count == 1 else 's'})"
    )


def _merge(arguments: argparse.Namespace, client: Client) -> int:
    body: Json = {
        "source": store_name(client, arguments.source),
        "target": store_name(client, arguments.target),
        "organize": not arguments.no_organize,
    }
    done = client.send("POST", "/memory_stores/merge", body, seconds=_SECONDS).json()
    count = done["merged_files"]
    print(
        f"{count} file{'' if count == 1 else 's'} moved to {done['target']}; {body['source']} leads there now."
    )
    return 0
