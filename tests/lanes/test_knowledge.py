from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lanes.errors import Unreadable
from lanes.file_text import has_conflict_markers
from lanes.knowledge import (
    DESCRIPTION_LIMIT,
    TITLE_LIMIT,
    derive_description,
    derive_title,
    new_fact,
    read_note,
    render_index,
    rewrite_note,
    storable,
)
from lanes.names import path_id, single_line

ULID = "01JDKW8Z4M3QH5T9R2X7V6B1CA"
PATH = "knowledge/inbox/2026-11/deploys-7v6b1ca.md"
NOW = "2026-11-30T10:00:00Z"
LATER = "2026-11-30T11:00:00Z"


def fact(text: str, **given_: Any) -> bytes:
    values: dict[str, Any] = {"title": None, "description": None, "agent": "codex", "origin_session_id": None}
    return new_fact(fact_id=ULID, text=text, actor="agent", now=NOW, **{**values, **given_})


def test_a_fact_file_is_what_the_contract_shows() -> None:
    """Other programs, and a person, would not find what the docs promise."""
    data = fact("Deploys go through `make release`.\n", origin_session_id="s-1")

    assert data.decode() == (
        '---\nid: "01JDKW8Z4M3QH5T9R2X7V6B1CA"\ntitle: Deploys go through make release.\n'
        "description: Deploys go through make release.\nmetadata:\n  actor: agent\n  agent: codex\n"
        'origin_session_id: s-1\ncreated_at: "2026-11-30T10:00:00Z"\nupdated_at: "2026-11-30T10:00:00Z"\n---\n\n'
        "Deploys go through `make release`.\n"
    )


def test_a_fact_is_read_back() -> None:
    """Recall would show another author, time or text than what was noted."""
    note = read_note(PATH, fact(" two\n\nlines ", title="T", description="D", origin_session_id="s"))

    assert (note.id, note.minted, note.lane) == (ULID, True, "inbox")
    assert (note.title, note.description, note.body) == ("T", "D", "two\n\nlines")
    assert (note.actor, note.agent, note.origin_session_id) == ("agent", "codex", "s")
    assert (note.created_at, note.updated_at) == (NOW, NOW)


@pytest.mark.report("B53", "B54")
@pytest.mark.parametrize(
    "title",
    [
        "a: b",
        "#x",
        "- y",
        '"',
        "'",
        "no",
        "1.10",
        "2024-01-01",
        "{{x}}",
        "🚀",
        "???",
        "。",
        "x" * 300,
        "שלום: עולם",
    ]
    + ["e\u0301e\u0301", "[x](y)", "---", "a\\nb", "`x`", "* * *", "%YAML", "ok\u202eevil", "two\nlines"],
)
def test_titles_round_trip(title: str) -> None:
    """A title would break its file or come back as a number, a date or nothing."""
    data = fact("text", title=title)

    assert single_line(title) == read_note(PATH, data).title
    assert single_line(title) == yaml.safe_load(data.decode().split("\n---\n")[0])["title"]


@pytest.mark.parametrize("given_", ["title", "description", "agent", "origin_session_id"])
def test_very_long_fields_are_cut(given_: str) -> None:
    """A caller could make a header that is refused at the next reading."""
    note = read_note(PATH, fact("text", **{given_: '"' * 5000}))

    limit = {"title": TITLE_LIMIT, "description": DESCRIPTION_LIMIT}.get(given_, 200)
    assert '"' * limit == getattr(note, given_)


TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    st.lists(
        st.sampled_from(
            [
                "---",
                "...",
                "\n",
                "\r\n",
                "\r",
                "  ",
                "\t",
                "title: x",
                "a",
                "\ufeff",
                "# ",
                "\u2028",
                "<<<<<<<",
            ]
        )
    ).map("".join),
)


