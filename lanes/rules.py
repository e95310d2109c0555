"""Rules: what agents are told before every session, a bullet each, in files that people edit too.

A rule that an agent or the organizer learned ends in a comment that says so, its mark. As long as the mark
stands there the rule speaks with less authority than the user's own ones. In the text of a rule that Coffer
writes, `<!--` gets a backslash in front, which reading takes off: no text can bring a mark or hide in one.

Bullets and what belongs to them are read as CommonMark does (https://spec.commonmark.org/0.31.2/#list-items),
as far as a walk through the lines can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lanes import file_text
from lanes.errors import LaneError, Unreadable
from lanes.names import cut, single_line

_HEADING = "# Rules\n"
_WORD_LIMIT = 200
_NESTED = 2  # blanks that put a line inside the bullet above

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_LINE = re.compile(r"[^\n]*\n?")
_BULLET = re.compile(r"\ufeff?([ \t]*)[-*+][ \t]+(?=\S)")
_ENDS_PARAGRAPH = re.compile(r" {0,3}(?:#{1,6}(?!\S)|>|`{3}|~{3}|<!--|\d{1,9}[.)]\s)")
_SOLID = re.compile(r" {0,3}(?:(`{3,}(?=[^`\n]*$)|~{3,})|<!--)", re.MULTILINE)
_MARK = re.compile(r"learned(?: (\d{4}-\d\d-\d\d))?(?: by ([^<>]+))?", re.ASCII)
_OPENING_COMMENT = re.compile(r"(?<!\\)\\*<!--")
_ESCAPED_COMMENT = re.compile(r"(?<!\\)\\(\\*<!--)")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule as one line of text.

    `learned_on` is a day; None for the user's own rules, empty where a mark doesn't tell the day.
    """

    text: str
    learned_on: str | None = None
    learned_by: str | None = None

    @property
    def learned(self) -> bool:
        """Tell whether nobody but an agent or the organizer has stood up for this rule."""
        return self.learned_on is not None


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a rules file as it stands there: a bullet with all lines that belong to it, or what lies between.

    `rule` is None for prose, headings, code and comments.
    """

    text: str
    rule: Rule | None


@dataclass(frozen=True, slots=True)
class RulesDocument:
    """A rules file in pieces; their texts in a row are the file."""

    blocks: tuple[Block, ...]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules in the order of the file."""
        return tuple(block.rule for block in self.blocks if block.rule)


def read_rules(data: bytes) -> RulesDocument:
    """Read a rules file. Raises `Unreadable`; the file then stays as it is."""
    return RulesDocument(tuple(_blocks(file_text.decode(data))))


def count_rules(data: bytes) -> int:
    """Count a file's rules. Raises `Unreadable`."""
    return len(read_rules(data).rules)


def append_rule(data: bytes | None, rule: Rule) -> bytes | None:
    """Put a rule behind the last one of a file, leaving every other line alone.

    `data` is None when there is no file yet. Returns None when the rule is there already, or says nothing.
    A rule of the user's that stands there as learned becomes the user's own. Raises `Unreadable` for a file
    in which the rule would not be read back.
    """
    text = single_line(rule.text)
    if not _says_something(text):
        return None
    old = RulesDocument(()) if data is None or not data.strip() else read_rules(data)
    if any(known.text == text for known in old.rules):
        return accept_rule(data, text) if data and not rule.learned else None
    pieces = [block.text for block in old.blocks] or [_HEADING]
    last = max((place for place, block in enumerate(old.blocks, 1) if block.rule), default=len(pieces))
    before, after = "".join(pieces[:last]), "".join(pieces[last:])
    newline = "\r\n" if re.match(r"[^\n]*\r\n", before) else "\n"
    if old.rules:
        above = _BULLET.match(pieces[last - 1])
        lead = newline * (not before.endswith("\n")) + (above[1] if above else "")
    else:
        lead = newline * max(2 - before[len(before.rstrip()) :].count("\n"), not before.endswith("\n"))
    written = _OPENING_COMMENT.sub(r"\\\g<0>", text)
    result = file_text.encode(f"{before}{lead}- {written}{_mark(rule)}{newline}{after}")
    if [known.text for known in read_rules(result).rules] != [*(known.text for known in old.rules), text]:
        raise Unreadable(
            "a rule can't be added without losing another; is there a comment that nothing closes?"
        )
    return result


def accept_rule(data: bytes, text: str) -> bytes | None:
    """Take the mark off a learned rule, so that it is the user's own; None when no learned one has this text.

    Raises `Unreadable`.
    """
    text = single_line(text)
    blocks = read_rules(data).blocks
    if not any(block.rule and block.rule.learned and block.rule.text == text for block in blocks):
        return None
    result = (
        _unmarked(block.text) if block.rule and block.rule.text == text else block.text for block in blocks
    )
    return file_text.encode("".join(result))


