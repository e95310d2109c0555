"""Two versions become one without losing a line, whichever is asked first, and never by a conflict marker."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitsync.merge_lines import merge_lines
from lanes import file_text, frontmatter
from lanes.journal import Entry, append_entry, journal_path
from lanes.knowledge import read_note
from lanes.merging import Merged, conflict_original, conflict_path
from lanes.merging import merge as merge_with
from lanes.names import is_portable
from lanes.rules import read_rules
from lanes.store_config import read_config, update_config

FACT = "knowledge/inbox/2026-11/a.md"
RULES = "rules/rules.md"
DAY = "2026-11-30"
JOURNAL = journal_path(DAY)
HANDOFF = "handoff/main.md"
STORE = "store.yaml"
IDS = ["0" * 25 + digit for digit in "123456"]
LEARNED = "<!-- learned 2026-11-30 by organizer -->"


def merge(path: str, base: bytes | None, one: bytes | None, other: bytes | None) -> Merged:
    """Merge both ways round: nothing may depend on which side is asked."""
    merged = merge_with(path, base, one, other, merge_lines)
    assert merged == merge_with(path, base, other, one, merge_lines)
    return merged


def merged_text(path: str, base: str | None, one: str | None, other: str | None) -> str | None:
    """Merge what has to become one text."""
    merged = merge(path, *(None if text is None else text.encode() for text in (base, one, other)))
    assert merged.copy is None
    return None if merged.content is None else merged.content.decode()


def kept_both(path: str, base: str | None, one: str, other: str) -> tuple[str, str]:
    """Merge what can't become one, and return the path and text of the copy."""
    merged = merge(path, None if base is None else base.encode(), one.encode(), other.encode())
    assert merged.copy is not None and merged.content is not None
    assert {merged.content, merged.copy[1]} == {one.encode(), other.encode()}
    return merged.copy[0], merged.copy[1].decode()


def note(
    body: str, title: str = "T", updated: str = "2026-11-30T10:00:00Z", more: str = "", actor: str = "agent"
) -> str:
    return (
        f"---\nid: {IDS[0]}\ntitle: {title}\nmetadata:\n  actor: {actor}\n"
        f'created_at: "2026-11-30T10:00:00Z"\nupdated_at: "{updated}"\n{more}---\n\n{body}'
    )


# Any lane


@pytest.mark.parametrize("path", [FACT, RULES, JOURNAL, HANDOFF, STORE, "superseded/a.md", "README.md"])
def test_what_one_side_alone_did_is_done(path: str) -> None:
    """If this failed, an edit or a removal would be undone, or take more than it was."""
    one, base = b"label: a\n", b"label: b\n"
    assert merge(path, base, one, base) == Merged(one)
    assert merge(path, base, None, base) == Merged(None)
    assert merge(path, base, None, None) == Merged(None)
    assert merge(path, base, one, one) == Merged(one)
    assert merge(path, None, one, None) == Merged(one)
    assert merge(path, None, one, one) == Merged(one)


@pytest.mark.parametrize(
    ("path", "kept"),
    [(FACT, True), ("knowledge/t.md", True), ("superseded/a.md", False), (HANDOFF, False), ("x.txt", True)],
)
def test_an_edit_stays_where_the_other_side_removed_the_file(path: str, kept: bool) -> None:
    """If this failed, what was written on one machine would vanish because another tidied up."""
    assert merge(path, b"old\n", None, b"new\n") == Merged(b"new\n", None, kept)


# Facts and topics


def test_edits_of_different_lines_become_one_text() -> None:
    """If this failed, two people who corrected two sentences would find two files."""
    base = note("a\nb\nc\n")
    one = note("A\nb\nc\n", updated="2026-11-30T11:00:00Z")
    other = note("a\nb\nC\n", updated="2026-11-30T12:00:00+02:00", title="New")
    assert merged_text(FACT, base, one, other) == note(
        "A\nb\nC\n", title="New", updated="2026-11-30T11:00:00Z"
    )
    assert merged_text("knowledge/t.md", base, one, other) is not None
    assert merged_text("superseded/t.md", base, one, other) is not None


