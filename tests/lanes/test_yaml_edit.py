from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lanes import checked_yaml
from lanes.checked_yaml import Value, load
from lanes.errors import Unreadable
from lanes.yaml_edit import change, changed, dump

TEXT = """\
# who wrote this
title: "Old title"  # keep me
tags:
- a
-   b   # indented oddly
metadata:
    actor: 'agent'   # four blanks
    # about the type
    type: fact

flow: {actor: user, n: 1.10}
long: >-
  folded
  text

# before empty
empty:
'odd key': 2024-01-01
"""


@pytest.fixture(params=["CBaseLoader", "BaseLoader"])
def _loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_yaml, "_LOADER", getattr(yaml, request.param))


@pytest.mark.report("B53")
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a: b",
        "#x",
        "- y",
        '"',
        "'",
        "no",
        "Yes",
        "~",
        "null",
        "2024-01-01",
        "1.10",
        "0x1F",
        "12:30:00",
        "{{x}}",
    ]
    + [
        "[x",
        "*a",
        "&a",
        "!t",
        "%d",
        "@x",
        "`x`",
        "?",
        ": ",
        "a #b",
        "a:",
        " a",
        "a ",
        "\t",
        "a\nb",
        "\r",
        "\x85",
        "<<",
    ]
    + [
        "=",
        "\u2028",
        "\ufeff",
        "\x00\x07\x1b",
        "🚀",
        "שלום",
        "\u202e",
        "e\u0301",
        "---",
        "...",
        "\\n",
        "|",
        ">",
        "y",
    ],
)
def test_scalars_mean_the_same_to_every_reader(text: str) -> None:
    """Another program would see a date, a number or a syntax error where the title was."""
    fields: dict[str, Value] = {"key": text, text: "k", "list": [text, [text], {text: text}]}
    written = dump(fields)

    assert fields == load(written)
    assert fields == yaml.safe_load(written)


def test_plain_words_are_written_plainly() -> None:
    """Files would be full of quotes that no person would write."""
    assert dump({"title": "Deploys go through make release"}) == "title: Deploys go through make release\n"
    assert (
        dump({"a": {"b": "c", "d": ["e"]}, "l": [], "m": {}, "e": ""})
        == 'a:\n  b: c\n  d:\n    - e\nl: []\nm: {}\ne: ""\n'
    )


def test_lone_surrogates_are_refused() -> None:
    """A file would be written that nobody can read."""
    with pytest.raises(Unreadable, match="surrogate"):
        dump({"a": "\ud800"})


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        ("title", "New: title", '"Old title"', '"New: title"'),
        ("title", None, 'title: "Old title"  # keep me\n', ""),
        ("title", ["x"], 'title: "Old title"  # keep me\n', "title:\n  - x\n"),
        ("metadata.actor", "user", "'agent'", "user"),
        ("metadata.type", None, "    type: fact\n", ""),
        ("metadata.agent", "codex", "type: fact\n", "type: fact\n    agent: codex\n"),
        ("tags", ["c"], "tags:\n- a\n-   b   # indented oddly\n", "tags:\n  - c\n"),
        ("tags", None, "tags:\n- a\n-   b   # indented oddly\n", ""),
        ("flow.actor", "agent", "actor: user", '"actor": "agent"'),
        ("flow.n", None, ", n: 1.10", ""),
        ("flow.m", "", "1.10}", '1.10, "m": ""}'),
        ("long", "short", "long: >-\n  folded\n  text\n\n", "long: short\n"),
        ("long", None, "long: >-\n  folded\n  text\n\n", ""),
        ("empty", "full", "empty:\n", "empty: full\n"),
        ("empty.inner", "full", "empty:\n", "empty:\n  inner: full\n"),
        ("odd key", "x", "2024-01-01", "x"),
        ("odd key", None, "'odd key': 2024-01-01\n", ""),
        (
            "updated_at",
            "2026-11-30T10:00:00Z",
            "2024-01-01\n",
            '2024-01-01\nupdated_at: "2026-11-30T10:00:00Z"\n',
        ),
        ("new.inner", "x", "2024-01-01\n", "2024-01-01\nnew:\n  inner: x\n"),
        ("missing", None, "", ""),
        ("missing.inner", None, "", ""),
        ("title.inner", None, "", ""),
        ("metadata.missing", None, "", ""),
    ],
)
def test_an_edit_touches_its_own_lines_only(
    path: str, value: Value | None, old: str, new: str, newline: str
) -> None:
    """A person's comments, order and quotes would be lost when Coffer saves a note."""
    text, old, new = (part.replace("\n", newline) for part in (TEXT, old, new))
    assert text.count(old) == 1 or not old

    edited = change(text, path, value, newline)

    assert text.replace(old, new, 1) == edited
    assert changed(load(text), path, value) == load(edited)


def test_a_mapping_goes_with_its_last_key() -> None:
    """An empty `metadata:` would stay behind and mean nothing."""
    assert change("a: b\nm:\n  type: x\n", "m.type", None) == "a: b\n"
    assert changed({"a": "b", "m": {"type": "x"}}, "m.type", None) == {"a": "b"}


@pytest.mark.parametrize(
    "text", ["", "# note\n", "# note", "a: b", "{a: b}", "{}", "a: |+\n  x\n\n\n", " a: b\n"]
)
def test_a_key_can_be_added_to(text: str) -> None:
    """A hand-made file without a final newline, or in brackets, would be garbled."""
    edited = change(text, "new", "x: y")

    assert {**load(text), "new": "x: y"} == load(edited)


@pytest.mark.parametrize(
    ("text", "path"), [("{a: b,\n c: d}", "new"), ("m: {a: b, # c\n  c: d}\n", "m.a"), ("? a\n: b\n", "new")]
)
def test_layouts_that_cannot_be_edited_are_refused(text: str, path: str) -> None:
    """A comment in brackets would be dropped without a word."""
    with pytest.raises(Unreadable, match="line by line"):
        change(text, path, "x")


def test_a_key_below_a_word_is_refused() -> None:
    """The word that stood there would be overwritten."""
    with pytest.raises(Unreadable, match="`title` holds no keys"):
        changed({"title": "x"}, "title.inner", "y")


scalars = st.one_of(
    st.text(max_size=12), st.sampled_from(["no", "a: b", "- x", "#", "1.0", "", "🚀", "x\ny"])
)
keys = st.sampled_from(["title", "tags", "metadata", "new", "flow"])
values: st.SearchStrategy[Value] = st.one_of(
    scalars, st.lists(scalars, max_size=3), st.dictionaries(scalars, scalars, max_size=3)
)


@settings(deadline=None)
@given(st.dictionaries(scalars, values, max_size=4))
def test_what_is_written_is_read(fields: dict[str, Value]) -> None:
    """A file that Coffer wrote would be damaged in its own eyes."""
    assert fields == load(dump(fields))


@settings(deadline=None)
@given(st.dictionaries(keys, values, max_size=4), keys, values, st.sampled_from(["\n", "\r\n"]))
def test_edits_of_any_value(fields: dict[str, Value], key: str, value: Value, newline: str) -> None:
    """Some value would swallow its neighbour when it is replaced."""
    text = "# top\n" + dump(fields, newline)

    for new in (value, None):
        assert changed(fields, key, new) == load(change(text, key, new, newline))
