from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lanes import checked_yaml, frontmatter
from lanes.checked_yaml import Value
from lanes.errors import Unreadable
from lanes.frontmatter import parse, render, update


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        ("just text\n", {}, "just text\n"),
        ("", {}, ""),
        ("---\ntitle: x\n---\n\nbody\n", {"title": "x"}, "body\n"),
        ("---\ntitle: x\n---\nbody", {"title": "x"}, "body"),
        ("---\r\ntitle: x\r\n---\r\n\r\nbody\r\n", {"title": "x"}, "body\r\n"),
        ("\ufeff---\ntitle: x\n---\nbody\n", {"title": "x"}, "body\n"),
        ("\ufeffbody\n", {}, "body\n"),
        ("---  \t\ntitle: x\n--- \nbody\n", {"title": "x"}, "body\n"),
        ("---\ntitle: x\n...\nbody\n", {"title": "x"}, "body\n"),
        ("---\ntitle: x\n---", {"title": "x"}, ""),
        ("---\ntitle: x\n---\n\n\n\nbody\n", {"title": "x"}, "\n\nbody\n"),
        ("---\n---\nbody\n", {}, "body\n"),
        ("---\n# nothing\n---\nbody\n", {}, "body\n"),
        ("---\ntitle: x\n---\n---\nnot: this\n---\n", {"title": "x"}, "---\nnot: this\n---\n"),
        ("--- \ntitle: |\n  ---\n---\nbody\n", {"title": "---\n"}, "body\n"),
        ("----\ntitle: x\n----\n", {}, "----\ntitle: x\n----\n"),
        ("--- title\n---\n", {}, "--- title\n---\n"),
        ("\n---\ntitle: x\n---\n", {}, "\n---\ntitle: x\n---\n"),
    ],
)
def test_headers_of_every_editor(text: str, fields: dict[str, Value], body: str) -> None:
    """A note saved on Windows or by another program would lose its title or show its header as text."""
    parsed = parse(text)

    assert fields == parsed.fields
    assert body == parsed.body


@pytest.mark.report("B02", "B15", "B17")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("---", "front matter isn't closed"),
        ("---\ntitle: x", "front matter isn't closed"),
        ("---\ntitle: x\ncut in the mid", "front matter isn't closed"),
        ("---\ntitle: x\n ---\n", "front matter isn't closed"),
        ("---\ntitle: [\n---\nbody\n", "front matter: line "),
        ("---\na: 1\nb: x: y\n---\n", "front matter: line 3: mapping values"),
        ("---\na: 1\na: 2\n---\n", "front matter: line 3: the key `a` stands twice"),
        ("---\nA paragraph between two rules.\n---\n", "front matter: line 2: not a list of `key: value`"),
        ("---\n" + "x" * 9000 + ": y\n---\n", "front matter: longer than 8 KiB"),
    ],
)
def test_damaged_headers_are_never_guessed_at(text: str, reason: str) -> None:
    """A cut-off file would be read half, and its edit would destroy the other half."""
    with pytest.raises(Unreadable) as caught:
        parse(text)
    assert caught.value.reason.startswith(reason)

    with pytest.raises(Unreadable):
        update(text, {"title": "new"}, "new body")


HAND_MADE = """\
---
# my note
title:   "Old"   # of mine
aliases: [a, 'b']
id: 01ARZ3NDEKTSV4RRFFQ69G5FAV
metadata:
  type: fact
  x-mine:   1.10
---


Body with   odd blanks\t

and no newline at its end"""


@pytest.mark.report("B15")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_an_update_keeps_every_other_byte(newline: str, mark: str) -> None:
    """Saving one field would rewrite what a person laid out with care."""
    text = mark + HAND_MADE.replace("\n", newline)

    edited = update(text, {"title": "New: one", "metadata.type": None, "updated_at": "2026-11-30T10:00:00Z"})

    expected = (
        HAND_MADE.replace('"Old"', '"New: one"')
        .replace("  type: fact\n", "")
        .replace("1.10\n", '1.10\nupdated_at: "2026-11-30T10:00:00Z"\n')
    )
    assert mark + expected.replace("\n", newline) == edited


def test_a_new_body_keeps_the_header() -> None:
    """An edit of the text would touch the fields."""
    head, _, _ = HAND_MADE.partition("\n\n\nBody")

    assert head + "\n\nnew\n" == update(HAND_MADE, {}, "new")
    assert head.replace("\n", "\r\n") + "\r\n\r\nnew\r\n" == update(
        HAND_MADE.replace("\n", "\r\n"), {}, "new"
    )
    assert update("---\na: b\n---", {}, "new") == "---\na: b\n---\n\nnew\n"
    assert update("---\na: b\n---\nold\n", {}, "") == "---\na: b\n---\n"


