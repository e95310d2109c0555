"""Make one sentence for people of what git, ssh and a remote write when they fail.

All of it was written elsewhere, so it is cut short and holds neither credentials nor control characters. The words
are those of git, OpenSSH and curl under LC_ALL=C.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gitsync.errors import Cause, RemoteFailed

_LONGEST = 300
_WEB = "No git host answers at the address, only a web server. Is there a login page in between?"
_KNOWN: tuple[tuple[str, Cause, str], ...] = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|host key for .* has changed",
        "host_key",
        "The host shows another key than before. Find out why before you trust it; ssh says what to do.",
    ),
    (
        r"Host key verification failed|No \w+ host key is known",
        "host_key",
        "The host's key isn't known on this machine. Check it once by hand: {try_it}",
    ),
    (
        r"(?i:certificate (?:problem|verif)|certificate_verify|server certificate)",
        "host_key",
        "The host's certificate isn't trusted here. Look with {try_it}",
    ),
    (
        r"Permission denied|Authentication failed|could not read (?:Username|Password)|returned error: 40[13]"
        r"|Invalid username or (?:password|token)|Permission to \S+ denied|[Aa]ccess denied|HTTPUnauthorized"
        r"|Too many authentication failures",
        "credentials",
        "The remote refuses your credentials. Check them with {try_it}",
    ),
    (
        r"Could not resolve host|Name or service not known|name resolution|NameResolutionError",
        "unreachable",
        "The host's name isn't known. Is this machine online?",
    ),
    (r"timed out|TimeoutError|too slow", "unreachable", "The remote doesn't answer in time."),
    (
        r"Connection refused|[Ff]ailed to connect|Couldn't connect|is unreachable|No route to host|Connection reset"
        r"|Connection closed|Empty reply",
        "unreachable",
        "The remote can't be reached.",
    ),
    (
        r"dubious ownership",
        "other",
        "The remote's folder belongs to another user. `git config --global --add "
        "safe.directory FOLDER` is your yes to it.",
    ),
    (
        r"[Rr]epository .*not found|does not appear to be a git repository|returned error: 404"
        r"|not found: did you run|Project not found|NotGitRepository",
        "missing",
        "There is no repository at the address, or none that your credentials show. Look with {try_it}",
    ),
    (r"[Ii]nvalid info/refs|info/refs not valid|invalid content-type", "unreachable", _WEB),
    (r"No space left|Disk quota", "size", "The disk is full."),
    (
        r"[Oo]ut of memory|malloc failed|MemoryError|mmap failed",
        "size",
        "What the remote sends takes more memory than is allowed.",
    ),
    (r"pack exceeds maximum", "size", "That is more than is allowed."),
)
# What git adds to any failure of a connection, and says nothing by itself.
_EMPTY = re.compile(
    r"(?:fatal: )?(?:Could not read from remote|the remote end hung up|protocol error: bad|early EOF"
    r"|fetch-pack|index-pack failed|expected flush|error reading section)"
    r"|Please make sure|and the repository exists|hint:|Warning:|To |error: failed to push|\*|=+$|\s*$"
)
_SECRETS = re.compile(
    r"(?<=://)[^/@\s]*@|(?<=\bbasic )\S+|(?<=\bbearer )\S+|(?<=password[=:])\S+|(?<=token[=:])\S+", re.I
)
_UNSEEN = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]"
)


def failure(said: str, url: str) -> RemoteFailed:
    """Return the error that fits what was said while talking to `url`."""
    said = said_plainly(said)
    for pattern, cause, sentence in _KNOWN:
        if re.search(pattern, said):
            return RemoteFailed(sentence.format(try_it=f"`git ls-remote {url}`."), cause)
    return RemoteFailed(f"The remote can't be synced with: {last_words(said)}.")


def last_words(said: str) -> str:
    """Return the last line that says something."""
    lines = [line for line in said_plainly(said).splitlines() if not _EMPTY.match(line)]
    told = re.sub(r"^(?:(?:fatal|error|remote): )+", "", lines[-1]) if lines else ""
    return told.strip(" .")[:_LONGEST] or "it ended without a word"


def not_git() -> RemoteFailed:
    """Return the error for a web server that knows nothing of git, or has its files alone to offer."""
    return RemoteFailed(_WEB, "unreachable")


def declined(reason: str, said: str) -> RemoteFailed:
    """Return the error for a push that a remote's own rules refuse, with what they say about it."""
    remarks = [line for line in said_plainly(said).splitlines() if line.startswith("remote:")]
    told = _joined(remark.removeprefix("remote:") for remark in remarks)
    return RemoteFailed(
        f"The remote refuses the push: {_joined([said_plainly(reason)])}{told and f' ({told})'}.", "declined"
    )


def _joined(lines: Iterable[str]) -> str:
    return " ".join(" ".join(lines).split())[:_LONGEST]


def said_plainly(said: str) -> str:
    """Return text from elsewhere without credentials and without what a terminal would obey."""
    return _SECRETS.sub("", _UNSEEN.sub("", said.replace("\r", "\n")))
