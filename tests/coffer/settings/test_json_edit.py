"""One entry of a JSON text changes, and no other byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coffer.domain.errors import SettingsUnparsable
from coffer.infrastructure.settings.json_edit import JsonDocument
from coffer.infrastructure.settings.json_text import MAX_DEPTH

ROUNDS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def read(text: str | None) -> JsonDocument:
    return JsonDocument.read("settings.json", None if text is None else text.encode())


# ── documents as nobody would write them ──

NAMES = st.sampled_from(["a", "b", "hooks", "Start", "mcp", 'ü \\u00e9 \\"', "//", "{"])
SCALARS = st.sampled_from(
    ["1", "-0.5e+3", "true", "false", "null", '""', '"}],/*"', '"\\ud83d"', '"记忆 // x"']
)
SPACES = st.sampled_from(
    ["", "", " ", "\n", "\t", "\n  ", "// note, {\n", " /* a ] */", "/*\n * b\n */ ", " \n//\n\t", "/**//**/"]
)


@st.composite
def containers(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    """An object or an array of some values."""
    named = draw(st.booleans())
    entries = []
    for value in draw(st.lists(inner, max_size=4)):
        name = f'"{draw(NAMES)}"{draw(SPACES)}:{draw(SPACES)}' if named else ""
        entries.append(f"{draw(SPACES)}{name}{value}{draw(SPACES)}")
    text = ",".join(entries) + ("," if draw(st.booleans()) and entries else "") + draw(SPACES)
    return f"{{{text}}}" if named else f"[{text}]"


VALUES = st.recursive(SCALARS, containers, max_leaves=12)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """An object with all that may be around it, in one of the kinds of line ends."""
    entries = [
        f'{draw(SPACES)}"{draw(NAMES)}":{draw(VALUES)}{draw(SPACES)}' for _ in range(draw(st.integers(0, 4)))
    ]
    comma = "," if draw(st.booleans()) and entries else ""
    text = f"{draw(SPACES)}{{{','.join(entries)}{comma}{draw(SPACES)}}}{draw(SPACES)}"
    return draw(st.sampled_from(["", "\ufeff"])) + text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


PATHS = st.sampled_from([("ours",), ("a", "ours"), ("hooks", "Start", "ours"), ("mcp", "ours")])
ADDED: list[Any] = [False, "x", [], {}, {"command": "x", "args": ["--agent", "y"], "env": {}}]


@ROUNDS
@given(documents(), PATHS, st.sampled_from(ADDED))
def test_what_is_set_and_removed_leaves_every_byte(text: str, path: tuple[str, ...], value: object) -> None:
    """A person's layout or comments would be gone after an uninstall."""
    before = read(text)
    try:
        after = before.set(path, value)
    except SettingsUnparsable:
        return  # Something on the way isn't an object.
    assert after.get(path) == value
    assert after.set(path, value) is after
    assert after.remove(path).data == before.data


@ROUNDS
@given(documents(), st.sampled_from([("hooks", "Start"), ("a",), ("new", "list")]), st.sampled_from(ADDED))
def test_what_is_appended_and_removed_leaves_every_byte(
    text: str, path: tuple[str, ...], value: object
) -> None:
    """Another tool's hooks would be moved or changed by ours."""
    before = read(text)
    try:
        after = before.append(path, value)
    except SettingsUnparsable:
        return
    found = after.get(path)
    assert isinstance(found, list) and found[-1] == value
    earlier = before.get(path)
    assert found[:-1] == (earlier if isinstance(earlier, list) else [])
    assert after.remove((*path, len(found) - 1)).data == before.data


@ROUNDS
@given(documents(), st.permutations([("ours",), ("ours too",), ("a", "ours")]))
def test_several_entries_go_in_any_order(text: str, order: list[tuple[str, ...]]) -> None:
    """Switching off one of Coffer's parts would leave a trace of another."""
    document = read(text)
    try:
        for path in [("ours",), ("a", "ours"), ("ours too",)]:
            document = document.set(path, {"x": [1]})
    except SettingsUnparsable:
        return
    for path in order:
        document = document.remove(path)
    assert document.data == text.encode()


@ROUNDS
@given(documents(), st.data())
def test_any_entry_can_be_taken_out(text: str, data: st.DataObject) -> None:
    """A text would be damaged where a comment ends with its line."""
    before = read(text)
    assert isinstance(before.value, dict)
    if not before.value:
        return
    key = data.draw(st.sampled_from(sorted(before.value)))
    after = before.remove((key,))
    assert (after.value or {}) == {name: value for name, value in before.value.items() if name != key}


@ROUNDS
@given(documents(), st.sampled_from(["{", "}", "[", ",", '"', "\x00", "/*", "tru"]), st.data())
def test_a_damaged_text_is_read_or_refused(text: str, noise: str, data: st.DataObject) -> None:
    """A half-written file would stop the daemon."""
    place = data.draw(st.integers(0, len(text)))
    try:
        read(text[:place] + noise + text[place:])
    except SettingsUnparsable as refused:
        assert refused.details["line"] and refused.details["column"]


