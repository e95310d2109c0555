"""A change of a file as a person reads it before saying yes: only the lines that differ."""

from __future__ import annotations

from difflib import SequenceMatcher

from coffer.domain.originals import original

_LONGEST_LINE = 300


def short_diff(before: bytes | None, after: bytes | None) -> str:
    """Return the lines that go, each after `- `, and those that come, each after `+ `.

    A file without line breaks is shown by what is put in and taken out alone.
    """
    old, new = _different(_lines(before), _lines(after))
    shown = []
    for kind, i, j, k, m in SequenceMatcher(None, old, new).get_opcodes():
        if kind != "equal":
            shown += [
                *(f"- {line}".rstrip() for line in old[i:j]),
                *(f"+ {line}".rstrip() for line in new[k:m]),
            ]
    if all(len(line) <= _LONGEST_LINE for line in shown):
        return "\n".join(shown)
    gone, come = original(before, after).middle or b"", original(after, before).middle or b""
    return "\n".join(
        f"{sign} …{text.decode('utf-8', 'replace')}…" for sign, text in (("-", gone), ("+", come)) if text
    )


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines()


def _different(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Return both without the lines that they share at the beginning and at the end."""
    shortest = min(len(old), len(new))
    head = next((n for n in range(shortest) if old[n] != new[n]), shortest)
    tail = next((n for n in range(shortest - head) if old[-1 - n] != new[-1 - n]), shortest - head)
    return old[head : len(old) - tail], new[head : len(new) - tail]
