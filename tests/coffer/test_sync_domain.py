"""When a person has to be asked: how much may vanish, and what counts as vanished at all."""

from __future__ import annotations

import pytest

from coffer.domain.sync import is_mass_removal, is_text, vanished

STORE = "projects/01J9Z3K4M5N6P7Q8R9S0T1V2W3"
HEAD = b"---\nid: 01J9Z3K4M5N6P7Q8R9S0T1V2W4\ntitle: T\n---\n"


@pytest.mark.parametrize(
    ("gone", "held", "asked"),
    [
        (9, 9, False),
        (9, 44, False),
        (10, 10, True),
        (10, 49, True),
        (10, 50, False),
        (11, 50, True),
        (100, 500, False),
        (101, 500, True),
        (0, 0, False),
    ],
)
def test_how_much_is_a_mass(gone: int, held: int, asked: bool) -> None:
    """People would be asked about every clean-up, or lose a fifth of a store and more without a question."""
    assert is_mass_removal(gone, held) == asked


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        (f"{STORE}/knowledge/inbox/2026-10/a.md", True),
        (f"{STORE}/knowledge/build.md", True),
        ("global/rules/rules.md", True),
        ("global/journal/2026-10-01.md", True),
        ("global/handoff/main.md", True),
        ("global/superseded/a-20261001T000000Z.md", False),
        ("global/store.yaml", False),
        ("global/knowledge/INDEX.md", False),
        ("global/consolidation-log.md", False),
        ("global/notes.txt", False),
        ("README.md", False),
        ("projects/pond/knowledge/a.md", False),
        ("global/../knowledge/a.md", False),
    ],
)
def test_what_is_a_text(path: str, counts: bool) -> None:
    """Emptying the archive would count as a loss, or losing all rules not."""
    assert is_text(path) == counts


def test_a_text_that_is_somewhere_else_has_not_vanished() -> None:
    """A consolidation that makes one topic of thirty facts would stop sync on every other machine."""
    facts = {
        "global/knowledge/a.md": HEAD + b"\nUse make.\n\nNever cmake.\n",
        "global/knowledge/b.md": b"No header.\r\n  Indented.\r\n",
        f"{STORE}/knowledge/c.md": HEAD + b"\nGone for good.\n",
        f"{STORE}/knowledge/d.md": HEAD + b"\nHalf is left.\nHalf is not.\n",
        f"{STORE}/knowledge/e.md": HEAD + b"\n\n",
        f"{STORE}/knowledge/f.md": b"",
    }
    written = [
        b"# Build\n\n  Never cmake.\nSomething between.\nUse make.\n",
        b"No header.\nIndented.\n",
        b"Half is left.\n",
    ]
    assert vanished(facts, written) == {STORE: 2}
    assert vanished(facts, []) == {"global": 2, STORE: 2}
    assert vanished({}, written) == {}


@pytest.mark.parametrize(
    "content",
    [b"---\nno end of the header\n", b"---", b"---\n---\n", b"--- a line\n\n---\n", b"---\ntitle: T\n---"],
)
def test_a_header_without_a_text_counts_whole(content: bytes) -> None:
    """A file that a person wrote in their own way would vanish uncounted."""
    assert vanished({"global/knowledge/a.md": content}, []) == {"global": 1}
    assert vanished({"global/knowledge/a.md": content}, [content]) == {}


def test_only_the_files_of_stores_are_counted() -> None:
    """A README of the host would be told as a loss of memory."""
    assert vanished({"README.md": b"x\n", "projects/x/knowledge/a.md": b"x\n"}, []) == {}
