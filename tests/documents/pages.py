"""The documents, and the parts of them that tests compare with the code."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md")))
CODE = tuple(path for name in ("coffer", "gitsync", "lanes") for path in sorted((ROOT / name).rglob("*.py")))

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(name: str) -> str:
    """Return a page of `docs`, or the README."""
    return (ROOT if name == "README.md" else DOCS).joinpath(name).read_text("utf-8")


def blocks(text: str, language: str = "") -> list[str]:
    """Return the fenced blocks of a language, those without one by default."""
    return [block for found, block in _BLOCK.findall(text) if found == language]


def prose(text: str) -> str:
    """Return a page without its fenced blocks."""
    return _BLOCK.sub("", text)


def section(text: str, heading: str) -> str:
    """Return what stands under a heading, up to the next one of its rank or above."""
    rank = len(heading) - len(heading.lstrip("#"))
    _, found, rest = f"\n{text}".partition(f"\n{heading}\n")
    assert found, heading
    fenced, kept = False, []
    for line in rest.splitlines():
        fenced ^= line.startswith("```")
        if not fenced and re.match(f"#{{1,{rank}}} ", line):
            break
        kept.append(line)
    return "\n".join(kept)


def rows(text: str) -> list[list[str]]:
    """Return the cells of every table row of a text, without headings."""
    lines = [line.strip() for line in text.splitlines()]
    table = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("|")
    ]
    cells = [[cell.strip(" |") for cell in row] for row in table]
    rules = [n for n, row in enumerate(cells) if set("".join(row)) <= set("-| ")]
    return [row for n, row in enumerate(cells) if n not in rules and n + 1 not in rules]


def quoted(text: str) -> list[str]:
    """Return what stands between backquotes, in order."""
    return re.findall(r"`([^`\n]+)`", text)
