"""Stores found to be one project's, and merged, on the command line."""

from __future__ import annotations

from typing import Any

from tests.coffer.cli.fake_rest import OTHER, PROJECT, Coffer, FakeRest

HOSTILE = "a\x1b[2Jb"


def evidence(store: str, **changes: Any) -> dict[str, Any]:
    return {
        "store": store,
        "display_name": "shop",
        "root": None,
        "remote": None,
        "fact_count": 1,
        "titles": [],
    } | changes


def scan(*proposals: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"engine": "no_model", "truncated": False, "proposals": list(proposals)} | changes


def test_scan_prints_the_command_that_merges(rest: FakeRest, coffer: Coffer) -> None:
    """A person would have to copy two names of 34 characters out of a table, and put them in the right order."""
    found = {
        "source": OTHER,
        "target": PROJECT,
        "confidence": "certain",
        "judged_by": "remote",
        "reason": HOSTILE,
        "source_evidence": evidence(OTHER, remote="example.org/shop", fact_count=31),
        "target_evidence": evidence(PROJECT, root="/work/shop"),
    }
    rest.reply("POST", "/memory_stores/merge_scan", 200, scan(found))
    assert coffer("memory", "merge-scan").out.splitlines() == [
        "shop (example.org/shop, 31 facts) and shop (/work/shop, 1 fact)",
        r"  certain: a\x1b[2Jb",
        f"  coffer memory merge {OTHER} {PROJECT}",
        "Only remotes were compared, since no model is connected.",
    ]


def test_scan_says_when_there_is_nothing_or_more(rest: FakeRest, coffer: Coffer) -> None:
    """Nothing at all would look like a failure, and a scan that was cut short like all there is."""
    rest.reply("POST", "/memory_stores/merge_scan", 200, scan(engine="ok", truncated=True))
    assert coffer("memory", "merge-scan").out.splitlines() == [
        "No two stores seem to be one project's.",
        "Not every pair was judged; merge these, then scan again.",
    ]


def test_merge_takes_names_labels_and_the_current_project(rest: FakeRest, coffer: Coffer) -> None:
    """A store would have to be given by its name here, and here alone."""
    stores = [{"name": OTHER, "label": "Old shop", "display_name": "Old shop"}]
    rest.reply("GET", "/memory_stores", 200, {"memory_stores": stores})
    done = {"target": PROJECT, "merged_files": 3}
    rest.reply("POST", "/memory_stores/merge", 200, done)
    ran = coffer("memory", "merge", "Old shop", PROJECT)
    assert ran.out == f"3 files moved to {PROJECT}; {OTHER} leads there now.\n"
    assert rest.last.body == {"source": OTHER, "target": PROJECT, "organize": True}
    coffer("memory", "merge", OTHER, PROJECT, "--no-organize")
    assert rest.last.body == {"source": OTHER, "target": PROJECT, "organize": False}


def test_a_refused_merge_is_one_line(rest: FakeRest, coffer: Coffer) -> None:
    """A person would see a stack of Python instead of what to do."""
    rest.refuse("POST", "/memory_stores/merge", 400, "MEMORY_STORE_MERGE_INVALID", "Name two stores.")
    ran = coffer("memory", "merge", PROJECT, PROJECT)
    assert (ran.status, ran.err) == (1, "coffer: Name two stores.\n")