def test_a_later_time_of_another_zone_is_the_later_one() -> None:
    """If this failed, a text would seem older than its last edit."""
    later, earlier = "2026-11-30T11:30:00-01:00", "2026-11-30T12:00:00Z"
    base = note("a\nb\nc\n")
    merged = merged_text(FACT, base, note("A\nb\nc\n", updated=later), note("a\nb\nC\n", updated=earlier))
    assert merged == note("A\nb\nC\n", updated=later)


def test_fields_and_comments_of_both_sides_are_in_the_header() -> None:
    """If this failed, a tag, an unknown key or a remark in the header would be lost in a merge."""
    base = note("a\nb\nc\n")
    one = note("A\nb\nc\n", more="tags: [x]\n", updated="2026-11-30T11:00:00Z")
    other = note("a\nb\nC\n", actor="user", updated="2026-11-30T12:00:00Z")
    other = other.replace("title:", "# why\ntitle:").replace('"2026-11-30T12:00:00Z"', "2026-11-30T12:00:00Z")
    merged = merged_text(FACT, base, one, other)
    assert merged is not None
    assert "# why\ntitle: T\n" in merged and "tags: [x]\n" in merged and "  actor: user\n" in merged
    assert frontmatter.parse(merged).body == "A\nb\nC\n"
    assert read_note(FACT, merged.encode()).updated_at == "2026-11-30T12:00:00Z"


def test_windows_line_ends_stay() -> None:
    """If this failed, an editor on Windows would show a file with two kinds of line ends."""
    base, one, other = (
        note(body, updated=f"2026-11-30T1{hour}:00:00Z").replace("\n", "\r\n")
        for hour, body in enumerate(("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n"))
    )
    merged = merged_text(FACT, base, one, other)
    assert merged == note("A\nb\nC\n", updated="2026-11-30T12:00:00Z").replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("base", "one", "other"),
    [
        (note("a\n"), note("b\n"), note("c\n")),
        (note("a\nb\nc\n"), note("A\nb\nc\n", title="X"), note("a\nb\nC\n", title="Y")),
        (None, note("b\n"), note("c\n")),
        (note("a\nb\nc\n"), note("A\nb\nc\n", more="a.b: 1\n"), note("a\nb\nC\n")),
        (note("a\nb\nc\n"), note("A\nb\nc\n", more="a: [\n"), note("a\nb\nC\n")),
        (note("a\n"), note("<<<<<<< x\nb\n=======\nc\n>>>>>>> y\n"), note("c\n")),
        ("a\n", "x" * (1024 * 1024 + 1), "b\n"),
        (
            note("a\nb\nc\n"),
            note("A\nb\nc\n", more=f"k: {'x' * 5000}\n"),
            note("a\nb\nC\n", more=f"l: {'y' * 5000}\n"),
        ),
    ],
)
def test_both_texts_stay_where_they_can_not_become_one(base: str | None, one: str, other: str) -> None:
    """If this failed, one of two texts would be lost, or a half-made one would be told to agents."""
    path, text = kept_both(FACT, base, one, other)
    assert path == conflict_path(FACT, text.encode())


def test_the_text_that_can_be_read_keeps_the_name() -> None:
    """If this failed, a damaged version would hide a good one."""
    for number in range(8):
        good, bad = note(f"good {number}\n").encode(), f"---\n{number}".encode()
        assert merge(FACT, b"x", good, bad) == Merged(good, (conflict_path(FACT, bad), bad))
        assert merge(FACT, b"x", good, b"\xff") == Merged(good, (conflict_path(FACT, b"\xff"), b"\xff"))
        assert merge(FACT, b"x", good, b" \n") == Merged(good)


# Rules


