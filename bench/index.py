"""How long bringing the index up to date takes: nothing changed, one edit, everything anew."""

from __future__ import annotations

import os
from pathlib import Path

from bench import corpus
from bench.home import milliseconds
from bench.table import Row, median, ms, versus
from coffer.infrastructure.index.mirror import SearchIndex, StoreFiles

ROUNDS = 30


def measure(scratch: Path, size: int = 10_000) -> list[Row]:
    store = StoreFiles("global", str(scratch / "index" / "global"))
    inbox = Path(store.folder) / "knowledge" / "inbox"
    corpus.write(inbox, size)
    database = scratch / "index" / "index.sqlite"
    index = SearchIndex(str(database))
    rebuild = milliseconds(lambda: index.reconcile([store]))
    index.reconcile([store])
    ours, bare, edits = [], [], []
    for _ in range(ROUNDS):
        ours.append(milliseconds(lambda: index.reconcile([store])))
        bare.append(milliseconds(lambda: _scan(store.folder)))
    edited = next(inbox.rglob("*.md"))
    for number in range(ROUNDS):
        with edited.open("a") as file:
            file.write(f"\nedit {number}\n")
        edits.append(milliseconds(lambda: index.reconcile([store])))
    index.close()
    text = sum(file.stat().st_size for file in inbox.rglob("*.md"))
    return [
        Row(
            f"nothing changed, {size} files",
            ms(ours),
            f"bare scandir + stat: {ms(bare)}",
            versus(median(ours), median(bare)),
            "≤ 1.5",
        ),
        Row(f"one edit, {size} files", ms(edits)),
        Row(f"rebuild from {size} files", f"{rebuild / 1000:.1f} s", f"{rebuild / size:.2f} ms a fact"),
        Row(
            "index size",
            f"{database.stat().st_size / size:.0f} bytes a fact",
            f"text {text / size:.0f} bytes a fact",
            versus(database.stat().st_size, text),
        ),
    ]


def _scan(folder: str) -> int:
    """Stat every file below `folder`, as cheaply as Python can."""
    pending, seen = [folder], 0
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
                    seen += 1
    return seen
