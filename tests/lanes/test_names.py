from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanes.errors import LaneError
from lanes.names import (
    GLOBAL_PROJECT_ID,
    branch_filename,
    cut,
    encode_crockford,
    fact_filename,
    is_fact_id,
    is_portable,
    is_topic_slug,
    is_ulid,
    path_id,
    single_line,
    slug,
    ulid,
)

ULID = "01JDKW8Z4M3QH5T9R2X7V6B1CA"


def test_crockford_vectors() -> None:
    """Project ids would differ from those of another machine or version."""
    assert encode_crockford(0) == "0" * 26
    assert encode_crockford(2**128 - 1) == "7" + "Z" * 25
    assert encode_crockford(512) == "000000000000000000000000G0"
    assert encode_crockford(32, 2) == "10"


@pytest.mark.parametrize("number", [-1, 1024])
def test_crockford_refuses_what_does_not_fit(number: int) -> None:
    """Two different numbers would get the same id."""
    with pytest.raises(ValueError, match="doesn't fit"):
        encode_crockford(number, 2)


@given(st.integers(0, 2**130 - 1))
def test_crockford_is_a_number_in_base_32(number: int) -> None:
    """An id would lose digits on the way."""
    digits = encode_crockford(number).translate(
        str.maketrans("0123456789ABCDEFGHJKMNPQRSTVWXYZ", "0123456789ABCDEFGHIJKLMNOPQRSTUV")
    )

    assert number == int(digits, 32)


def test_ulid_of_the_specification() -> None:
    """Ids would not sort by time, or not be ULIDs for other programs."""
    assert ulid(1469922850259, bytes(10))[:10] == "01ARZ3NDEK"
    assert ulid(2**48 - 1, b"\xff" * 10) == "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"
    assert ulid(1, b"\xff" * 10) < ulid(2, bytes(10))


@pytest.mark.parametrize(("milliseconds", "size"), [(-1, 10), (2**48, 10), (0, 9)])
def test_ulid_refuses_other_sizes(milliseconds: int, size: int) -> None:
    """Ids would be minted that aren't ULIDs."""
    with pytest.raises(ValueError, match="48 bits"):
        ulid(milliseconds, bytes(size))


@pytest.mark.report("B57")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "../x",
        "/etc/x",
        "a/../../b",
        "..\\x",
        "%2e%2e",
        "\0",
        ULID.lower(),
        ULID + "\n",
        ULID[1:],
        "8" + ULID[1:],
    ]
    + ["p-", "p-" + ULID[:-1], "p-../../../../../../../../x", ULID[:-1] + "U", "p-" + ULID.lower()],
)
def test_only_ids_are_ids(text: str) -> None:
    """A request could name a file outside its store."""
    assert not is_fact_id(text)


def test_ids_are_ids() -> None:
    """Facts could not be fetched by the ids that the lists show."""
    assert is_ulid(ULID)
    assert is_ulid(GLOBAL_PROJECT_ID)
    assert is_fact_id(ULID)
    assert is_fact_id(path_id("knowledge/deploy.md"))


@pytest.mark.report("B55")
def test_path_ids_do_not_depend_on_the_form_of_an_accent() -> None:
    """A hand-made file would have one id on macOS and another on Linux."""
    assert path_id("knowledge/deploy.md") == "p-0QVP0PB0Q0TWQN2QRWHKMV2G95"
    assert path_id("knowledge/caf\u00e9.md") == path_id("knowledge/cafe\u0301.md")
    assert path_id("knowledge/a.md") != path_id("knowledge/b.md")


@pytest.mark.report("B53", "B54")
@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Deploys go through `make release`", "deploys-go-through-make-release"),
        ("Größe & Œuvre — Łódź", "grosse-oeuvre-lodz"),
        ("Cafe\u0301 Caf\u00e9", "cafe-cafe"),
        ("Vie\u0323\u0302t Nam", "viet-nam"),
        ("🚀", "note"),
        ("???", "note"),
        ("。", "note"),
        ("部署流程", "note"),
        ("部署 via CI", "via-ci"),
        ("", "note"),
        ("../../etc/passwd", "etc-passwd"),
        ("a: b", "a-b"),
        ("{{x}}", "x"),
        ("CON", "note-con"),
        ("com1", "note-com1"),
        ("COM¹", "note-com1"),
        ("console", "console"),
        ("\u202egnp.exe", "gnp-exe"),
        ("İstanbul", "istanbul"),
    ],
)
def test_slugs(title: str, expected: str) -> None:
    """A title would make a file that some system can't hold."""
    assert expected == slug(title)