def test_rules_of_both_sides_stay_and_removed_ones_go() -> None:
    """If this failed, a rule would be lost, or come back after it was removed."""
    base = "# Rules\n\n- one\n- two\n- three\n"
    assert merged_text(RULES, base, base + "- four\n", base + "- five\n") == base + "- five\n- four\n"
    assert (
        merged_text(RULES, base, "# Rules\n\n- one\n- three\n", base + "- four")
        == "# Rules\n\n- one\n- three\n- four\n"
    )
    assert (
        merged_text(RULES, base, "# Rules\n\n- one\n- 2\n- three\n", "# Rules\n\n- two\n- three\n")
        == "# Rules\n\n- 2\n- three\n"
    )
    assert merged_text(RULES, "- one\n", "- one\n  more\n", None) == "- one\n  more\n"
    assert merged_text(RULES, "- one\n- two\n", "- one\n", "- two\n") is None
    assert merged_text(RULES, "# Rules\n\n- one\n", None, "# Rules\n\n- one\n- two\n") == "- two\n"


def test_rules_files_that_two_machines_began_are_one() -> None:
    """If this failed, the first rule of a second machine would be a conflict."""
    merged = merged_text(RULES, None, "# Rules\n\n- b\n- c\n", "# Rules\n\n- a\n- c\n")
    assert merged == "# Rules\n\n- a\n- c\n- b\n"


def test_an_accepted_rule_stands_alone() -> None:
    """If this failed, what the user stood up for would speak as something learned, or twice."""
    base = f"- one {LEARNED}\n- two\n"
    assert merged_text(RULES, base, "- one\n- two\n", base + "- three\n") == "- one\n- two\n- three\n"
    assert merged_text(RULES, None, f"- one {LEARNED}\n", "- one\n- two\n") == "- one\n- two\n"
    other = base.replace("11-30", "12-01")
    assert merged_text(RULES, base, "- one\n- two\n- three\n", other) == "- one\n- two\n- three\n"


def test_prose_between_rules_stays_where_it_was() -> None:
    """If this failed, headings would stand over the wrong rules, or be swallowed by one."""
    base = "# Rules\n\n- one\n\n## Git\n\nAlways:\n- two\n"
    one = base.replace("- one\n", "- one\n- new\n")
    other = base.replace("Always:", "Mostly:") + "\n```\n- code\n```\n"
    merged = merged_text(RULES, base, one, other)
    assert merged == "# Rules\n\n- one\n- new\n\n## Git\n\nMostly:\n- two\n\n```\n- code\n```\n"
    merged = merged_text(RULES, "# R\n", "# R\n- one\n", "# R\nprose\n")
    assert merged is not None
    assert [rule.text for rule in read_rules(merged.encode()).rules] == ["one"] and "\nprose\n" in merged


def test_rules_are_never_swallowed_by_what_the_other_side_left_open() -> None:
    """If this failed, rules would vanish in a comment or a code fence that a merge closed."""
    base = "- one\n- two\n"
    open_fence, closed = "```\n- one\n- two\n", "- one\n- two\n\n```\ncode\n```\n"
    path, _ = kept_both(RULES, base, open_fence, closed)
    assert path.startswith("rules/rules.conflict-")
    kept_both(RULES, base, base + "\n<!-- note\n", base + "- three\n\n-->\n- four <!-- x\n-->\n")


def test_unreadable_rules_stay_beside_the_readable() -> None:
    """If this failed, one bad byte would cost all the rules of a machine."""
    for bad in (b"- \xff\n", b"- a\n<<<<<<< x\n=======\n>>>>>>> y\n"):
        merged = merge(RULES, b"- one\n", b"- two\n", bad)
        assert merged == Merged(b"- two\n", (conflict_path(RULES, bad), bad))
    assert merge(RULES, b"\xff", b"- one\n", b"- two\n") == Merged(b"- one\n- two\n")


# Journal