def concatenate(files: Sequence[tuple[str, bytes]]) -> str:
    """Join rules files, given as (path, bytes), in the order of their paths, each as it stands.

    Raises `Unreadable` when one isn't; a caller leaves such a file out.
    """
    joined = ""
    for _, data in sorted(files):
        if joined:
            joined += "\n" if joined.endswith("\n") else "\n\n"
        joined += file_text.decode(data).removeprefix("\ufeff")
    return joined


def pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each line begins and ends; fenced code or a comment over several lines counts as one.

    What nothing closes is read line by line, and so is everything after it.
    """
    position, whole = 0, True
    while position < len(text):
        end = _line_end(text, position)
        if whole and (opening := _SOLID.match(text, position)):
            closing = _closing(opening[1]).search(text, end if opening[1] else opening.end() - 2)
            whole = closing is not None
            end = _line_end(text, closing.end()) if closing else end
        yield position, end
        position = end


def _blocks(text: str) -> Iterator[Block]:
    """Cut a text into blocks; one that isn't a rule reaches to the next that is."""
    start = 0
    inside: int | None = None  # the indentation of the bullet that `start` stands at
    gap = 0  # where the empty lines below that bullet begin, or 0
    for position, end in pieces(text):
        piece = text[position:end]
        blank = not piece.strip()
        indent = _indent(piece)
        if inside is not None:
            if blank:
                gap = gap or position
                continue
            if indent >= inside + _NESTED or not (gap or _ends_paragraph(piece)):
                gap = 0
                continue
            rule_end = gap or position
            yield _rule_block(text[start:rule_end])
            start, inside, gap = rule_end, None, 0
        if not blank and indent <= 3 and _is_bullet(piece):
            if start < position:
                yield Block(text[start:position], None)
            start, inside = position, indent
    if inside is not None:
        rule_end = gap or len(text)
        yield _rule_block(text[start:rule_end])
        start = rule_end
    if start < len(text):
        yield Block(text[start:], None)


def _closing(fence: str | None) -> re.Pattern[str]:
    if fence is None:
        return re.compile("-->")
    return re.compile(rf"^ {{0,3}}{fence[0]}{{{len(fence)},}}[ \t\r]*$", re.MULTILINE)


def _line_end(text: str, position: int) -> int:
    return text.find("\n", position) + 1 or len(text)


def _indent(line: str) -> int:
    line = line.removeprefix("\ufeff")
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4))


def _is_bullet(line: str) -> bool:
    bullet = _BULLET.match(line)
    return bullet is not None and _says_something(line[bullet.end() :])


def _says_something(text: str) -> bool:
    """Tell a rule's text from nothing, and from the line across a page that `* * *` makes."""
    return bool(text.strip("-*+_ \t\r\n"))


def _ends_paragraph(line: str) -> bool:
    return _ENDS_PARAGRAPH.match(line) is not None or _is_bullet(line) or not _says_something(line)


def _rule_block(text: str) -> Block:
    bullet = _BULLET.match(text)
    lines = [_split_mark(line) for line in text[bullet.end() if bullet else 0 :].split("\n")]
    words = " ".join(_ESCAPED_COMMENT.sub(r"\1", words) for words, _ in lines)
    day, author = next((mark for _, mark in lines if mark), (None, None))
    return Block(text, Rule(single_line(words), day, author))


def _mark(rule: Rule) -> str:
    if rule.learned_on is None:
        return ""
    if rule.learned_on and not _DAY.fullmatch(rule.learned_on):
        raise LaneError(f"{rule.learned_on!r} is not a day of the form YYYY-MM-DD")
    author = cut(single_line(re.sub("[<>]", "", rule.learned_by or "")), _WORD_LIMIT)
    return f" <!-- {' '.join(filter(None, ['learned', rule.learned_on, author and f'by {author}']))} -->"


def _split_mark(line: str) -> tuple[str, tuple[str, str | None] | None]:
    """Return a line without the mark at its end, and the day and author that the mark tells."""
    bare = line.rstrip()
    start = bare.rfind("<!--")
    if start < 0 or not bare.endswith("-->") or bare[start - 1 : start] == "\\":
        return line, None
    mark = _MARK.fullmatch(single_line(bare[start + 4 : -3]))
    return (bare[:start], (mark[1] or "", mark[2])) if mark else (line, None)


def _unmarked(text: str) -> str:
    kept = []
    for line in _LINE.findall(text):
        words, mark = _split_mark(line)
        if mark is None:
            kept.append(line)
        elif words.strip():
            kept.append(words.rstrip() + line[len(line.rstrip()) :])
    return "".join(kept)
