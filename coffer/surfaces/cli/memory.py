"""`coffer memory`: what is remembered, read and searched; changing it is in `curate`."""

from __future__ import annotations

import argparse

from coffer.surfaces.cli import curate, history, lanes, merging
from coffer.surfaces.cli.client import Client, Json, escaped
from coffer.surfaces.cli.history import MOMENT
from coffer.surfaces.cli.parsing import Commands, add_command, add_group, add_json, add_store
from coffer.surfaces.cli.render import author, fields, indented, one_line, print_json, table, visible
from coffer.surfaces.cli.stores import store_route

WEAK = 0.4  # Below this confidence a hit is a guess.


def register(commands: Commands) -> None:
    """Add the group to the command line."""
    group = add_group(commands, "memory", "Read, search and correct what is remembered.")

    add_json(add_command(group, "list", _list, "List the stores."))

    show = add_command(group, "show", _show, "Show one store and how much it holds.")
    add_store(show, optional=True)
    add_json(show)

    facts = add_command(group, "facts", _facts, "List a store's facts, newest first.")
    add_store(facts, optional=True)
    facts.add_argument("--limit", type=int, metavar="N", help="at most this many, 1 to 200 (50 without it)")
    facts.add_argument("--offset", type=int, metavar="N", help="leave out the newest N")
    facts.add_argument("--at", metavar="WHEN", help=f"as they were then: {MOMENT}")
    add_json(facts)

    get = add_command(group, "get", _get, "Print one fact.")
    add_store(get)
    get.add_argument("id", metavar="ID", help="the fact's id")
    add_json(get)

    recall = add_command(group, "recall", _recall, "Search, best answer first.")
    add_store(recall)
    recall.add_argument("query", metavar="QUERY", help="what to look for")
    recall.add_argument(
        "--scope", choices=["project", "global", "both"], help="where to search (both without it)"
    )
    recall.add_argument(
        "--top-k", type=int, metavar="N", help="at most this many hits, 1 to 20 (5 without it)"
    )
    recall.add_argument("--at", metavar="WHEN", help=f"the memory as it was then: {MOMENT}")
    add_json(recall)

    history.register(group)
    curate.register(group)
    lanes.register(group)
    merging.register(group)


def _list(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.get("/memory_stores")
    if arguments.json:
        print_json(answer.body)
    elif stores := answer.json()["memory_stores"]:
        rows = [
            (
                store["name"],
                store["display_name"],
                store["fact_count"],
                store["updated_at"],
                store["project_root"] or store["remote"],
            )
            for store in stores
        ]
        print(table(("STORE", "NAME", "FACTS", "UPDATED", "PROJECT"), rows))
    else:
        print("No stores yet; the first fact creates one.")
    return 0


def _show(arguments: argparse.Namespace, client: Client) -> int:
    route = store_route(client, arguments.store)
    answer, metrics = client.get(route), client.get(f"{route}/metrics")
    if arguments.json:
        print_json(b'{"store": %b, "metrics": %b}' % (answer.body.strip(), metrics.body.strip()))
        return 0
    store, counts = answer.json(), metrics.json()
    print(
        fields(
            [
                ("store", store["name"]),
                ("name", store["display_name"]),
                ("exists", None if store["exists"] else "not yet; the first fact creates it"),
                ("facts", f"{counts['fact_count']} ({counts['inbox_count']} in the inbox)"),
                ("topics", counts["topic_count"]),
                ("rules", counts["rule_count"]),
                ("journal days", counts["journal_days"]),
                ("handoffs", counts["handoff_count"]),
                ("size", f"{counts['disk_bytes']:,} bytes"),
                ("last write", counts["last_write_at"]),
                ("project", store["project_root"]),
                ("remote", store["remote"]),
                ("folder", store["store_dir"]),
                ("merged", store["merged_identities"]),
            ]
        )
    )
    return 0


def _facts(arguments: argparse.Namespace, client: Client) -> int:
    route = store_route(client, arguments.store)
    if arguments.at is not None:
        route += f"/at/{escaped(arguments.at)}"
    answer = client.get(f"{route}/facts", limit=arguments.limit, offset=arguments.offset)
    if arguments.json:
        print_json(answer.body)
        return 0
    page = answer.json()
    facts, total = page["facts"], page["total"]
    if not facts:
        print("No facts." if total == 0 else f"No facts beyond the newest {total}.")
        return 0
    rows = [(fact["id"], fact["updated_at"], author(fact), fact["title"]) for fact in facts]
    print(table(("ID", "UPDATED", "BY", "TITLE"), rows))
    if (seen := (arguments.offset or 0) + len(facts)) < total:
        print(f"{total - seen} more: --offset {seen}")
    return 0


def _get(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.get(f"{store_route(client, arguments.store)}/facts/{escaped(arguments.id)}")
    if arguments.json:
        print_json(answer.body)
        return 0
    fact = answer.json()
    print(
        fields(
            [
                ("id", fact["id"]),
                ("title", fact["title"]),
                ("description", fact["description"]),
                ("store", fact["store_name"]),
                ("lane", fact["lane"]),
                ("by", author(fact)),
                ("created", fact["created_at"]),
                ("updated", fact["updated_at"]),
                ("file", fact["path"]),
                ("pending", fact.get("pending_reason")),
            ]
        )
    )
    print()
    print(visible(fact["text"]))
    return 0


def _recall(arguments: argparse.Namespace, client: Client) -> int:
    asked = {"scope": arguments.scope, "top_k": arguments.top_k, "at": arguments.at}
    # A query may be any bytes; what isn't UTF-8 can't match and is left to the daemon as U+FFFD.
    query = arguments.query.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    body = {"query": query} | {name: value for name, value in asked.items() if value is not None}
    answer = client.send("POST", f"{store_route(client, arguments.store)}/recall", body)
    if arguments.json:
        print_json(answer.body)
    elif hits := answer.json()["hits"]:
        print("\n\n".join(_hit(hit) for hit in hits))
    else:
        print("Nothing found.")
    return 0


def _hit(hit: Json) -> str:
    score = f"{hit['score']:.2f}" + (" weak" if hit["score"] < WEAK else "")
    head = f"[{score}] {one_line(hit['id'])}  {one_line(hit['time'])}\n{one_line(hit['source'])}"
    return f"{head}\n{indented(hit['text'].strip())}"
