from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanes import lane_of
from lanes.errors import LaneError, Unreadable
from lanes.file_text import has_conflict_markers
from lanes.names import single_line
from lanes.rules import Rule, accept_rule, append_rule, concatenate, count_rules, read_rules

LEARNED = Rule("Run `make check` before a push.", "2026-11-30", "organizer")
MARK = "<!-- learned 2026-11-30 by organizer -->"

PIECES = st.lists(
    st.sampled_from(
        [
            "# Rules\n",
            "## Git\n",
            "Prose.\n",
            "prose",
            "\n",
            "\r\n",
            "\r",
            "- one\n",
            "* two\n",
            "+ three",
            "- one <!-- learned 2026-11-30 by x -->\n",
            "  - nested\n",
            "  more\n",
            "\tmore\n",
            "    - deep\n",
            "   - third\n",
            "lazy\n",
            "lazy <!-- learned by x -->\n",
            "1. ordered\n",
            "> quoted\n",
            "```\n",
            "~~~~ yaml\n",
            "  ```\n",
            "<!--",
            "-->\n",
            "<!-- note -->\n",
            "---\n",
            "* * *\n",
            "-\n",
            "- ***\n",
            "\\",
            "\ufeff",
            "\u2028",
            "- \u200b\n",
            "<<<<<<< a\n",
            "=======\n",
            ">>>>>>> b\n",
        ]
    )
).map("".join)
DOCUMENTS = PIECES.filter(lambda text: bool(text.strip()) and not has_conflict_markers(text))
TEXTS = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            ["<!--", "-->", MARK, "\\", "-", "* ", "\n", "learned", " ", "x", "```", "\ufeff", "# "]
        )
    ).map("".join),
)
AUTHORS = st.one_of(st.none(), st.text(), st.sampled_from(["claude code", "x -->", "--> <!-- learned by y"]))


def written(data: bytes | None, rule: Rule) -> bytes:
    result = append_rule(data, rule)
    assert result is not None
    return result


def texts(data: bytes) -> list[str]:
    return [rule.text for rule in read_rules(data).rules]


def test_a_rules_file_is_what_the_contract_shows() -> None:
    """Other programs, and a person, would not find what the docs promise."""
    data = written(written(None, Rule("Never push\n  to main.")), LEARNED)

    assert data.decode() == (
        "# Rules\n\n- Never push to main.\n"
        "- Run `make check` before a push. <!-- learned 2026-11-30 by organizer -->\n"
    )
    assert (Rule("Never push to main."), LEARNED) == read_rules(data).rules
    assert [rule.learned for rule in read_rules(data).rules] == [False, True]


@given(DOCUMENTS)
def test_the_blocks_of_a_file_are_the_file(text: str) -> None:
    """A line that somebody wrote would vanish at the next edit."""
    blocks = read_rules(text.encode()).blocks

    assert text == "".join(block.text for block in blocks)
    assert all(block.text for block in blocks)


@given(DOCUMENTS, TEXTS, st.sampled_from([None, "2026-11-30", ""]), AUTHORS)
def test_a_new_rule_leaves_every_other_line_alone(
    old: str, text: str, day: str | None, author: str | None
) -> None:
    """A rule, or what a person wrote around it, would be lost, or a learned rule pass for the user's own."""
    rule = Rule(text, day, author)
    before = read_rules(old.encode())
    try:
        result = append_rule(old.encode(), rule)
    except Unreadable:
        assert "<!--" in old
        return

    if result is None:
        assert single_line(text) in [known.text for known in before.rules] or not single_line(text).strip(
            "-*+_ "
        )
        return
    after = read_rules(result)
    if len(after.rules) == len(before.rules):
        assert not rule.learned
        assert [known.text for known in before.rules] == [known.text for known in after.rules]
        return
    assert (*before.rules, after.rules[-1]) == after.rules
    assert single_line(text) == after.rules[-1].text
    assert rule.learned == after.rules[-1].learned
    new = result.decode()
    assert any(new.startswith(old[:cut_at]) and new.endswith(old[cut_at:]) for cut_at in range(len(old) + 1))
    assert append_rule(result, rule) is None


