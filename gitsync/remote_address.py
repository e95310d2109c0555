"""The addresses that are synced with: a host that is known by key or certificate, this machine, or a folder."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

import pygit2
from pygit2.enums import RepositoryOpenFlag

from gitsync.errors import RemoteRefused

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

_FORMS = "https://host/path, ssh://user@host/path, user@host:path, or the whole path of a bare repository"
_HOST = r"(?P<host>[A-Za-z0-9_][\w.-]*|\[[0-9A-Fa-f:.]+(?:%\w+)?\])"
# A user or host that begins with a hyphen would be read as an option by ssh.
_NETWORK = re.compile(
    rf"(?P<scheme>https?|ssh)://(?:(?P<user>[^/@]*)@)?{_HOST}(?::(?P<port>[0-9]{{1,5}}))?/(?P<path>[^/].*)"
)
_SCP = re.compile(rf"(?:(?P<user>[^/:]*)@)?{_HOST}:(?!:)(?P<path>.+)")
_USER = re.compile(r"[\w.+%~][\w.+%~@-]*")
_TOKEN = re.compile(r"(?:gh[a-z]_|github_pat_|glpat-)\w{10,}|[0-9a-f]{40}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def checked_url(url: str) -> str:
    """Return an address in the form that is handed to git; raises RemoteRefused, saying what to do instead.

    Only what checks who is at the other end, or is on this machine. An address is stored and shown, so none may
    hold a password.
    """
    url = url.strip()
    if _CONTROL.search(url):
        raise RemoteRefused("The address holds control characters; write it again by hand.")
    if url.startswith("file://") or os.path.isabs(url):
        return _folder(unquote(url.removeprefix("file://")))
    if re.match(r"[\w.+-]*::", url):
        raise RemoteRefused(
            f"Addresses for git's helper programs (helper::address) aren't used. Give {_FORMS}."
        )
    scheme, separator, rest = url.partition("://")
    parts = (_NETWORK if separator else _SCP).fullmatch(url)
    user = parts["user"] if parts else rest.partition("/")[0].rpartition("@")[0] if separator else ""
    # Before a colon stands the host: of `user:password@host:path` ssh would make a host named like the user.
    hidden = not separator and parts and "@" in parts["path"].partition("/")[0]
    if hidden or (user and (":" in user or _TOKEN.search(user))):
        raise RemoteRefused(
            "The address holds a password or token. Leave it out, and give it to a git credential helper or use ssh."
        )
    if separator and scheme not in ("https", "http", "ssh"):
        raise RemoteRefused(f"Addresses of the kind {scheme}:// aren't used. Give {_FORMS}.")
    if not parts or (user is not None and not _USER.fullmatch(user)) or parts["path"].startswith("-"):
        raise RemoteRefused(f"That isn't an address of a repository. Give {_FORMS}.")
    if separator and re.search(r"[\s?#]", parts["path"]):
        raise RemoteRefused(
            "The address has blanks, ? or # in its path. Give the address of the repository alone."
        )
    if scheme == "http" and separator and parts["host"].lower() not in _LOOPBACK:
        raise RemoteRefused(
            "Over http:// anybody on the way can read and change the memory. Use https:// or ssh."
        )
    return url


def _folder(path: str) -> str:
    if _CONTROL.search(path) or not os.path.isabs(path):
        raise RemoteRefused("A file:// address needs a whole path, as in file:///srv/memory.git.")
    try:
        if pygit2.Repository(path, RepositoryOpenFlag.NO_SEARCH).is_bare:
            return path
    except (pygit2.GitError, KeyError, ValueError, OSError):
        pass
    raise RemoteRefused(f"{path} isn't a bare repository. Make one there with `git init --bare {path}`.")
