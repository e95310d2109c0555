from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanes.passages import passages

SENTENCE = "The quick brown fox jumps over the lazy dog near the river. "


def texts(markdown: str, size: int = 512, overlap: int = 64) -> list[str]:
    return [passage.text for passage in passages(markdown, size, overlap)]


@pytest.mark.parametrize(
    "text", ["x", "two\n\nparagraphs", "- a\n- b", "```\ncode\n```", "a | b\n-|-\n1 | 2", "x" * 512]
)
def test_a_short_fact_is_one_passage(text: str) -> None:
    """A fact would be found in halves."""
    (passage,) = passages(f"\n\n{text}\n")

    assert (text, "") == (passage.text, passage.heading)
    assert (2, 2 + len(text)) == (passage.start, passage.end)


@pytest.mark.parametrize("text", ["", " ", "\n\r\n\t"])
def test_nothing_gives_no_passage(text: str) -> None:
    """Recall would return empty hits."""
    assert passages(text) == []


def test_sections_are_never_joined() -> None:
    """A hit about one subject would carry the words of another."""
    found = passages(
        "intro\n\n# Deploy\n\n## Rollback\n\nrun back\n\n## Release ##\n\nrun make\n\n# Empty\n\n# Tests\npytest\n"
    )

    assert [(passage.heading, passage.text) for passage in found] == [
        ("", "intro"),
        ("Deploy > Rollback", "# Deploy\n\n## Rollback\n\nrun back"),
        ("Deploy > Release", "## Release ##\n\nrun make"),
        ("Empty", "# Empty"),
        ("Tests", "# Tests\npytest"),
    ]


def test_underlined_headings_open_sections_too() -> None:
    """A document written in the older style would be one lump."""
    found = passages("Deploy\nnow\n===\nrun\n\nRollback\n---\nback\n")

    assert [(passage.heading, passage.text) for passage in found] == [
        ("Deploy now", "Deploy\nnow\n===\nrun"),
        ("Deploy now > Rollback", "Rollback\n---\nback"),
    ]


def test_a_long_heading_does_not_fill_the_index() -> None:
    """One long heading would be repeated in every passage below it."""
    assert len(passages("# " + "word " * 1000 + "\n\n## a\n\nx\n")[-1].heading) - len(" > a") <= 120


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_fenced_code_stays_whole(fence: str) -> None:
    """Recalled code would miss its second half."""
    code = f"{fence}py\n" + "print('line')\n\n" * 60 + fence
    markdown = f"before\n\n{code}\n\nafter\n"

    assert ["before", code, "after"] == texts(markdown)
    assert [f"# A\n\n{code}", "after"] == texts(f"# A\n\n{code}\n\nafter\n")


def test_code_in_a_list_stays_whole() -> None:
    """Recalled steps would end in the middle of a command."""
    code = "   ```sh\n" + "   make release\n\n" * 60 + "   ```"

    assert any(code.strip() in text for text in texts(f"1. first\n2. second\n\n{code}\n3. third\n"))


def test_a_table_stays_whole() -> None:
    """Recalled rows would have lost their header."""
    table = "| key | value |\n|-----|-------|\n" + "| some | thing |\n" * 60

    assert ["before", table.strip(), "after"] == texts(f"before\n\n{table}\nafter\n")


def test_an_open_fence_is_cut_like_prose() -> None:
    """A forgotten fence would make the rest of the document one hit."""
    assert max(map(len, texts("```\n" + SENTENCE * 40))) <= 512


def test_paragraphs_are_packed() -> None:
    """A document would fall into crumbs, or a paragraph be cut though it fits."""
    paragraph = (SENTENCE * 3).strip()

    assert [paragraph + "\n\n" + paragraph, paragraph] == texts("\n\n".join([paragraph] * 3))
    assert texts(f"\n\n{'x' * 512}\n\n\n\n{'y ' * 255}yy\n\nz\n") == ["x" * 512, "y " * 255 + "yy", "z"]


