"""What the documents point at is there."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.documents.pages import DOCS, PAGES, ROOT, blocks, prose, quoted

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
FILE = re.compile(r"(?:bench|coffer|docs|fixtures|gitsync|lanes|tests)/[\w./-]*\.\w+")
MODULE = re.compile(r"(?:coffer|gitsync|lanes)(?:\.[a-z_]+)+")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_files_and_modules_exist(page: Path) -> None:
    """A reader would follow a name to nothing."""
    text = prose(page.read_text("utf-8"))
    for target in LINK.findall(text):
        if "://" not in target:
            assert (page.parent / target.partition("#")[0]).exists(), target
    for name in quoted(text):
        if FILE.fullmatch(name):
            assert (ROOT / name).exists(), name
        if MODULE.fullmatch(name):
            assert find_spec(name), name


def test_every_page_can_be_reached_from_the_readme() -> None:
    """A page would be there that nobody finds."""
    found, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        found.add(page)
        for target in LINK.findall(prose(page.read_text("utf-8"))):
            linked = (page.parent / target.partition("#")[0]).resolve()
            if linked.suffix == ".md" and linked.exists() and linked not in found:
                waiting.append(linked)
    assert set(DOCS.glob("*.md")) <= found


def test_make_targets_are_told_and_exist() -> None:
    """A person wouldn't know how to run the tests, or would be told a command that isn't there."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    public = set(re.findall(r"^([a-z-]+):.*##", makefile, re.MULTILINE))
    told: set[str] = set()
    for page in PAGES:
        text = page.read_text("utf-8")
        for code in [*quoted(prose(text)), *"".join(blocks(text)).splitlines()]:
            told |= set(re.findall(r"^make ([a-z-]+)", code))
    assert public <= told
    # "make release" is what the remembered facts of the examples are about.
    assert told - {"release"} <= targets
