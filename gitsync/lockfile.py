"""Git's own lock files, taken so that a lock says whose it is from its first instant.

Git makes `index.lock` with O_EXCL and fills it later; a crash in between leaves a lock that names nobody.
Here the content is written beside and `link` puts it in place, which is as exclusive and never shows an empty file. A
lock that somebody else holds is never waited for and never removed, however old.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gitsync.errors import Blocked
from gitsync.scratch import read_text, write_new

MARK = "coffer"
_stuck: dict[str, os.stat_result] = {}


def owner_text(pid: int) -> str:
    """Return what a lock of process `pid` says: the mark, the pid, and when that process started."""
    return f"{MARK} {pid} {_started(pid) or 0}\n"


def owner_file(folder: str) -> str:
    """Return a file in `folder` that names this process, to be linked to whatever it locks."""
    pid = os.getpid()
    path = os.path.join(folder, f"owner-{pid}")
    text = owner_text(pid)
    if read_text(path) != text:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_new(path, text.encode())
    return path


@contextmanager
def held(path: str, content: str) -> Iterator[None]:
    """Hold the lock `path`, a link to the file `content`; raises Blocked when it is taken."""
    try:
        os.link(content, path)
    except FileExistsError:
        raise Blocked(describe(path, os.path.dirname(content))) from None
    try:
        yield
    finally:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass  # renamed into place by the holder
        except OSError:
            _stuck[path] = os.lstat(path)
            raise


def drop_stuck(path: str) -> None:
    """Remove a lock that couldn't be removed when this process was done with it, now that the disk may be mended."""
    if path in _stuck:
        with suppress(OSError):
            if os.path.samestat(_stuck[path], os.lstat(path)):
                os.unlink(path)
            del _stuck[path]


def describe(path: str, folder: str) -> str:
    """Say who holds the lock `path` and for how long, by the clock that gives files in `folder` their times."""
    owner = owner_of(path)
    who = f"pid {owner[0]}" if owner else "pid unknown"
    with suppress(OSError):
        clock = owner_file(folder)
        os.utime(clock)
        who += f", {max(0, int(os.stat(clock).st_mtime - os.lstat(path).st_mtime))} s old"
    return f"another program holds the git lock ({os.path.basename(path)}, {who})"


def owner_of(path: str) -> tuple[int, int] | None:
    """Return pid and start of the process that a lock of ours names; None for anything else."""
    words = (read_text(path) or "").split(" ")
    if len(words) == 3 and words[0] == MARK and words[1].isdecimal() and words[2].strip().isdecimal():
        return int(words[1]), int(words[2])
    return None


def is_stale(owner: tuple[int, int]) -> bool:
    """Tell whether the process is gone, or its number now belongs to a later one; this process holds no lock.

    Where the system doesn't tell when a process started, a live process with this number counts as the owner.
    """
    pid, start = owner
    if os.name == "nt":  # os.kill ends processes there; whoever recovers holds the daemon's lock
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        pass  # alive, another user's
    return pid == os.getpid() or _started(pid) not in (start, None)


def _started(pid: int) -> int | None:
    """Return when a process started, in ticks since boot (proc(5), field 22); None where that isn't told."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None
