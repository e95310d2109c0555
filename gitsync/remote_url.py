"""Reduce the many ways of writing a git remote's URL to one."""

from __future__ import annotations

import re
from urllib.parse import unquote

_DEFAULT_PORTS = {"ssh": "22", "git+ssh": "22", "git": "9418", "http": "80", "https": "443"}
_AUTHORITY = re.compile(r"(\[[^\[\]\s]+\]|[^:\[\]\s\\]+)(?::([0-9]{0,5}))?")
# host:path or [host:port]:path, with or without a user; host::address would name one of git's remote helpers.
_SCP = re.compile(r"(?:[^/:\[\]]*@)?(\[[^\[\]/\s]+\]|[^/:@\[\]\s\\]+):(?!:)(.+)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LONGEST_URL = 4096


def normalise_remote(url: str) -> str | None:
    """Reduce the forms of one network URL to one text, `host[:port]/path`; None for anything else.

    Ids of projects are made from it: a change here would part people from what they have stored.
    """
    url = url.strip()
    if len(url) > _LONGEST_URL or _CONTROL.search(url):
        return None
    scheme, separator, rest = url.partition("://")
    if separator:
        default_port = _DEFAULT_PORTS.get(scheme.lower())
        authority, _, path = rest.partition("/")
        authority = authority.rpartition("@")[2]
    else:
        scp = _SCP.fullmatch(url)
        if scp is None or url[1] == ":":  # one letter is a Windows drive
            return None
        default_port = "22"
        authority, path = scp.groups()
        if authority.startswith("["):
            inner = authority[1:-1].rpartition("@")[2]
            authority = f"[{inner}]" if inner.count(":") > 1 else inner
    parts = _AUTHORITY.fullmatch(authority)
    if default_port is None or parts is None:
        return None
    host, port = parts[1].lower(), (parts[2] or "").lstrip("0")
    path = unquote(re.split(r"[?#]", path, maxsplit=1)[0])
    path = "/".join(filter(None, path.split("/"))).lower()
    # A bundle is a file that was carried over, whatever stands before its name.
    if path.endswith(".bundle") or _CONTROL.search(path):
        return None
    # What is left of `/srv/project/.git` is the path of the project.
    path = path.removesuffix(".git").rstrip("/")
    if not path:
        return None
    return f"{host}/{path}" if port in ("", default_port) else f"{host}:{port}/{path}"


def may_be_shorthand(url: str) -> bool:
    """Tell whether a value that reads as `host:path` could as well be a shorthand, like `gh:owner/name`.

    Nothing marks its first word as a host: no scheme, user, dot or bracket.
    """
    return re.match(r"[^:/@.\[\]]+:(?!//)", url.strip()) is not None