def test_long_titles_are_cut_at_a_word() -> None:
    """A 300-character title would make a name that Windows or eCryptfs refuses."""
    assert slug("word " * 60) == "word-" * 11 + "word"
    assert slug("x" * 300) == "x" * 60


@pytest.mark.report("B54")
@given(st.text(max_size=80))
def test_file_names_of_any_title_are_portable(title: str) -> None:
    """One odd title would stop the whole store on some system."""
    name = fact_filename(title, ULID)

    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,59}-x7v6b1ca\.md", name)
    assert is_portable(name)
    assert slug(title) == slug(unicodedata.normalize("NFD", title)) == slug(slug(title))


@pytest.mark.report("B57")
def test_a_file_name_takes_a_ulid_only() -> None:
    """An id made up by a caller would become part of a path."""
    with pytest.raises(LaneError, match="not a ULID"):
        fact_filename("title", "../../../../x")


def test_topic_slugs() -> None:
    """A topic would overwrite INDEX.md or hide the inbox, or leave its folder."""
    assert is_topic_slug("deploy")
    for bad in ("index", "inbox", "", "Deploy", "../x", "a--b", "con", "-a", "a/b", "é"):
        assert not is_topic_slug(bad)


@pytest.mark.parametrize(
    ("branch", "expected"),
    [
        ("main", "main.md"),
        ("release-1.2_rc", "release-1.2_rc.md"),
        ("detached-0123456789ab", "detached-0123456789ab.md"),
        ("feature/x", "feature-x-217d2bf5.md"),
        ("feature-x", "feature-x.md"),
        ("Feature/X", "feature-x-02cc1910.md"),
        ("Main", "main-eb814be3.md"),
        ("con", "note-con-1143da2b.md"),
        ("日本", "note-cf2abf0c.md"),
        ("a|b", "a-b-0eab8a0a.md"),
    ],
)
def test_branch_files(branch: str, expected: str) -> None:
    """A handoff would be found under another branch, or not be writable on Windows."""
    assert expected == branch_filename(branch)
    assert is_portable(expected)


def test_similar_branches_have_different_files() -> None:
    """Two branches would share one handoff."""
    assert len({branch_filename(name).lower() for name in ("feature/x", "feature-x", "Feature/X")}) == 3


@pytest.mark.parametrize(
    "name",
    [
        "deploy.md",
        "Deploy notes (old).md",
        "部署.md",
        "caf\u00e9.md",
        "🚀.md",
        "a.b.c.md",
        "console.md",
        "x" * 252 + ".md",
    ],
)
def test_portable_names(name: str) -> None:
    """A person's own file would be refused by sync."""
    assert is_portable(name)


@pytest.mark.report("B55")
@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        ".git",
        "a/b",
        "a\\b",
        "a:b.md",
        "a?.md",
        "a\n.md",
        "a.",
        "a ",
        "CON",
        "con.md",
        "Aux .txt",
        "git~1",
    ]
    + [
        "cafe\u0301.md",
        "x" * 253 + ".md",
        "é" * 127 + ".md",
        "\u200c.git",
        "a\u202eb.md",
        "a\u2028.md",
        "\udcff.md",
    ],
)
def test_names_that_are_not_portable(name: str) -> None:
    """A file from one machine would break the checkout on another."""
    assert not is_portable(name)


def test_single_line() -> None:
    """A title could hide text, move a terminal's cursor or break the list it is shown in."""
    assert single_line(" a\r\n\tb\u2028c\x1c ") == "a b c"
    assert single_line("ad\u200bm\u202ei\x1b\ufeffn\U000e0041") == "admin"
    assert single_line("Zażółć 部署 🚀 e\u0301") == "Zażółć 部署 🚀 e\u0301"


@given(st.text())
def test_single_line_of_anything(text: str) -> None:
    """Some title would stay on two lines or change each time it is saved."""
    line = single_line(text)

    assert line == single_line(line)
    assert len(line.splitlines()) <= 1
    line.encode("utf-8")


@given(st.text(alphabet="ab ", max_size=40), st.integers(1, 20))
def test_cut_keeps_a_beginning(text: str, limit: int) -> None:
    """A cut title would be too long or contain other words."""
    short = cut(text, limit)

    assert len(short) <= limit
    assert text.startswith(short)