def test_a_file_without_header_gets_one() -> None:
    """A hand-written file could not be edited, or would lose its first lines."""
    assert update("# Old\ntext", {"title": "a: b"}) == '---\ntitle: "a: b"\n---\n\n# Old\ntext'
    assert update("\ufeffa\r\nb", {"title": "x"}) == "\ufeff---\r\ntitle: x\r\n---\r\n\r\na\r\nb"
    assert update("old", {}, "--- x") == "---\n---\n\n--- x\n"
    assert update("\n\nlate", {"title": "x"}) == "---\ntitle: x\n---\n\n\n\nlate"


@pytest.mark.parametrize(
    "text",
    [
        "---\n{a: b,\n c: d}\n---\n",
        "---\n? a\n: b\n---\n",
        "---\na: |+\n  x\n\n\n---\n",
        "---\nm: {a: b} # c\n---\n",
    ],
)
def test_an_update_loses_nothing_or_is_refused(text: str) -> None:
    """An unusual layout would be damaged without a word."""
    old = parse(text).fields
    try:
        assert {**old, "new": "x"} == parse(update(text, {"new": "x"})).fields
    except Unreadable as error:
        assert "line by line" in error.reason or "without losing" in error.reason


def test_more_than_fits_is_refused() -> None:
    """A file would be written that is refused at the next reading."""
    with pytest.raises(Unreadable, match="8 KiB"):
        render({"title": "x" * 9000}, "body")
    with pytest.raises(Unreadable, match="8 KiB"):
        update("body", {"title": "x" * 9000})


texts = st.text(max_size=30)
awkward = st.lists(
    st.sampled_from(
        ["---", "...", "\n", "\r\n", "\r", " ", "\t", "title: x", "a", "\ufeff", "#", "\u2028", "🚀"]
    )
).map("".join)
bodies = st.one_of(texts, awkward)
values: st.SearchStrategy[Value] = st.one_of(
    texts, st.lists(texts, max_size=2), st.dictionaries(texts, texts, max_size=2)
)
fields_ = st.dictionaries(st.one_of(texts, st.sampled_from(["title", "id", "metadata"])), values, max_size=4)


@settings(deadline=None)
@given(fields_, bodies)
def test_render_and_parse_are_inverse(fields: dict[str, Value], body: str) -> None:
    """What Coffer stores would come back as another text."""
    parsed = parse(render(fields, body))

    assert fields == parsed.fields
    assert (body if not body or body.endswith("\n") else body + "\n") == parsed.body


@settings(deadline=None)
@given(bodies, st.one_of(st.none(), bodies), texts)
def test_updates_of_any_file(text: str, body: str | None, title: str) -> None:
    """Some file would be changed in more than what was asked for."""
    try:
        old = parse(text)
    except Unreadable:
        assume(False)
    new = parse(update(text, {"title": title, "metadata.agent": "codex"}, body))

    assert {**old.fields, "title": title, "metadata": {"agent": "codex"}} == new.fields
    assert old.body == new.body if body is None else body.strip("\r\n") == new.body.strip("\r\n")


lines = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "title: x",
                "title:",
                "a: b",
                'q: "x y"',
                "metadata:",
                "  actor: agent",
                "  agent: c d",
                "  x:",
                "u: ü",
                "k: a:b",
            ]
            + [
                "k: a: b",
                "k: a #b",
                "k: x ",
                "k: #",
                "k: -",
                "k:  x",
                "- a",
                "",
                "# c",
                "k: 'x'",
                "k: |",
                "...x: y",
                "k: *a",
            ]
            + [
                'q: "a\\"b"',
                'q: "x" y',
                "k: [a]",
                "k: a,b]}",
                "k: 1?",
                "K-1_: ~",
                "k: a\tb",
                "k: a\u3000:\u3000b",
                "k: a:",
            ]
        ),
        st.text(st.characters(exclude_characters="\n\r"), max_size=12).map("k: ".__add__),
        st.text(st.sampled_from(":#\"' -\\ab\u2028\xa0\x85\ufeff"), max_size=8).map("k: ".__add__),
        st.text(st.characters(exclude_characters="\n\r"), max_size=8).map('k: "{}"'.format),
    ),
    max_size=6,
)


@settings(max_examples=500, deadline=None)
@given(lines, st.sampled_from(["\n", "\r\n"]))
def test_the_fast_reader_agrees_with_yaml(parts: list[str], newline: str) -> None:
    """A field would have one value when it is read fast and another in every other program."""
    header = "".join(line + newline for line in parts)

    fast = frontmatter._simple_fields(header)

    if fast is not None:
        assert checked_yaml.load(header) == fast


def test_coffers_own_headers_are_read_fast() -> None:
    """Ten thousand facts would take ten seconds more to index."""
    header = 'id: "01A"\ntitle: "a: b"\nmetadata:\n  actor: agent\n  agent: codex\ncreated_at: "2026-11-30"\n'

    assert frontmatter._simple_fields(header) == checked_yaml.load(header)
