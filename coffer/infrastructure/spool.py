"""The folder in which hooks leave what no daemon was there to take: a line with the agent's name, then its input."""

from __future__ import annotations

import os
from collections.abc import Iterator

_LARGEST = 1024 * 1024 + 4096


def take(home: str) -> Iterator[tuple[str, bytes]]:
    """Yield agent and input of each file in the order in which they were left, and remove it.

    What can't be read is passed over. A file that is being written has a name that begins with a dot.
    """
    folder = os.path.join(home, "spool")
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                agent, _, given = file.read(_LARGEST).partition(b"\n")
            os.unlink(path)
        except OSError:
            continue
        yield agent.decode("utf-8", "replace"), given
