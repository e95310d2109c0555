from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanes.landmarks import landmarks, parse, scan


def seen(text: str) -> list[tuple[int, str]]:
    return [(mark.level, text[mark.start : mark.end]) for mark in landmarks(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("plain\n\ntext # with marks - and | bars\n", []),
        ("# A\ntext\n## B ##\n", [(1, "# A\n"), (2, "## B ##\n")]),
        ("#hash\n####### seven\n    # code\n", []),
        ("Title\n===\nsub\n---\n", [(1, "Title\n===\n"), (2, "sub\n---\n")]),
        ("text\n\n---\n\ntext\n", []),
        ("```\n# no heading\n```\n# A", [(0, "```\n# no heading\n```\n"), (1, "# A")]),
        ("~~~~\n~~~\n```\n~~~~\n", [(0, "~~~~\n~~~\n```\n~~~~\n")]),
        ("```\nnever closed\n# no heading\n", []),
        ("- item\n\n  ```py\n  # c\n  ```\n- next\n", [(0, "  ```py\n  # c\n  ```\n")]),
        ("1. ```\n   x\n   ```\n", [(0, "1. ```\n   x\n   ```\n")]),
        ("> ```\n> x\n> ```\n", [(0, "> ```\n> x\n> ```\n")]),
        ("a\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nb\n", [(0, "| a | b |\n|---|---|\n| 1 | 2 |\n")]),
        ("> # quoted\n\n- # listed\n", []),
        ("<!--\n# hidden\n-->\n\n# seen\n", [(1, "# seen\n")]),
        ("  # A\n", [(1, "  # A\n")]),
        ("``` `x`\n# A\n", [(1, "# A\n")]),
    ],
)
def test_landmarks_of_markdown(text: str, expected: list[tuple[int, str]]) -> None:
    """A comment in a code block would be taken for a heading, or a table be cut in two."""
    assert expected == seen(text)


lines = st.sampled_from(
    [
        "# A",
        "## B ##",
        "#",
        "#x",
        " # c",
        "    # d",
        "\t# e",
        "```",
        "````",
        "```py",
        "``` `",
        "~~~",
        " ```",
        "    ```",
    ]
    + [
        "- ```",
        "> ```",
        "- a",
        "  - b",
        "1. c",
        "10) d",
        "> q",
        ">",
        "* * *",
        "---",
        "- - -",
        "===",
        "-",
        "--",
        " ---",
    ]
    + [
        "text",
        "  text",
        "    text",
        "\ttext",
        "",
        "",
        " ",
        "| a | b |",
        "|---|---|",
        "|:-|",
        "a | b",
        "-|-",
        "<div>",
        "<!--",
    ]
    + [
        "-->",
        "[x]: /url 'title",
        "[x]: <",
        "\\# x",
        "\\```",
        "\u3000# x",
        "#\u3000x",
        "\x0b",
        "\x1c",
        "\x85",
        "`a`",
        "a <b>",
    ]
)


@settings(max_examples=600, deadline=None)
@given(st.lists(st.one_of(lines, st.text(st.sampled_from("#`~-=|> \t*1.<a"), max_size=6)), max_size=10))
def test_the_scan_agrees_with_marko(parts: list[str]) -> None:
    """A document would be cut differently from what every markdown viewer shows."""
    for text in ("\n".join(parts), "\n".join(parts) + "\n"):
        scanned = scan(text)

        assert scanned is None or parse(text) == scanned


@settings(max_examples=200, deadline=None)
@given(st.lists(lines, max_size=12).map("\n".join))
def test_landmarks_stand_in_order(text: str) -> None:
    """A passage would begin before the one in front of it."""
    position = 0
    for mark in landmarks(text):
        assert position <= mark.start < mark.end <= len(text)
        assert mark.start == 0 or text[mark.start - 1] == "\n"
        position = mark.end


def test_ordinary_documents_need_no_marko() -> None:
    """Rebuilding the index would take minutes where seconds do."""
    assert scan("# A\n\ntext\n\n- a\n- b\n\n```sh\nx\n```\n\n---\n\n> q\n## B\n\n1. c\n") is not None


@pytest.mark.parametrize(
    "text",
    [
        ">" * 5000 + "\n# a\n",
        "- " * 5000 + "x\n===\n",
        "> - " * 3000 + "\n  ```\n",
        " ```\n" + "*" * 5000,
        "<" * 9 + "[" * 9000,
    ],
    ids=range(5),
)
def test_deep_nesting_does_no_harm(text: str) -> None:
    """One hostile file would end the reader with a RecursionError."""
    assert isinstance(parse(text), list)


def test_one_odd_large_file_is_cut_as_prose() -> None:
    """One file would hold up the reading of all the others for half a minute."""
    text = "# A\n\n <!-- x -->\n" + "- item\n" * 40_000

    assert landmarks(text) == []