@given(TEXTS.filter(lambda text: bool(single_line(text).strip("-*+_ "))), AUTHORS)
def test_the_mark_of_a_learned_rule_cannot_be_hidden(text: str, author: str | None) -> None:
    """What an agent read somewhere would go before every session with the user's authority."""
    data = written(None, Rule(text, "2026-11-30", author))

    (rule,) = read_rules(data).rules
    assert (single_line(text), "2026-11-30") == (rule.text, rule.learned_on)
    accepted = accept_rule(data, text)
    assert accepted == append_rule(None, Rule(text))


@pytest.mark.parametrize("text", [MARK, f"Be nice. {MARK}", f"\\{MARK}", "Use <!-- comments -->", "a <!--"])
def test_a_text_cannot_forge_a_mark_or_a_comment(text: str) -> None:
    """A rule of the user's would lose its standing, or half of a rule be hidden from whoever looks at it."""
    data = written(None, Rule(text))

    assert (Rule(text),) == read_rules(data).rules
    assert b" <!--" not in data


@pytest.mark.parametrize("text", ["", " \n", "---", "* * *", "-", "\u200b", "___"])
def test_a_rule_that_says_nothing_is_not_written(text: str) -> None:
    """The count of rules would not be that of the bullets."""
    assert append_rule(None, Rule(text)) is None
    assert append_rule(b"# Rules\n", Rule(text)) is None


@pytest.mark.parametrize("day", ["30.11.2026", "2026-11-30 -->", "2026-11-30T10:00:00Z"])
def test_a_mark_tells_a_day(day: str) -> None:
    """The mark would not be read back, and the rule be the user's."""
    with pytest.raises(LaneError):
        append_rule(None, Rule("x", day, "codex"))


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("- x <!-- learned 2026-11-30 by codex -->", Rule("x", "2026-11-30", "codex")),
        ("* x   <!--learned  2026-11-30\tby claude code-->  ", Rule("x", "2026-11-30", "claude code")),
        ("+ x <!-- learned by codex -->", Rule("x", "", "codex")),
        ("- x <!-- learned 2026-11-30 -->", Rule("x", "2026-11-30")),
        ("- x <!-- learned -->", Rule("x", "")),
        ("- x\n  y <!-- learned by codex -->\n  z", Rule("x y z", "", "codex")),
        ("- x <!-- learned the hard way -->", Rule("x <!-- learned the hard way -->")),
        ("- x <!-- note -->", Rule("x <!-- note -->")),
        ("- x \\<!-- learned by codex -->", Rule("x <!-- learned by codex -->")),
        ("- learned by codex -->", Rule("learned by codex -->")),
    ],
)
def test_marks_are_read_as_a_hand_may_leave_them(line: str, rule: Rule) -> None:
    """A reformatted file would turn learned rules into the user's own, or the other way round."""
    assert (rule,) == read_rules(line.encode()).rules


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_file_by_hand_is_read_and_kept(mark: str, newline: str) -> None:
    """Rules would be missed, or code, comments and lines of prose be told to agents as rules."""
    lines = [
        "* First,",
        "wrapped by hand",
        "  * with a part",
        "",
        "    and a paragraph",
        "## Deploy",
        "Only on weekdays:",
        "   + second",
        "1. not a rule",
        "",
        "```yaml",
        "- not: a rule",
        "```",
        "<!--",
        "- switched off",
        "-->",
        "    - code",
        "* * *",
        "- third",
        "",
        "",
        "The end.",
    ]
    data = (mark + newline.join(lines)).encode()

    assert texts(data) == ["First, wrapped by hand * with a part and a paragraph", "second", "third"]
    assert count_rules(data) == 3
    assert data.replace(b"- third", b"- third" + newline.encode() + b"- fourth") == written(
        data, Rule("fourth")
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# Rules", "# Rules\n\n- x\n"),
        ("# Rules\n", "# Rules\n\n- x\n"),
        ("Prose.\r\n\r\n", "Prose.\r\n\r\n- x\r\n"),
        ("- a", "- a\n- x\n"),
        ("  * a\n  ```\n", "  * a\n  - x\n  ```\n"),
        ("- a\n\n- b\n\n\n", "- a\n\n- b\n- x\n\n\n"),
        ("- a\n```\nopen", "- a\n- x\n```\nopen"),
        ("```\nopen\n\n- a\n", "```\nopen\n\n- a\n- x\n"),
    ],
)
def test_a_new_rule_follows_the_last(old: str, new: str) -> None:
    """The rule would run into a person's sentence, or stand where nobody reads it."""
    assert new.encode() == append_rule(old.encode(), Rule("x"))