def day(*entries: tuple[str, str], top: str = f"# {DAY}\n") -> str:
    data: bytes | None = top.encode() or None
    for time, body in entries:
        data = append_entry(data, DAY, Entry(f"{DAY}T{time}Z", "agent", "mcp", body)) or data
    return (data or b"").decode()


def test_entries_of_both_sides_stay_in_order_and_removed_ones_go() -> None:
    """If this failed, a day would lack what happened, or tell again what was taken out."""
    first, second, third = ("10:00:00", "a"), ("11:00:00", "b\n\nb"), ("12:00:00", "c")
    assert merged_text(JOURNAL, day(first), day(first, third), day(first, second)) == day(
        first, second, third
    )
    assert merged_text(JOURNAL, day(first, second), day(second), day(first, second, third)) == day(
        second, third
    )
    assert merged_text(JOURNAL, None, day(first), day(second)) == day(first, second)
    edited = ("11:00:00", "B")
    assert merged_text(JOURNAL, day(first, second), day(second), day(first, edited)) == day(edited)
    assert merged_text(JOURNAL, day(first), None, day(first, second)) == day(second, top="").removeprefix(
        f"# {DAY}\n\n"
    )
    assert merged_text(JOURNAL, day(first), None, day(second)) is not None


def test_what_people_wrote_above_the_entries_stays() -> None:
    """If this failed, notes by hand in a journal would be lost, or its heading stand twice."""
    entry = ("10:00:00", "a")
    base = day(entry, top=f"# {DAY}\n\nold\nnote\n")
    one = day(entry, top=f"# {DAY}\n\nnote\nmine\n")
    other = day(entry, ("11:00:00", "b"), top=f"# {DAY}\n\nold\nnote\nyours\n")
    merged = merged_text(JOURNAL, base, one, other)
    assert merged == day(entry, ("11:00:00", "b"), top=f"# {DAY}\n\nnote\nmine\nyours\n")


def test_an_unreadable_day_is_kept_in_the_archive() -> None:
    """If this failed, a damaged journal would be lost, or lie where only days are read."""
    good, bad = day(("10:00:00", "a")).encode(), b"\xff"
    path = conflict_path(f"superseded/{DAY}.md", bad)
    assert merge(JOURNAL, b"x", good, bad) == Merged(good, (path, bad))


# Handoffs


def scene(updated: str, body: str = "b") -> bytes:
    return f"---\nbranch: main\nupdated_at: {updated}\n---\n\n{body}\n".encode()


def test_the_newer_handoff_stands() -> None:
    """If this failed, a session would go on from where the work no longer is."""
    old, new = scene("2026-11-30T10:00:00Z"), scene("2026-11-30T12:00:00+01:00")
    assert merge(HANDOFF, scene("2026-11-29T10:00:00Z"), old, new) == Merged(new)
    assert merge(HANDOFF, None, new, b"---\nbroken") == Merged(new)
    same = scene("2026-11-30T10:00:00Z", "c")
    assert merge(HANDOFF, None, old, same).content in (old, same)


# store.yaml


def config(data: bytes | None = None, **changes: object) -> bytes:
    return update_config(data, changes)  # type: ignore[arg-type]


def test_settings_are_merged_key_by_key() -> None:
    """If this failed, a label set on one machine would undo what another set, or the other way round."""
    base = config(label="a", remote="r", merged_identities=IDS[:1])
    one = config(base, label=None, merged_identities=[IDS[0], IDS[2]])
    other = config(base, max_fact_chars=100, merged_identities=[IDS[1]])
    merged = merge(STORE, base, one, other).content
    assert merged is not None
    read = read_config(merged)
    assert (read.label, read.remote, read.max_fact_chars) == (None, "r", 100)
    assert read.merged_identities == (IDS[1], IDS[2])


