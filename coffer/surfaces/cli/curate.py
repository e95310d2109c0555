"""`coffer memory`: add, correct, remove, restore, and name, in the user's name."""

from __future__ import annotations

import argparse
import sys

from coffer.surfaces.cli.client import Client, Failed, Json, escaped
from coffer.surfaces.cli.parsing import Commands, add_command, add_store, confirm
from coffer.surfaces.cli.render import one_line
from coffer.surfaces.cli.stores import store_route


def register(group: Commands) -> None:
    """Add the commands that change something to `coffer memory`."""
    add = add_command(group, "add", _add, "Remember a text.")
    add_store(add)
    add.add_argument("text", metavar="TEXT", help="the text, or - to read it from standard input")
    add.add_argument("--title", help="the first line without it")
    add.add_argument("--description", help="the beginning of the text without it")
    add.add_argument("--allow-secret", action="store_true", help="keep it although it looks like a secret")

    edit = add_command(group, "edit", _edit, "Correct a fact's text, in $EDITOR when no text is given.")
    _add_fact(edit)
    edit.add_argument(
        "text", metavar="TEXT", nargs="?", help="the new text, or - to read it from standard input"
    )

    delete = add_command(
        group, "delete", _delete, "Delete a fact from memory; its text stays in the git history."
    )
    _add_fact(delete)

    clear = add_command(
        group, "clear", _clear, "Delete every fact of a store; the store and the git history stay."
    )
    add_store(clear)
    clear.add_argument("--yes", action="store_true", help="don't ask")

    label = add_command(group, "label", _label, "Give a store a name of your own.")
    add_store(label)
    label.add_argument("text", metavar="TEXT", help="the label; '' removes it")

    restore = add_command(group, "restore", _restore, "Bring a fact back as it was at a commit.")
    _add_fact(restore)
    restore.add_argument("commit", metavar="COMMIT", help="from `coffer memory history STORE --fact ID`")


def _add(arguments: argparse.Namespace, client: Client) -> int:
    body: Json = {"text": _text(arguments.text)}
    for name in ("title", "description"):
        if (value := getattr(arguments, name)) is not None:
            body[name] = value
    if arguments.allow_secret:
        body["allow_secret"] = True
    try:
        answer = client.send("POST", f"{store_route(client, arguments.store)}/facts", body)
    except Failed as failed:
        if failed.details.get("reason") != "secret":
            raise
        raise Failed(
            f"The text seems to hold a secret ({failed.details.get('kind')}); "
            "say where it is kept instead, or insist with --allow-secret."
        ) from None
    _tell("Added" if answer.status == 201 else "Already remembered:", answer.json())
    return 0


def _edit(arguments: argparse.Namespace, client: Client) -> int:
    route = _fact_route(arguments, client)
    if arguments.text is not None:
        fact = client.send("PATCH", route, {"text": _text(arguments.text)}).json()
    else:
        from coffer.surfaces.cli.editing import edit_fact  # subprocess and tempfile are slow to import

        changed = edit_fact(client, route)
        if changed is None:
            print("The text is unchanged.")
            return 0
        fact = changed
    _tell("Edited", fact)
    return 0


def _delete(arguments: argparse.Namespace, client: Client) -> int:
    client.send("DELETE", _fact_route(arguments, client))
    print(f"Deleted {one_line(arguments.id)}; its text stays in the git history.")
    return 0


def _clear(arguments: argparse.Namespace, client: Client) -> int:
    route = store_route(client, arguments.store)
    if not arguments.yes:
        store = client.get(route).json()
        name = one_line(f"{store['display_name']} ({store['name']})")
        confirm(
            f"Delete {_facts(store['fact_count'])}, all there is in {name}?",
            "Nobody can be asked here; say --yes to clear the store.",
            "Nothing was cleared.",
        )
    cleared = client.send("DELETE", f"{route}/facts").json()["cleared"]
    print(f"Cleared {_facts(cleared)}; what was there stays in the git history.")
    return 0


def _facts(count: int) -> str:
    return f"{count} fact" if count == 1 else f"{count} facts"


def _label(arguments: argparse.Namespace, client: Client) -> int:
    route = store_route(client, arguments.store)
    store = client.send("PATCH", f"{route}/label", {"label": arguments.text}).json()
    print(f"{store['name']} is called {one_line(store['display_name'])}.")
    return 0


def _restore(arguments: argparse.Namespace, client: Client) -> int:
    route = _fact_route(arguments, client)
    _tell("Restored", client.send("POST", f"{route}/restore", {"commit": arguments.commit}).json())
    return 0


def _add_fact(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument("id", metavar="ID", help="the fact's id")


def _fact_route(arguments: argparse.Namespace, client: Client) -> str:
    return f"{store_route(client, arguments.store)}/facts/{escaped(arguments.id)}"


def _text(argument: str) -> str:
    """Return the argument, or all of standard input for `-`."""
    if argument != "-":
        return argument
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise Failed("Standard input isn't valid UTF-8; nothing was sent.") from None


def _tell(done: str, fact: Json) -> None:
    """Say what became of a fact, and what is still to come when git couldn't take it now."""
    print(f"{done} {one_line(fact['id'])}  {one_line(fact['title'])}")
    if reason := fact.get("pending_reason"):
        print(f"The file is kept; its commit is pending: {one_line(reason)}")
