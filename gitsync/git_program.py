"""The program that talks to a remote, with what it is told and what it isn't.

It is the user's own git where there is one, since only that knows their ssh configuration, host keys, credential
helpers and proxies; those stay. What would ask a person, run a hook or write elsewhere is off. Without git it is
dulwich in a Python of its own, which is called and answers alike.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress

import pygit2

from gitsync.quarantine import TIP
from gitsync.refs import BRANCH
from gitsync.repo import Repository

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "core.alternateRefsCommand=true",  # prints no refs; what is here is told by refs in the quarantine
    "core.bigFileThreshold=16m",  # larger files are checked as they stream by, not in memory
    "credential.interactive=false",
    "fetch.fsckObjects=true",
    "transfer.fsckObjects=true",
    "fetch.unpackLimit=1",  # always a pack: its first bytes tell how many objects will come
    "transfer.unpackLimit=1",
    "fetch.writeCommitGraph=false",
    "transfer.bundleURI=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "pack.threads=2",
    "push.gpgSign=false",
    "protocol.ext.allow=never",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=20",
)
_QUIET = {
    "LC_ALL": "C",  # what it says is read
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
}
_OPENSSH = (
    "-oBatchMode=yes -oConnectTimeout=10 -oServerAliveInterval=10 -oServerAliveCountMax=2"
    " -oControlMaster=no"  # one that is there is used; one that we start would outlive us
)
SPOKEN = "packet: "
# Every other GIT_* of the daemon's environment points at some repository, or writes a trace.
_KEPT = ("GIT_SSH_VARIANT", "GIT_EXEC_PATH", "GIT_SSL_", "GIT_PROXY_", "GIT_HTTP_", "GIT_CONFIG_")
_DROPPED = ("GIT_CONFIG_PARAMETERS", "SSH_ASKPASS")


def fetch_command(repo: Repository, folder: str, url: str) -> list[str]:
    """Return the command that gets the remote's branch into the quarantine in `folder`."""
    options = (
        "--quiet --no-tags --no-recurse-submodules --no-write-fetch-head --no-auto-maintenance --no-prune"
    )
    return _command(repo, folder, "fetch", options, url, f"+{BRANCH}:{TIP}")


def heads_command(repo: Repository, folder: str, url: str) -> list[str]:
    """Return the command that lists the remote's branches, with SPOKEN in its errors where git has answered.

    To git any web page is a list of no branches.
    """
    return ["/usr/bin/env", "GIT_TRACE_PACKET=2", *_command(repo, folder, "ls-remote", "--heads", url)]


def push_command(repo: Repository, url: str, tip: str, expected: str | None) -> list[str]:
    """Return the command that moves the remote's branch forward to `tip`, by `--porcelain`.

    With `expected` only from exactly there: git calls that a lease. As `tip` descends from it nothing is forced.
    """
    options = "--porcelain --no-verify --no-follow-tags --no-recurse-submodules"
    if expected:
        options += f" --force-with-lease={BRANCH}:{expected}"
    return _command(repo, repo.folder, "push", options, url, f"{tip}:{BRANCH}")


def unpack_command(repo: Repository, folder: str, size: int) -> list[str]:
    """Return the command that takes the pack at its input into the quarantine in `folder`."""
    return _command(repo, folder, "index-pack", f"--stdin --fix-thin --strict --max-input-size={size}")


def _command(repo: Repository, folder: str, verb: str, options: str, *words: str) -> list[str]:
    git = shutil.which("git")
    if git is None:
        script = os.path.join(os.path.dirname(__file__), "remote_dulwich.py")
        lease = [option.rpartition(":")[2] for option in options.split() if "-with-lease=" in option]
        return [sys.executable, "-P", script, verb, folder, *words, *lease]
    # The quarantine knows nothing of what the user has set for this repository.
    settings = [f"include.path={os.path.join(repo.folder, 'config')}"] * (folder != repo.folder) + [
        *_SETTINGS
    ]
    given = [word for setting in settings for word in ("-c", setting)]
    return [
        git,
        f"--git-dir={folder}",
        "--bare",
        *given,
        verb,
        *options.split(),
        *(["--", *words] if words else []),
    ]


def environment(repo: Repository, url: str = "") -> dict[str, str]:
    """Return the environment of such a command: the user's own, without what could ask, redirect or trace."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if (not name.startswith("GIT_") or name.startswith(_KEPT)) and name not in _DROPPED
    }
    kept |= _QUIET
    kept["GIT_SSH_COMMAND"] = _ssh(repo)
    # The user may have git write https for ssh; nothing leads from the network to a file.
    scheme = "file" if os.path.isabs(url) else url.partition("://")[0]
    kept["GIT_ALLOW_PROTOCOL"] = scheme if scheme in ("file", "http") else "https:ssh"
    if scheme == "http":  # this machine; by way of a proxy a password would travel in the open
        kept["NO_PROXY"] = kept["no_proxy"] = "*"
    return kept


def _ssh(repo: Repository) -> str:
    """Return the user's ssh command; OpenSSH is also told to ask nobody and to notice a dead connection."""
    command = next(filter(None, _ssh_commands(repo)))
    try:
        program = os.path.basename(shlex.split(command)[0]).lower().removesuffix(".exe")
    except (ValueError, IndexError):
        return command
    return f"{command} {_OPENSSH}" if program == "ssh" else command


def _ssh_commands(repo: Repository) -> Iterator[str | None]:
    """Yield what may name the ssh command, in git's order."""
    yield os.environ.get("GIT_SSH_COMMAND")
    with suppress(KeyError, ValueError, OSError, pygit2.GitError):
        yield repo.git.config["core.sshCommand"]
    yield shlex.quote(os.environ.get("GIT_SSH") or "ssh")