@pytest.mark.parametrize(
    ("key", "old", "one", "other", "settled"),
    [
        ("label", "a", None, "b", "b"),
        ("label", "a", None, "a", None),
        ("label", "a", "c", "b", "b"),
        ("label", None, "c", "b", "b"),
        ("max_fact_chars", 200, 100, 1000, 1000),
        ("max_fact_chars", 200, 8192, 1000, 1000),
        ("retrieval_modes", None, ["keyword"], ["keyword", "vector", "grep"], ("keyword", "vector")),
        ("retrieval_modes", ["grep"], None, ["vector", "grep"], ("keyword", "vector", "grep")),
    ],
)
def test_a_setting_that_both_changed(
    key: str, old: object, one: object, other: object, settled: object
) -> None:
    """If this failed, two machines would never agree about a store's label or limits."""
    base = config(remote="r", **{key: old})
    merged = merge(STORE, base, config(base, **{key: one}), config(base, remote="s", **{key: other})).content
    assert merged is not None
    assert getattr(read_config(merged), key) == settled
    assert read_config(merged).remote == "s"


def test_unknown_settings_and_comments_stay() -> None:
    """If this failed, a newer version's settings would be lost to a merge by an older one."""
    base = b"# mine\nfuture: 1\nlabel: a\n"
    merged = merge(
        STORE, base, b"# mine\nfuture: 1\nlabel: b\n", b"# mine\nfuture: 2\nlabel: a\nnext: {a: b}\n"
    )
    assert merged.content is not None and merged.content.startswith(b"# mine\n")
    values = merged.content.decode().splitlines()
    assert "label: b" in values and "future: 2" in values and any(line.startswith("next:") for line in values)


def test_a_removed_or_damaged_store_file_takes_no_setting_along() -> None:
    """If this failed, a store would lose its name because of a bad byte, or aliases return that moved on."""
    base = config(label="a", merged_identities=IDS[:2])
    merged = merge(STORE, base, None, config(base, label="b")).content
    assert merged is not None and read_config(merged) == read_config(config(label="b"))
    assert merge(STORE, base, config(base, label="b"), b"label: [\n") == Merged(config(base, label="b"))
    cleared = merge(STORE, config(label="a", remote="r"), config(label="a"), config(remote="r")).content
    assert cleared is not None and read_config(cleared) == read_config(config())
    assert merge(STORE, config(label="a"), None, config(label="a") + b"# x\n") == Merged(None)


# Names


@pytest.mark.parametrize(
    "path", [FACT, "a", ".x", "rules/A.MD", "b/v1.2", "x/" + "ä" * 126 + ".md", "c.tar.gz"]
)
def test_a_copy_is_named_after_its_original(path: str) -> None:
    """If this failed, a conflict could not be shown beside the text that it is about, or not be written at all."""
    copy = conflict_path(path, b"x")
    assert copy.rpartition("/")[0] == path.rpartition("/")[0]
    assert len(copy.rpartition("/")[2].encode()) <= 255
    assert conflict_path(copy, b"x") == copy != conflict_path(copy, b"y")
    assert conflict_original(path) is None
    if len(path) < 100:
        assert conflict_original(copy) == path
    assert is_portable(copy.rpartition("/")[2]) or path == ".x"


# What holds for any texts

