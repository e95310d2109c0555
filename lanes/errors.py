"""What can go wrong with the text of a lane file.

LaneError
└── Unreadable    a file, or a text on its way into one, that can't be read without guessing
"""

from __future__ import annotations


class LaneError(Exception):
    """Say that something isn't a lane, a project or a file that Coffer could have written."""


class Unreadable(LaneError):
    """Tell why a file is left alone, in a few words for a person.

    Whoever meets it keeps the file's bytes and the version read last, and goes on with the other files.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
