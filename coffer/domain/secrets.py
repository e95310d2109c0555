"""Find secrets in prose and code, and take them out.

Git never forgets, so every text passes here before it is first written, and again before it leaves for a
model. What is found is named by kind and place only; nothing here keeps or returns the secret itself.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

from coffer.domain.named_secrets import NAMED
from coffer.domain.secret_rules import ISSUED, Rule

# Where several rules find the same, the first names it.
RULES = (*ISSUED, *NAMED)

# Names and values as in a `.env` file or in shell; a comma or bracket at the end would make it code.
_ENV_LINE = re.compile(
    r"[ \t]{0,8}(?:export[ \t]{1,4})?[A-Za-z_][A-Za-z0-9_]{0,63}=[^\s=][^\n]*(?<![,;({\[])"
)
_BLANK_OR_COMMENT = re.compile(r"[ \t\r]*(?:#[^\n]*)?")
_MOST_BETWEEN = 2
_FARTHEST_IN_LINE = 1024
_RUNS_ON = frozenset(string.ascii_letters + string.digits + "+/=_-")


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a secret stands in a text, and what kind it is, in words for a person."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> list[Finding]:
    """Return the secrets of a text in order, none overlapping; a `.env` block that holds one counts as one."""
    found: list[Finding] = []
    for finding in sorted(_matches(text), key=lambda each: each.start):
        if found and finding.start < found[-1].end:
            before = found.pop()
            finding = Finding(before.kind, before.start, max(before.end, finding.end))
        found.append(finding)
    return list(_with_blocks(text, found))


def scrub(text: str) -> str:
    """Return the text with `[removed: <kind>]` in place of each secret."""
    pieces, position = [], 0
    for finding in find_secrets(text):
        pieces += [text[position : finding.start], f"[removed: {finding.kind}]"]
        position = finding.end
    return "".join([*pieces, text[position:]])


def _matches(text: str) -> Iterator[Finding]:
    folded = text.replace("İ", "I").lower()  # as long as the text: no other letter's lower case is longer
    for rule in RULES:
        searched = folded if rule.pattern.flags & re.IGNORECASE else text
        for keyword in rule.keywords:
            position = searched.find(keyword)
            while position >= 0:
                finding = _try(rule, text, position)
                if finding is not None:
                    yield finding
                after = position + len(keyword)
                position = searched.find(keyword, after if finding is None else max(after, finding.end))


def _try(rule: Rule, text: str, position: int) -> Finding | None:
    match = rule.pattern.match(text, position)
    if match is None:
        return None
    group = match.lastgroup or 0
    start, end = match.span(group)
    if group == "bare":
        end = start + len(text[start:end].rstrip(".:?*"))
    if not rule.accepts(text[start:end], group == "quoted"):
        return None
    if end == match.end():
        # A pattern stops at its bound; what runs on belongs to the secret.
        while end < len(text) and text[end] in _RUNS_ON:
            end += 1
    return Finding(rule.kind, start, end)


def _with_blocks(text: str, found: list[Finding]) -> Iterator[Finding]:
    """Widen each finding on a line of a `.env` block to the block."""
    done = 0
    for finding in found:
        if finding.end <= done:
            continue
        block = _env_block(text, finding, done)
        if block is not None:
            finding = Finding(".env block", *block)
        yield finding
        done = finding.end


def _env_block(text: str, finding: Finding, floor: int) -> tuple[int, int] | None:
    """Return where the block around a finding starts and ends: two lines or more, none before `floor`."""
    top = text.rfind("\n", floor, finding.start) + 1
    if top < floor or finding.start - top > _FARTHEST_IN_LINE:
        return None
    if not _ENV_LINE.fullmatch(text, top, _line_end(text, finding.start)):
        return None
    bottom = _line_end(text, finding.end)
    lines = 1
    edge, between = top, 0
    while edge > floor and between <= _MOST_BETWEEN:
        above = text.rfind("\n", floor, edge - 1) + 1
        if above < floor:
            break
        if _ENV_LINE.fullmatch(text, above, edge - 1):
            top, lines, between = above, lines + 1, 0
        elif _BLANK_OR_COMMENT.fullmatch(text, above, edge - 1):
            between += 1
        else:
            break
        edge = above
    edge, between = bottom, 0
    while edge < len(text) and between <= _MOST_BETWEEN:
        below = _line_end(text, edge + 1)
        if _ENV_LINE.fullmatch(text, edge + 1, below):
            bottom, lines, between = below, lines + 1, 0
        elif _BLANK_OR_COMMENT.fullmatch(text, edge + 1, below):
            between += 1
        else:
            break
        edge = below
    return (top, bottom) if lines > 1 else None


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end