# ── how it looks ──


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, '{\n  "m": {\n    "ours": {\n      "x": 1\n    }\n  }\n}\n'),
        ("{}", '{"m": { "ours": {"x": 1} }}'),
        ('{"a":1}', '{"a":1,"m":{ "ours":{"x":1} }}'),
        (
            '{\n\t"m": {\n\t\t"b": 1\n\t}\n}',
            '{\n\t"m": {\n\t\t"b": 1,\n\t\t"ours": {\n\t\t\t"x": 1\n\t\t}\n\t}\n}',
        ),
        (
            '{\n    "a": 1, // why\n}\n',
            '{\n    "a": 1, // why\n    "m": {\n        "ours": {\n            "x": 1\n        }\n    },\n}\n',
        ),
        (
            '{\n  "a": 1 // why\n}',
            '{\n  "a": 1, // why\n  "m": {\n    "ours": {\n      "x": 1\n    }\n  }\n}',
        ),
        ('{\r\n "m": {}\r\n}', '{\r\n "m": {"ours": {"x": 1}}\r\n}'),
        ('{"m": null}', '{"m": { "ours": {"x": 1}}}'),
    ],
)
def test_what_is_added_looks_like_the_rest(before: str | None, after: str) -> None:
    """A person would find their file in another style than theirs."""
    assert read(before).set(("m", "ours"), {"x": 1}).text == after


def test_a_value_is_replaced_where_it_is() -> None:
    """An update would move an entry, or lose the comment behind it."""
    text = '{\n  "a": {\n    "on": true, // mine\n    "list": [\n      1\n    ]\n  }\n}'
    changed = read(text).set(("a", "on"), False).set(("a", "list"), [2, 3])
    assert changed.text == text.replace("true", "false").replace("      1\n", "      2,\n      3\n")
    assert changed.restore(("a", "on"), "true").set(("a", "list"), [1]).text == text


def test_of_a_repeated_name_the_last_counts_and_none_stays() -> None:
    """Coffer would change an entry that the agent never reads, or leave one that counts once the other is gone."""
    document = read('{"a": 1, "a": {"b": 2}, "c": 3}')
    assert document.get(("a", "b")) == 2
    assert document.set(("a", "b"), 4).text == '{"a": 1, "a": {"b": 4}, "c": 3}'
    assert document.remove(("a",)).text == '{"c": 3}'


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("", 1, 1, "it is empty"),
        (" \n", 2, 1, "it is empty"),
        ('{"a": 1', 1, 8, "ends early"),
        ('\ufeff{"a" 1}', 1, 6, "`:` is missing"),
        ('{\r\n  "a": 1\r\n  "b": 2\r\n}', 3, 3, "`,` or `}` is missing"),
        ("{'a': 1}", 1, 2, 'a name in `"`'),
        ('{"a": tru}', 1, 7, "a value is missing"),
        ('{"a": "x\ny"}', 1, 7, "isn't closed"),
        ("[1,,2]", 1, 4, "a value is missing"),
        ("{} {}", 1, 4, "after the end"),
        ("{} /* open", 1, 4, "after the end"),
        ("[" * (MAX_DEPTH + 1), 1, MAX_DEPTH + 1, "levels deep"),
        ("1" * 5000, 1, 1, "too long"),
    ],
)
def test_a_fault_is_told_by_line_and_column(text: str, line: int, column: int, problem: str) -> None:
    """A person would have to look for the fault that keeps Coffer from connecting."""
    with pytest.raises(SettingsUnparsable) as refused:
        read(text)
    assert (refused.value.details["line"], refused.value.details["column"]) == (line, column)
    assert problem in refused.value.message


def test_what_is_not_utf8_is_told_by_line_and_column() -> None:
    """A file in another encoding would be rewritten into nonsense."""
    with pytest.raises(SettingsUnparsable) as refused:
        JsonDocument.read("settings.json", '{\n "é": "'.encode() + b'\xe9"}')
    assert (refused.value.details["line"], refused.value.details["column"]) == (2, 8)


@pytest.mark.parametrize("text", ['{"hooks": "none"}', '{"hooks": [1]}', '{"hooks": 0}', "[]", "null"])
def test_what_is_something_else_is_refused_where_it_is(text: str) -> None:
    """A setting that Coffer doesn't understand would be replaced by its own."""
    with pytest.raises(SettingsUnparsable) as refused:
        read(text).set(("hooks", "Start"), 1)
    assert refused.value.details["line"] == 1


def test_deep_and_large_texts_are_edited() -> None:
    """A long history in an agent's file would keep Coffer from connecting."""
    deep = '{"a":' * (MAX_DEPTH - 1) + "{}" + "}" * (MAX_DEPTH - 1)
    assert read(deep).set(("ours",), 1).remove(("ours",)).text == deep
    large = json.dumps(
        {"projects": {f"/p/{number}": {"history": ['x \\ " {'] * 50} for number in range(200)}}
    )
    assert read(large).set(("ours",), 1).remove(("ours",)).text == large


def test_removing_what_is_not_there_is_no_change() -> None:
    """An uninstall that is run twice would fail, or write a file for nothing."""
    document = read('{"a": [1]}')
    for path in [("b",), ("a", "b"), ("a", 3), ("a", 0, "c")]:
        assert document.remove(path) is document
    absent = read(None)
    assert absent.remove(("a",)) is absent and absent.data is None
