"""Facts and topic documents: a title, a description, who noted it when, and a body of markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from lanes import file_text, frontmatter
from lanes.checked_yaml import Value
from lanes.errors import Unreadable
from lanes.layout import INBOX
from lanes.names import cut, is_ulid, path_id, single_line
from lanes.times import utc_time

TITLE_LIMIT = 300
DESCRIPTION_LIMIT = 1000
_DERIVED_TITLE = 80
_DERIVED_DESCRIPTION = 200
_NAME_LIMIT = 200

_LEADING_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")
# What may stand before a line's words: quote marks, list marks, a task's box, a heading's marks.
_LINE_MARKS = re.compile(r"(?:[>|]|[-+*]\s|\d{1,9}[.)]\s|\[[ xX]\]\s|#{1,6}(?:\s|$)|\s)+")
_RULE_OR_FENCE = re.compile(r"\s*(?:(?:[-*_=]\s*){3,}|(?:```|~~~).*|[\s|:-]+|<!--.*)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"(\*{1,3}|~~|`{1,3})(?=\S)(.+?)(?<=\S)\1")
_LONGEST_LINE = 400


@dataclass(frozen=True, slots=True)
class Note:
    """One fact or topic as its file tells it.

    `minted`: the id is a ULID kept in the file, not derived from its path. `body` has no blank lines around
    it. Times are ISO 8601 in UTC with whole seconds; None where the file doesn't tell.
    """

    id: str
    minted: bool
    lane: str
    title: str
    description: str
    actor: str
    agent: str | None
    origin_session_id: str | None
    created_at: str | None
    updated_at: str | None
    body: str


def read_note(path: str, data: bytes) -> Note:
    """Read a fact or topic, also one that a person wrote without any header.

    `path` is the path inside the store. Raises `Unreadable`; the file then stays as it is.
    """
    note = frontmatter.parse(file_text.decode(data))
    fields, body = note.fields, _trimmed(note.body)
    metadata = fields.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    given_id = fields.get("id")
    minted = isinstance(given_id, str) and is_ulid(given_id)
    return Note(
        id=str(given_id) if minted else path_id(path),
        minted=minted,
        lane="inbox" if path.startswith(INBOX + "/") else "topic",
        title=_line(fields, "title") or _line(fields, "name") or _title_of(path, body),
        description=_line(fields, "description") or derive_description(body),
        actor="agent" if metadata.get("actor") == "agent" else "user",
        agent=_line(metadata, "agent") or None,
        origin_session_id=_line(fields, "origin_session_id") or None,
        created_at=utc_time(_line(fields, "created_at") or ""),
        updated_at=utc_time(_line(fields, "updated_at") or ""),
        body=body,
    )


def new_fact(
    *,
    fact_id: str,
    title: str | None,
    description: str | None,
    text: str,
    actor: str,
    agent: str | None,
    origin_session_id: str | None,
    now: str,
) -> bytes:
    """Write a new fact; `read_note` gives back `storable(text)` and the title as one line.

    Title and description are derived from the text where none is given.
    """
    body = storable(text)
    metadata: dict[str, Value] = {"actor": actor}
    if agent:
        metadata["agent"] = cut(single_line(agent), _NAME_LIMIT)
    fields: dict[str, Value] = {
        "id": fact_id,
        "title": _title(title, body),
        "description": _description(description, body),
        "metadata": metadata,
    }
    if origin_session_id:
        fields["origin_session_id"] = cut(single_line(origin_session_id), _NAME_LIMIT)
    fields |= {"created_at": now, "updated_at": now}
    return file_text.encode(frontmatter.render(fields, body))


def rewrite_note(
    data: bytes,
    *,
    now: str,
    text: str | None = None,
    title: str | None = None,
    description: str | None = None,
) -> bytes:
    """Edit a fact or topic in place: only what changes is written, unknown keys and comments stay.

    A title or description that was derived from the old text follows the new one, and a blank one is derived.
    Older files' `name` becomes `title`, their `type` goes. Raises `Unreadable` rather than lose anything.
    """
    content = file_text.decode(data)
    old = frontmatter.parse(content)
    old_body = _trimmed(old.body)
    body = old_body if text is None else storable(text)
    changes: dict[str, Value | None] = {"type": None, "metadata.type": None}
    old_title = _line(old.fields, "title")
    if not old_title and (old_title := _line(old.fields, "name")):
        changes |= {"name": None, "title": old_title}
    old_description = _line(old.fields, "description")
    if title is not None or (text is not None and old_title and old_title == derive_title(old_body)):
        changes["title"] = _title(title, body)
    if description is not None or (
        text is not None and old_description and old_description == derive_description(old_body)
    ):
        changes["description"] = _description(description, body)
    changes["updated_at"] = now
    return file_text.encode(frontmatter.update(content, changes, None if text is None else body))


def renamed_note(data: bytes, new_id: str) -> bytes:
    """Give a fact or topic another id, and nothing else. Raises `Unreadable`."""
    return file_text.encode(frontmatter.update(file_text.decode(data), {"id": new_id}))


def storable(text: str) -> str:
    """Return a text as a file holds it: stripped, and no longer looking like an unfinished merge.

    That costs a space before git's closing marker, in a text that quotes all three. Everything else stays
    as it is, line ends too. Raises `Unreadable` for NUL characters.
    """
    if "\0" in text:
        raise Unreadable("NUL characters")
    return file_text.indent_conflict_markers(text.strip())


def derive_title(text: str) -> str:
    """Make a title of the first line that says something, at most 80 characters."""
    return cut(_first_words(text), _DERIVED_TITLE) or "Untitled"


def derive_description(text: str) -> str:
    """Make a description of the first line that says something, at most 200 characters."""
    return cut(_first_words(text), _DERIVED_DESCRIPTION)


def render_index(topics: Sequence[tuple[str, str, str]]) -> str:
    """Write INDEX.md from (slug, title, description) of each topic."""
    lines = ["# Knowledge", ""]
    for slug, title, description in sorted(topics):
        label = re.sub(r"[\[\]\\]", r"\\\g<0>", single_line(title))
        tail = single_line(description)
        lines.append(f"- [{label}]({quote(slug)}.md)" + (f" — {tail}" if tail else ""))
    return "\n".join(lines) + "\n"


def _title(given: str | None, body: str) -> str:
    return cut(single_line(given or ""), TITLE_LIMIT) or derive_title(body)


def _description(given: str | None, body: str) -> str:
    return cut(single_line(given or ""), DESCRIPTION_LIMIT) or derive_description(body)


def _first_words(text: str) -> str:
    """Return the first line with words in it without its markdown; failing that, the first visible line."""
    visible = ""
    for line in re.finditer(r"\S[^\r\n]*", text):
        raw = line.group()[:_LONGEST_LINE]
        visible = visible or single_line(raw)
        if not _RULE_OR_FENCE.fullmatch(raw):
            marks = _LINE_MARKS.match(raw)
            words = _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", raw[marks.end() if marks else 0 :]))
            if words := single_line(words).rstrip("|# "):
                return words
    return visible


def _title_of(path: str, body: str) -> str:
    return derive_title(body) if body else single_line(path.rpartition("/")[2].removesuffix(".md"))


def _trimmed(body: str) -> str:
    lead = _LEADING_BLANK_LINES.match(body)
    return body[lead.end() if lead else 0 :].rstrip()


def _line(fields: Mapping[str, Value], key: str) -> str:
    value = fields.get(key)
    return single_line(value) if isinstance(value, str) else ""