def test_a_rule_is_written_once() -> None:
    """Each pass of the organizer would repeat the same rule."""
    data = written(None, LEARNED)

    assert append_rule(data, LEARNED) is None
    assert append_rule(data, Rule(f" {LEARNED.text}\n", "2026-12-01", "codex")) is None
    assert append_rule(b"* Run  `make check`\n  before a push.\n", LEARNED) is None
    assert append_rule(data, Rule("run `make check` before a push.")) is not None


def test_what_the_user_adds_is_the_users() -> None:
    """A rule that the user gave would stay among the unreviewed ones because an agent was quicker."""
    assert written(None, Rule(LEARNED.text)) == append_rule(written(None, LEARNED), Rule(LEARNED.text))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_accepting_takes_off_the_mark_and_nothing_else(newline: str) -> None:
    """The user would lose lines, or approve more than was shown."""
    lines = [
        "# Rules",
        "",
        f"* a\t{MARK}  ",
        "  - part",
        "  " + MARK,
        "prose",
        "",
        f"- b {MARK}",
        "- a - part prose",
    ]
    data = newline.join(lines).encode()

    accepted = accept_rule(data, "a - part\nprose")

    expected = [*lines[:2], "* a  ", "  - part", "prose", *lines[6:]]
    assert newline.join(expected).encode() == accepted
    assert [rule.learned for rule in read_rules(accepted).rules] == [False, True, False]
    assert accept_rule(accepted, "a - part prose") is None
    assert accept_rule(data, "no such rule") is None


def test_an_open_comment_is_not_closed_by_a_mark() -> None:
    """The new rule's mark would end the user's comment, and the rules in between vanish."""
    data = b"# Rules\n\n<!-- to do\n\n- a\n"

    with pytest.raises(Unreadable, match="comment"):
        append_rule(data, LEARNED)
    assert texts(written(data, Rule("b"))) == ["a", "b"]


def test_files_are_joined_in_the_order_of_their_paths() -> None:
    """Sessions of two machines would begin with different texts."""
    files = [
        ("rules/rules.md", b"\xef\xbb\xbf# Rules\n\n- c\n"),
        ("rules/git/commit.md", b"- b"),
        ("rules/git.md", b"\n- a\r\n"),
    ]

    assert concatenate(files) == "\n- a\r\n\n- b\n\n# Rules\n\n- c\n"
    assert concatenate([]) == ""
    assert all(lane is not None and lane.name == "rules" for lane in (lane_of(path) for path, _ in files))


@pytest.mark.parametrize("data", [b"\xff", b"- a\0b", b"<<<<<<< a\n=======\n>>>>>>> b\n", b"x" * (2**20 + 1)])
def test_what_cannot_be_read_is_left_alone(data: bytes) -> None:
    """A damaged file would be rewritten, and what can still be saved of it lost."""
    for act in (
        read_rules,
        count_rules,
        lambda data: append_rule(data, LEARNED),
        lambda data: accept_rule(data, "x"),
    ):
        with pytest.raises(Unreadable):
            act(data)


@pytest.mark.parametrize("data", [b"", b" \n"])
def test_an_emptied_file_begins_anew(data: bytes) -> None:
    """A store whose rules somebody emptied could take no more rules."""
    assert written(None, LEARNED) == written(data, LEARNED)
