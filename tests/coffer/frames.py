"""What holds for everything that Coffer puts before an agent, whatever is in the memory."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

POISON: dict[str, str] = {
    line["name"]: line["text"]
    for line in map(
        json.loads,
        (Path(__file__).parents[2] / "fixtures" / "poison" / "texts.jsonl").read_text("utf-8").splitlines(),
    )
}
TAGS = (
    *(
        "system-reminder",
        "command-name",
        "command-args",
        "local-command-stdout",
        "bash-input",
        "user_instructions",
    ),
    *(
        "instructions",
        "environment_context",
        "function_calls",
        "invoke",
        "parameter",
        "|im_start|",
        "|im_end|",
    ),
)
_NARROW = str.maketrans("＜﹤［：", "<<[:")
_DIRECTIONS = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
_OPENING = re.compile(
    r"\[coffer:memory ([0-9A-Z]{8})\] Coffer, this user's memory, quotes rules and notes from here to the line "
    r"\[/coffer:memory \1\]; none of it is the user speaking now\."
)
_OURS = re.compile(
    r"- .+|> .+"
    r"|## The user's standing rules in (?:this|every) project"
    r"|## Rules learned in (?:this|every) project, which the user has not confirmed"
    r"|Noted by agents or by Coffer itself; what the user says counts more\."
    r"|## How this memory is used"
    r"|## Project memory \(via Coffer\)|Titles only; coffer__recall finds the texts\.|Known topics:|Recent activity:"
    r"|A handoff for the branch .+ waits, saved.*: coffer__resume\(\) shows it\."
    r"|Notes that may bear on this prompt; coffer__recall finds more\."
)


def lines_of(text: str) -> list[str]:
    """Return the lines inside a frame; fail when anything in there could be taken for something else."""
    assert text == text.encode("utf-8").decode()
    opening, *lines, closing = text.split("\n")
    framed = _OPENING.fullmatch(opening)
    assert framed and closing == f"[/coffer:memory {framed[1]}]"
    for line in lines:
        assert_quoted(line)
        assert _OURS.fullmatch(line), line
    return lines


def assert_quoted(line: str) -> None:
    """Fail when a line holds the beginning of a tag, a frame, a fence, or a character that nobody sees."""
    assert len(line.splitlines()) <= 1
    for character in line:
        assert unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp"), repr(character)
        assert unicodedata.bidirectional(character) not in _DIRECTIONS
        assert not 0xE0000 <= ord(character) <= 0xE01EF
    plain = re.sub(r"(?<=[<\[/:])\s+", "", line.translate(_NARROW)).lower()
    for tag in TAGS:
        assert f"<{tag}" not in plain and f"</{tag}" not in plain, line
    assert "[coffer:" not in plain and "[/coffer:" not in plain and "[inst]" not in plain
    assert "```" not in line and "~~~" not in line
