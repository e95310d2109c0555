"""The index of a commit: as the live one answered then, whatever happened since."""

from __future__ import annotations

from pathlib import Path

import pytest

from coffer.domain.errors import MemoryNotFound
from coffer.domain.stores import GLOBAL
from coffer.infrastructure.index.past import PastIndex
from tests.gitsync.tree import TIME, Tree

DEPLOY = "global/knowledge/deploy.md"
INBOX = "global/knowledge/inbox/2026-06/cache.md"
JOURNAL = "global/journal/2026-06-01.md"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "memory", tmp_path)


@pytest.fixture
def commits(tree: Tree) -> list[str]:
    """A topic, a fact that comes and goes, a day of the journal, and what recall doesn't read."""
    tree.write({DEPLOY: b"Deploys go through make release.\n"}, "first", TIME)
    journal = b"- 09:00 user: deploys were frozen\n"
    more = {INBOX: b"The cache is warm.\n", JOURNAL: journal, "global/rules/r.md": b"- deploys\n"}
    tree.write(more, "second", TIME + 60)
    gone = {
        DEPLOY: b"Deploys go through the pipeline.\n",
        INBOX: None,
        "global/knowledge/bad.md": b"\xff\xfe",
    }
    tree.write(gone, "third", TIME + 120)
    return tree.git("log", "--format=%H", "--reverse").split()


async def texts(past: PastIndex, commit: str, query: str) -> list[str]:
    return [hit.text.strip() for hit in await past.search(commit, query, [GLOBAL], 5)]


async def test_recall_at_a_commit(tree: Tree, commits: list[str]) -> None:
    """Recall of the past would tell what was learned since, or not what was known."""
    past = PastIndex(str(tree.root))
    assert await texts(past, commits[0], "deploys") == ["Deploys go through make release."]
    assert await texts(past, commits[2], "deploys pipeline") != await texts(past, commits[0], "deploys")
    assert await texts(past, commits[1], "warm cache") == ["The cache is warm."]
    assert await texts(past, commits[2], "warm cache") == []
    assert any("frozen" in text for text in await texts(past, commits[1], "frozen"))
    hits = await past.search(commits[1], "deploys", [GLOBAL], 5)
    assert {hit.path for hit in hits} == {DEPLOY, JOURNAL}


async def test_facts_at_a_commit(tree: Tree, commits: list[str]) -> None:
    """The list of then would hold other texts, in another order, with times of today."""
    past = PastIndex(str(tree.root))
    facts, total = await past.facts(commits[1], GLOBAL, None, 50, 0)
    assert total == 2 and {fact.path for fact in facts} == {DEPLOY, INBOX}
    assert {fact.updated_at for fact in facts} == {"2025-06-15T15:07:40Z"}
    assert [fact.path for fact in (await past.facts(commits[1], GLOBAL, "topic", 50, 0))[0]] == [DEPLOY]
    assert (await past.facts(commits[2], GLOBAL, None, 50, 0))[1] == 1


async def test_files_are_left_alone(tree: Tree, commits: list[str]) -> None:
    """Looking back would change what is there now."""
    before = tree.git("status", "--porcelain"), sorted(tree.root.rglob("[!.]*"))
    past = PastIndex(str(tree.root))
    for commit in commits:
        await texts(past, commit, "deploys")
    assert (tree.git("status", "--porcelain"), sorted(tree.root.rglob("[!.]*"))) == before
    assert len(past._made) == 2


async def test_unknown_commit(tree: Tree, commits: list[str]) -> None:
    """An empty answer would look like an empty memory."""
    with pytest.raises(MemoryNotFound):
        await texts(PastIndex(str(tree.root)), "f" * 40, "deploys")