WORDS = st.sampled_from("abcdefgh")
BODIES = st.lists(WORDS, min_size=1, max_size=8).map(lambda words: "".join(word + "\n" for word in words))
NOTES = st.builds(
    note, BODIES, st.sampled_from("TU"), st.sampled_from([f"2026-11-30T1{n}:00:00Z" for n in range(4)])
)
RULE_LINES = st.sampled_from(
    [
        "# Rules\n\n",
        "- one\n",
        f"- one {LEARNED}\n",
        "- two\n",
        "- three\n  more\n",
        "* five\r\n",
        "   - six\n",
    ]
    + ["## Git\n", "prose\n", "\n", "```\n- code\n````\n", "~~~\n", "<!-- a\n", "-->\n", "<!-- b -->\n"]
)
RULE_FILES = st.lists(RULE_LINES, max_size=7, unique=True).map("".join)
JOURNALS = st.builds(
    lambda entries, top: day(*sorted(entries), top=top),
    st.lists(
        st.tuples(st.sampled_from(["10:00:00", "11:00:00"]), st.sampled_from(["a", "b\n\nb", "```\nc"])),
        max_size=4,
    ),
    st.sampled_from([f"# {DAY}\n", "", f"# {DAY}\n\nnote\n", "note\nmore\n", "```\n"]),
)
REPEATING = st.lists(RULE_LINES, max_size=7).map("".join)
FILES = st.one_of(
    *(
        st.tuples(st.just(path), *(st.one_of(st.none(), texts) for _ in range(3)))
        for path, texts in ((FACT, NOTES), (RULES, RULE_FILES), (JOURNAL, JOURNALS))
    )
)


def lines(*versions: str | bytes | None) -> set[str]:
    texts = [text.decode() if isinstance(text, bytes) else text or "" for text in versions]
    found = {line.strip() for text in texts for line in text.splitlines()} - {""}
    return {line for line in found if not line.startswith("updated_at:")}


@settings(max_examples=50)
@given(FILES | st.tuples(st.just(RULES), REPEATING, REPEATING, REPEATING))
def test_no_line_is_lost_and_none_invented(versions: tuple[str, str | None, str | None, str | None]) -> None:
    """If this failed, syncing would lose what somebody wrote, or write what nobody did."""
    path, base, one, other = versions
    merged = merge(path, *(None if text is None else text.encode() for text in (base, one, other)))
    copy = merged.copy[1] if merged.copy else None
    wanted = lines(one, other) - lines(base)
    if path == RULES and f"- one {LEARNED}" in wanted and "- one" in lines(one, other):
        wanted -= {f"- one {LEARNED}"}  # accepted
    assert wanted <= lines(merged.content, copy)
    assert lines(merged.content, copy) <= lines(base, one, other)
    if merged.content and merged.content.strip():
        assert not file_text.has_conflict_markers(merged.content.decode())


@settings(max_examples=50)
@given(FILES)
def test_merging_again_changes_nothing(versions: tuple[str, str | None, str | None, str | None]) -> None:
    """If this failed, machines that sync crosswise would go on merging for ever, or double what they have."""
    path, *texts = versions
    base, one, other = (None if text is None else text.encode() for text in texts)
    merged = merge(path, base, one, other)
    if merged.copy:
        return
    assert merge(path, one, merged.content, one).content == merged.content
    again = merge(path, base, merged.content, one)
    assert again.copy or again.content == merged.content


@settings(max_examples=50)
@given(RULE_FILES, RULE_FILES, RULE_FILES)
def test_rules_are_those_of_a_set(base: str, one: str, other: str) -> None:
    """If this failed, a rule that was removed would come back, or one that was added be missing."""
    merged = merge(RULES, base.encode(), one.encode(), other.encode())
    if merged.copy or not all(text.strip() for text in (base, one, other)):
        return
    old, left, right, found = map(rules, (base.encode(), one.encode(), other.encode(), merged.content))
    assert left.keys() | right.keys() >= found.keys() >= left.keys() & right.keys()
    assert found.keys() >= (left.keys() | right.keys()) - old.keys()
    for text in old.keys() & (left.keys() ^ right.keys()):
        blocks = left.get(text) or right.get(text)
        if blocks == old[text]:
            assert text not in found
        elif len(old[text]) == len(blocks or ()) == 1:
            assert text in found


def rules(data: bytes | None) -> dict[str, list[str]]:
    """Return each rule with the blocks that say it."""
    found: dict[str, list[str]] = {}
    for block in read_rules(data).blocks if data else ():
        if block.rule:
            found.setdefault(block.rule.text, []).append(block.text.replace("\r\n", "\n").rstrip())
    return found
