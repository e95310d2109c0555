"""`coffer sync`: one memory on several machines, through a git repository of the user's own."""

from __future__ import annotations

import argparse
import os

from coffer.surfaces.cli.client import Client, Failed, Json
from coffer.surfaces.cli.daemon import discovery_file
from coffer.surfaces.cli.parsing import Commands, add_command, add_group, add_json
from coffer.surfaces.cli.render import fields, one_line, print_json, table

# A run waits for the remote, whose own limits are well below this.
_SECONDS = 900.0


def register(commands: Commands) -> None:
    """Add `coffer sync` and what it can do."""
    group = add_group(commands, "sync", "Keep this memory and those of your other machines the same.")

    init = add_command(
        group, "init", _init, "Set the remote and sync with it, on every machine the same way."
    )
    init.add_argument(
        "url",
        metavar="URL",
        help="a repository for the memory alone: https or ssh, user@host:path, or the path of a bare repository",
    )
    init.add_argument("--manual", action="store_true", help="sync only when `coffer sync run` is given")
    init.add_argument("--interval", type=int, metavar="SECONDS", help="how often to look at the remote (300)")

    for name, run, says in (
        ("run", _run, "Sync now."),
        ("status", _status, "Tell how sync is."),
        ("conflicts", _conflicts, "List what two machines have changed in a way that you have to decide."),
    ):
        add_json(add_command(group, name, run, says))

    accept = add_command(group, "accept", _accept, "Say yes to what sync has paused for.")
    accept.add_argument("reason", metavar="REASON", help="as `coffer sync status` names it")
    add_json(accept)

    resolve = add_command(group, "resolve", _resolve, "Settle a conflict.")
    resolve.add_argument("path", metavar="PATH", help="either file, as `coffer sync conflicts` names it")
    resolve.add_argument(
        "--keep",
        choices=("this", "other", "both"),
        required=True,
        help="the version that has the plain name, the other one, or both as texts of their own",
    )

    serve = add_command(
        group, "serve", _serve, "Tell how your own git reads the memory, and whether it may push."
    )
    serve.add_argument("--push", choices=("on", "off"), help="let it push, or no longer")
    add_json(serve)

    add_command(group, "off", _off, "Switch sync off; nothing is removed, here or on the remote.")


def _init(arguments: argparse.Namespace, client: Client) -> int:
    body: Json = {"url": _absolute(arguments.url), "automatic": not arguments.manual}
    if arguments.interval is not None:
        body["interval_seconds"] = arguments.interval
    _tell(client.send("PUT", "/sync/remote", body, seconds=_SECONDS).json())
    return 0


def _run(arguments: argparse.Namespace, client: Client) -> int:
    return _ended(arguments, client, "/sync/run", {})


def _accept(arguments: argparse.Namespace, client: Client) -> int:
    return _ended(arguments, client, "/sync/accept", {"reason": arguments.reason})


def _ended(arguments: argparse.Namespace, client: Client, route: str, body: Json) -> int:
    answer = client.send("POST", route, body, seconds=_SECONDS)
    if arguments.json:
        print_json(answer.body)
        return 0
    run = answer.json()
    if run["result"] in ("paused", "failed"):
        raise Failed(run["reason"])
    print(f"Synced: {_commits(run['pulled'])} came in, {_commits(run['pushed'])} went out.")
    _tell_renamed(run)
    if run["conflicts"]:
        print(f"{run['conflicts']} open: `coffer sync conflicts`.")
    return 0


def _commits(count: int) -> str:
    return f"{count} commit" if count == 1 else f"{count} commits"


def _status(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.get("/sync/status")
    if arguments.json:
        print_json(answer.body)
    else:
        _tell(answer.json())
    return 0


def _off(arguments: argparse.Namespace, client: Client) -> int:
    client.send("DELETE", "/sync/remote")
    print("Sync is off. The memory stays as it is, here and on the remote.")
    return 0


def _serve(arguments: argparse.Namespace, client: Client) -> int:
    if arguments.push is None:
        answer = client.get("/sync/serving")
    else:
        answer = client.send("PUT", "/sync/serving", {"push": arguments.push == "on"})
    if arguments.json:
        print_json(answer.body)
        return 0
    port = discovery_file(client.home).get("port")
    if port is None:
        raise Failed("The daemon has no port (COFFER_PORT=off), so git can't reach it.")
    print(f"git clone http://coffer@127.0.0.1:{port}/memory.git")
    print(f"The password is in {os.path.join(client.home, 'token')}.")
    print("Pushing is on." if answer.json()["push"] else "Pushing is off: --push on allows it.")
    return 0


def _conflicts(arguments: argparse.Namespace, client: Client) -> int:
    answer = client.get("/sync/conflicts")
    if arguments.json:
        print_json(answer.body)
    else:
        _tell_conflicts(answer.json()["conflicts"])
    return 0


def _resolve(arguments: argparse.Namespace, client: Client) -> int:
    path = arguments.path
    if not os.path.isabs(path) and os.path.exists(path):
        path = os.path.abspath(path)
    body: Json = {"path": path, "keep": arguments.keep}
    left = client.send("POST", "/sync/conflicts/resolve", body).json()["conflicts"]
    print("Settled; what went stays in the history.")
    if left:
        _tell_conflicts(left)
    return 0


def _tell_conflicts(conflicts: list[Json]) -> None:
    if not conflicts:
        print("No conflicts.")
        return
    rows = [(each["since"], each["path"], each["other_path"] or "(removed)") for each in conflicts]
    print(table(("SINCE", "THIS", "OTHER"), rows))


def _tell(status: Json) -> None:
    rows = [
        ("state", status["state"]),
        ("remote", status["remote"]),
        ("machine", status["machine"]),
        ("last run", status["last_run_at"]),
        ("last success", status["last_success_at"]),
        ("to push", status["ahead"] or None),
        ("to pull", status["behind"] or None),
    ]
    print(fields(rows))
    if status["reason"]:
        print(one_line(status["reason"]))
    _tell_renamed(status)


def _tell_renamed(run: Json) -> None:
    for path in run["renamed"]:
        print(f"Came in under a name that not every system can hold; now {one_line(path)}")


def _absolute(url: str) -> str:
    """Return the path of a repository on disk as the daemon needs it; any other address as it is."""
    return os.path.abspath(url) if os.path.exists(url) else url