@settings(deadline=None)
@given(TEXTS, st.one_of(st.none(), TEXTS), TEXTS)
def test_any_text_round_trips(text: str, title: str | None, session: str) -> None:
    """Some text that an agent noted would come back changed, or not at all."""
    assume(not has_conflict_markers(text.strip()))

    note = read_note(PATH, fact(text, title=title, description=title, origin_session_id=session))

    assert text.strip() == note.body
    assert (single_line(title or "")[:TITLE_LIMIT] or derive_title(text.strip())) == note.title
    assert (single_line(session)[:200] or None) == note.origin_session_id
    assert note == read_note(
        PATH, fact(note.body, title=note.title, description=note.description, origin_session_id=session)
    )


def test_a_note_about_conflicts_can_be_stored() -> None:
    """A note that quotes a merge conflict would be refused, or written and never read again."""
    text = "\n".join(["<<<<<<< HEAD", "a", "=======", "b", ">>>>>>> x"])
    stored = storable(text)

    assert text.replace(">>>>>>>", " >>>>>>>") == stored
    assert stored == read_note(PATH, fact(text)).body == storable(stored)


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_texts_that_no_file_can_hold_are_refused(text: str) -> None:
    """A broken file would be written and reported as damaged ever after."""
    with pytest.raises(Unreadable):
        fact(text)


@pytest.mark.parametrize(
    ("data", "title", "body"),
    [
        (b"# Deploy *now*\n\ntext\n", "Deploy now", "# Deploy *now*\n\ntext"),
        (b"\n\n  - [ ] call [the host](https://x)\n", "call the host", "  - [ ] call [the host](https://x)"),
        ("\ufeffAuf Windows\r\n\r\ntext\r\n".encode(), "Auf Windows", "Auf Windows\r\n\r\ntext"),
        (b"---\nname: Old name\ntype: fact\n---\nbody", "Old name", "body"),
        (b"---\ntitle: ' '\n---\nbody", "body", "body"),
        (b"---\ntitle: [a]\nmetadata: x\nid: {a: b}\n---\nbody", "body", "body"),
        (b"---\ntags: x\n---\n", "by hand", ""),
    ],
)
def test_files_made_by_hand(data: bytes, title: str, body: str) -> None:
    """A note that a person dropped into the folder would have no title or lose text."""
    path = "knowledge/by hand.md"
    note = read_note(path, data)

    assert (title, body) == (note.title, note.body)
    assert (path_id(path), False, "topic", "user") == (note.id, note.minted, note.lane, note.actor)
    assert (note.agent, note.created_at, note.updated_at) == (None, None, None)


@pytest.mark.report("B18")
def test_a_renamed_fact_keeps_its_id() -> None:
    """A fact renamed in an editor would be there twice."""
    data = fact("text")

    assert read_note(PATH, data).id == read_note("knowledge/other.md", data).id


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2026-11-30T10:00:00Z", "2026-11-30T10:00:00Z"),
        ("2026-11-30", "2026-11-30T00:00:00Z"),
        ("2026-11-30 10:00", "2026-11-30T10:00:00Z"),
        ("2026-11-30T12:00:00.123+02:00", "2026-11-30T10:00:00Z"),
        ("yesterday", None),
        ("0001-01-01T00:00:00+02:00", None),
        ("", None),
    ],
)
def test_times_have_one_form(written: str, expected: str | None) -> None:
    """Facts would sort wrongly when a person or another program wrote the time."""
    assert expected == read_note(PATH, f"---\nupdated_at: {written}\n---\nx\n".encode()).updated_at


@pytest.mark.report("B02", "B15")
@pytest.mark.parametrize("data", [b"", b"---\ntitle: x\nhalf", b"---\ntitle: [\n---\nx", b"\xff\xfe", b"a\0"])
def test_damaged_files_are_neither_read_nor_rewritten(data: bytes) -> None:
    """An edit through Coffer would destroy what could still be repaired by hand."""
    with pytest.raises(Unreadable):
        read_note(PATH, data)
    with pytest.raises(Unreadable):
        rewrite_note(data, now=NOW, text="new")


