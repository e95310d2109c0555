"""A program that talks to a remote without git: fetch, ls-remote, push and index-pack, said and answered like git's.

It is run in a process of its own, so that its time, memory and disk are bounded and it can be ended like git.
There are no credential helpers here; ssh is the user's own.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any
from urllib.parse import urlsplit

from dulwich.client import default_urllib3_manager, get_transport_and_path
from dulwich.graph import can_fast_forward
from dulwich.repo import Repo

_SECONDS = 20.0
_REJECTED = "!\t{tip}:refs/heads/main\t[{kind}] ({reason})\n"


class _Refused(Exception):
    """The remote is somewhere that a push without force can't go to."""


def _client(repo: Repo, url: str) -> tuple[Any, Any]:
    config = repo.get_config_stack()
    web = urlsplit(url).scheme in ("http", "https")
    pool: Any = default_urllib3_manager(config, base_url=url, timeout=_SECONDS) if web else None
    return get_transport_and_path(
        url, config=config, ssh_command=os.environ["GIT_SSH_COMMAND"], pool_manager=pool, quiet=True
    )


def _fetch(repo: Repo, url: str, refspec: str) -> None:
    source, target = _names(refspec.removeprefix("+"))
    client, path = _client(repo, url)
    tip: list[Any] = []

    def wants(refs: Any, depth: int | None = None) -> list[Any]:
        if getattr(client, "dumb", False):
            raise SystemExit("fatal: invalid info/refs")
        tip.extend([refs[source]] if source in refs else [])
        return [oid for oid in tip if oid not in repo.object_store]

    walker = repo.get_graph_walker(list(repo.get_refs().values()))
    # Where the caller watches how much comes.
    with tempfile.NamedTemporaryFile(
        dir=os.path.join(repo.object_store.path, "pack"), prefix="tmp_pack_"
    ) as pack:
        client.fetch_pack(path, wants, walker, pack.write, ref_prefix=[source])
        pack.flush()
        if not tip:
            raise SystemExit(f"fatal: couldn't find remote ref {source.decode()}")
        if tip[0] not in repo.object_store:
            _index(repo, pack)
    if tip[0] not in repo.object_store:
        raise SystemExit("fatal: the pack lacks what was asked for")
    repo.refs[target] = tip[0]


def _list(repo: Repo, url: str) -> None:
    client, path = _client(repo, url)
    branches = client.get_refs(path).refs
    sys.stderr.write("packet: \n")
    for name, oid in branches.items():
        if oid and name.startswith(b"refs/heads/"):
            sys.stdout.write(f"{oid.decode()}\t{name.decode('utf-8', 'replace')}\n")


def _push(repo: Repo, url: str, refspec: str, expected: str = "") -> None:
    tip, target = _names(refspec)
    client, path = _client(repo, url)

    def update(refs: Any) -> Any:
        old = refs.get(target)
        if expected and (old or b"").decode() != expected:
            raise _Refused
        if old and not (old in repo.object_store and can_fast_forward(repo, old, tip)):
            raise _Refused
        return {target: tip}  # the other side compares with the value that it has just told

    try:
        result = client.send_pack(path, update, repo.generate_pack_data)
    except _Refused:
        kind, reason = "rejected", "fetch first"
    else:
        kind, reason = "remote rejected", (result.ref_status or {}).get(target) or ""
        if "unable to set" in reason:  # as it says where a local branch has moved meanwhile
            reason = "cannot lock ref"
    if reason:
        sys.stdout.write(_REJECTED.format(tip=tip.decode(), kind=kind, reason=reason))


def _index(repo: Repo, pack: Any) -> None:
    pack.seek(0)
    repo.object_store.add_thin_pack(pack.read, None)


def _names(refspec: str) -> list[Any]:
    return [name.encode() for name in refspec.split(":")]


def main(verb: str, folder: str, *words: str) -> None:
    """Do one of git's verbs in the repository in `folder`."""
    with Repo(folder) as repo:
        if verb == "fetch":
            _fetch(repo, *words)
        elif verb == "ls-remote":
            _list(repo, *words)
        elif verb == "push":
            _push(repo, *words)
        else:
            _index(repo, sys.stdin.buffer)


if __name__ == "__main__":
    main(*sys.argv[1:])
