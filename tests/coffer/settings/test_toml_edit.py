"""One entry of a TOML text changes, and no other byte."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from coffer.domain.errors import SettingsUnparsable
from coffer.infrastructure.settings.toml_edit import TomlDocument
from coffer.infrastructure.settings.toml_text import MAX_DEPTH, scan

SERVER = {"command": "/opt/a b/shim", "args": ["--agent", "ada"]}


ROUNDS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def read(text: str | None) -> TomlDocument:
    return TomlDocument.read("config.toml", None if text is None else text.encode())


VALUES = st.sampled_from(
    [
        "1",
        "true",
        "'[x]'",
        '"# \\" ]"',
        "[1, 'a#]', # c\n 2,\n]",
        '"""\n[t]\na = 1 \\\n  ""\\"""""',
        "'''\n= '''''",
    ]
    + ["1979-05-27 07:32:00", "{ a = { b = [ {c = 1} ] } }", "nan", "[[], {}]", "{}", "1e3"]
)
ENTRIES = st.builds(
    "{}{} = {}{}".format, st.sampled_from(["", "  "]), st.just("KEY"), VALUES, st.sampled_from(["", " # c"])
)
HEADERS = st.sampled_from(
    [
        "[features]",
        "[ features ] # c",
        "[features.x]",
        "[mcp_servers.a]",
        '[mcp_servers."b ]"]',
        "[[skills.config]]",
    ]
    + ["[mcp_servers]", "[projects.'c:\\x']", "\t[w]", "[[skills.config.more]]", '["features"]', "[memories]"]
)
ROOTS = st.sampled_from(
    [
        "features.KEY = 1",
        "features = {KEY = 1}",
        "features = { }",
        "mcp_servers.KEY.command = 1",
        "mcp_servers = { KEY = {} } # c",
    ]
    + ['"features" . KEY = 1', "memories = {KEY = [1], }"[:-3] + "}"]
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A text of headers, keys, comments and empty lines."""
    between = st.sampled_from(["", "# [features]", "   "])
    lines = draw(st.lists(st.one_of(ROOTS, ENTRIES, between), max_size=4))
    for header in draw(st.lists(HEADERS, max_size=5)):
        lines += [
            *draw(st.lists(between, max_size=2)),
            header,
            *draw(st.lists(st.one_of(ENTRIES, between), max_size=3)),
        ]
    numbered = [line.replace("KEY", f"key{number}") for number, line in enumerate(lines)]
    text = "\n".join(numbered) + draw(st.sampled_from(["", "\n", "\n\n"]))
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)
    return draw(st.sampled_from(["", "\ufeff"])) + text


@ROUNDS
@given(documents())
def test_a_table_that_is_added_and_removed_leaves_every_byte(text: str) -> None:
    """A person's Codex settings would be laid out anew by an uninstall."""
    before = read(text)
    after = before.set(("mcp_servers", "coffer"), SERVER)
    assert after.get(("mcp_servers", "coffer")) == SERVER
    assert after.remove(("mcp_servers", "coffer")).data == before.data


@ROUNDS
@given(documents())
def test_a_key_that_is_set_and_restored_leaves_every_byte(text: str) -> None:
    """Codex's own memory would be switched by a line that wasn't there before."""
    before = read(text)
    after = before.set(("features", "memories"), False)
    assert after.get(("features", "memories")) is False
    back = after.remove(("features", "memories"))
    if not before.headed(("features",)):
        back = back.unheaded(("features",))
    assert back.data == before.data


@ROUNDS
@given(documents())
def test_two_pieces_go_in_either_order(text: str) -> None:
    """Switching off one of Coffer's parts would leave a trace of another."""
    before = read(text)
    assume(not before.has(("features",)))
    both = before.set(("mcp_servers", "coffer"), SERVER).set(("features", "memories"), False)
    first = both.remove(("mcp_servers", "coffer")).remove(("features",))
    other = both.remove(("features",)).remove(("mcp_servers", "coffer"))
    assert first.data == other.data == before.data


@ROUNDS
@given(documents())
def test_every_value_is_found_where_it_is(text: str) -> None:
    """A value would be replaced beside its place, and the text refused or damaged."""
    document = read(text)
    for entry in document.entries:
        if entry.path:
            source = document.source(entry.path)
            assert document.restore(entry.path, source).data == document.data


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (None, '[m.ours]\nx = "y"\n'),
        ("a = 1", 'a = 1\n\n[m.ours]\nx = "y"'),
        ("a = 1\r\n", 'a = 1\r\n\r\n[m.ours]\r\nx = "y"\r\n'),
        ("m = {}\n", 'm = {ours = {x = "y"}}\n'),
        ("[m]\na.b = 1\n", '[m]\na.b = 1\n\n[m.ours]\nx = "y"\n'),
    ],
)
def test_a_new_table_goes_last(text: str | None, after: str) -> None:
    """A table would be put where it takes in keys of another one."""
    assert read(text).set(("m", "ours"), {"x": "y"}).text == after


def test_a_value_is_replaced_where_it_is() -> None:
    """An update would move a key, or lose the comment behind it."""
    text = "[f]\n  on=true # mine\nb = 1\n"
    off = read(text).set(("f", "on"), False)
    assert off.text == "[f]\n  on=false # mine\nb = 1\n"
    assert off.restore(("f", "on"), "true").text == text


def test_what_is_written_in_pieces_goes_whole() -> None:
    """A server that a person has spread over the file would go on being started."""
    spread = "m.ours.a = 1\nm.other.a = 1\n\n[m.ours.env]\nx = 1\n# stays\n\n[z]\n\n[m.ours.more]\n[[q]]\n"
    assert read(spread).remove(("m", "ours")).text == "m.other.a = 1\n# stays\n\n[z]\n[[q]]\n"
    inline = "m = { ours.a = 1, other = {}, ours.b = 2 }\n"
    assert read(inline).remove(("m", "ours")).text == "m = { other = {} }\n"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a = 1\nb = \n", 2, 5),
        ('a = 1\nb = "x', 2, 7),
        ("[t]\nx = 1\n[t]\ny = 1\n", 3, 3),
        ("a = 1\r\na = 2\r\n", 2, 6),
        ("x = " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), 0, 0),
        ("x = " + "[" * 100_000, 0, 0),
    ],
)
def test_a_fault_is_told_by_line_and_column(text: str, line: int, column: int) -> None:
    """A person would have to look for the fault that keeps Coffer from connecting."""
    with pytest.raises(SettingsUnparsable) as refused:
        read(text)
    assert (refused.value.details["line"], refused.value.details["column"]) == (line, column)


@pytest.mark.parametrize("text", ["m = 1", "m = [1]", "[[m]]\nx = 1", "m = false"])
def test_what_is_something_else_is_refused(text: str) -> None:
    """A setting that Coffer doesn't understand would be replaced by its own."""
    with pytest.raises(SettingsUnparsable):
        read(text).set(("m", "ours"), {"x": "y"})
    with pytest.raises(SettingsUnparsable):
        read("[m.ours]\n").set(("m", "ours"), False)


def test_tables_in_arrays_are_not_taken_for_tables() -> None:
    """A key would be added to one element of an array."""
    tables, entries = scan("[[a]]\nx = 1\n[a.b]\ny = 1\n[b]\nz = [{a = 1}]\n")
    assert [table.path for table in tables] == [(), None, None, ("b",)]
    assert [entry.path for entry in entries] == [None, None, ("b", "z"), None]