def test_rewriting_keeps_what_it_does_not_know() -> None:
    """Tags, comments and links that a person or another program keeps in the header would be lost."""
    old = (
        b"---\n# mine\nname: 'Old'\ntags: [a]\nmetadata:\n  type: fact\n  node: 7\ntype: fact\n---\nbody  \n"
    )

    assert rewrite_note(old, now=NOW, title="New") == (
        b'---\n# mine\ntags: [a]\nmetadata:\n  node: 7\ntitle: New\nupdated_at: "2026-11-30T10:00:00Z"\n'
        b"---\nbody  \n"
    )
    assert read_note(PATH, rewrite_note(old, now=NOW)).title == "Old"
    assert b"title: Old\n" in rewrite_note(old, now=NOW, text="other")


def test_a_derived_title_follows_the_text() -> None:
    """An edited fact would still be listed under what it said before."""
    note = read_note(PATH, rewrite_note(fact("Deploys by make"), now=LATER, text="Deploys by ship"))

    assert (
        note.title,
        note.description,
        note.body,
    ) == ("Deploys by ship", "Deploys by ship", "Deploys by ship")
    assert (note.id, note.created_at, note.updated_at) == (ULID, NOW, LATER)


def test_a_given_title_stays_until_it_is_blanked() -> None:
    """A title that a person chose would be replaced by the first line."""
    data = rewrite_note(fact("a", title="Mine"), now=LATER, text="b")

    assert read_note(PATH, data).title == "Mine"
    assert read_note(PATH, rewrite_note(data, now=LATER, title=" ")).title == "b"


@settings(deadline=None)
@given(TEXTS, TEXTS, st.one_of(st.none(), TEXTS))
def test_any_edit_round_trips(old: str, new: str, title: str | None) -> None:
    """Some edit would be stored as another text."""
    assume(not has_conflict_markers(new.strip()))

    note = read_note(PATH, rewrite_note(fact(old), now=LATER, text=new, title=title))

    assert new.strip() == note.body
    assert (single_line(title or "")[:TITLE_LIMIT] or derive_title(new.strip())) == note.title
    assert note.updated_at == LATER


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", "Untitled"),
        ("\u200b", "Untitled"),
        ("###", "###"),
        ("## Deploy ##", "Deploy"),
        ("> - **Never** deploy on `friday`", "Never deploy on friday"),
        ("1. first", "first"),
        ("---\ntitle: x", "title: x"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("<!-- note -->\nreal", "real"),
        ("| a | b |\n|---|---|", "a | b"),
        (
            "use *.py and *.js, 2 * 3, __init__ and snake_case",
            "use *.py and *.js, 2 * 3, __init__ and snake_case",
        ),
        ("![logo](x.png) Logo", "logo Logo"),
        ("🚀", "🚀"),
        ("???", "???"),
        ("-5 degrees", "-5 degrees"),
        ("#123 is fixed", "#123 is fixed"),
        ("word " * 30, "word " * 15 + "word"),
        ("部" * 100, "部" * 80),
    ],
)
def test_derived_titles(text: str, title: str) -> None:
    """The list of facts would be full of marks, or a fact would have no name at all."""
    assert title == derive_title(text)


@given(TEXTS)
def test_derived_lines_are_short_lines(text: str) -> None:
    """Some text would make a title of several lines."""
    assert 1 <= len(derive_title(text)) <= 80
    assert len(derive_description(text)) <= 200
    assert derive_title(text) == single_line(derive_title(text))


@pytest.mark.parametrize(
    "mark", ["`", "*", "~~", "[", "![](", "> ", "- ", "|", "1. ", "a`", "* a", "***a**", "<!--"]
)
def test_a_line_of_marks_is_read_at_once(mark: str) -> None:
    """One line of punctuation would keep the index busy for minutes."""
    assert derive_title(mark * 20_000) is not None


def test_the_index_lists_topics_by_slug() -> None:
    """INDEX.md would change with the order of the files, or a title would break its list."""
    index = render_index([("b", "Two\nlines", ""), ("a dir/é", "A [x] \\", "what\nit is")])

    assert index == "# Knowledge\n\n- [A \\[x\\] \\\\](a%20dir/%C3%A9.md) — what it is\n- [Two lines](b.md)\n"
    assert render_index([]) == "# Knowledge\n\n"