def test_long_paragraphs_are_cut_after_sentences() -> None:
    """A hit would begin or end within a sentence, and what stands on the border be lost."""
    found = texts(SENTENCE * 30)

    assert all(text.endswith("river.") and len(text) <= 512 for text in found)
    assert all(before[-30:].split()[-1] in after[:64] for before, after in itertools.pairwise(found))


def test_long_sentences_are_cut_between_words() -> None:
    """A hit would begin with half a word."""
    words = [f"word{n}" for n in range(300)]

    assert set(words) == {word for text in texts(" ".join(words)) for word in text.split()}


def test_lists_are_cut_between_items() -> None:
    """A hit would begin in the middle of an item."""
    found = texts("Steps:\n" + "- do this and then that\n" * 60)

    assert all(text.startswith("- do") for text in found[1:])
    assert "\n".join(found).count("- do this and then that") == 60


@pytest.mark.parametrize("sentence", ["部署前请先运行测试并且检查日志。", "部署前请先运行测试并且检查日志"])
def test_text_without_blanks_is_cut_too(sentence: str) -> None:
    """A Chinese or Japanese document would be one huge passage."""
    found = passages(sentence * 100)

    assert all(len(passage.text) <= 512 for passage in found)
    assert all(before.end - 64 <= after.start <= before.end for before, after in itertools.pairwise(found))


def test_windows_line_ends_change_nothing() -> None:
    """The same document would be cut differently on Windows."""
    markdown = "# A\n\ntext\n\n```\n# no\n```\n\nTitle\n---\n\n| a |\n|---|\n" + SENTENCE * 20 + "\n"
    unix = passages(markdown)
    windows = passages(markdown.replace("\n", "\r\n"))

    assert [p.heading for p in unix] == [p.heading for p in windows]
    assert [p.text for p in unix[:2]] == [p.text.replace("\r\n", "\n") for p in windows[:2]]


@pytest.mark.parametrize(("size", "overlap"), [(512, 256), (10, 5), (64, -1)])
def test_an_overlap_that_would_never_end_is_refused(size: int, overlap: int) -> None:
    """A wrong setting would keep the index busy for ever."""
    with pytest.raises(ValueError, match="overlap"):
        passages("x", size, overlap)


blocks = st.sampled_from(
    [
        "# A",
        "## B",
        "text of a line",
        "",
        "",
        "- item one",
        "  - deeper item",
        "1. step",
        "> quote",
        "```",
        "~~~",
        "---",
    ]
    + [
        "===",
        "| a | b |",
        "|---|---|",
        "<div>",
        "    code",
        "一段没有空格的文字。" * 4,
        SENTENCE * 3,
        "x" * 90,
        "\u2028",
        "a\rb",
    ]
)
documents = st.one_of(
    st.tuples(st.lists(blocks, max_size=25), st.sampled_from(["\n", "\r\n"])).map(
        lambda parts: parts[1].join(parts[0])
    ),
    st.text(),
)


@settings(max_examples=300, deadline=None)
@given(documents, st.sampled_from([(512, 64), (60, 20), (20, 0)]))
def test_no_text_is_lost(markdown: str, sizes: tuple[int, int]) -> None:
    """A line of a document could not be recalled."""
    found = passages(markdown, *sizes)

    covered = {position for passage in found for position in range(passage.start, passage.end)}
    assert all(position in covered for position, char in enumerate(markdown) if not char.isspace())
    assert all(
        passage.text == markdown[passage.start : passage.end] == passage.text.strip() for passage in found
    )
    assert [p.start for p in found] == sorted({p.start for p in found})
    solid = ("```", "~~~", "|")
    assert all(len(p.text) <= sizes[0] or any(mark in p.text for mark in solid) for p in found)


def test_a_plain_fact_needs_no_marko() -> None:
    """The daemon would start slower for a library that most facts never need."""
    code = (
        "import sys; from lanes.passages import passages; passages('# A\\n\\n' + 'x ' * 900);"
        "print('marko' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
