"""Packing what many small commits leave."""

from __future__ import annotations

import os

import pygit2
import pytest

from gitsync.errors import Damaged
from gitsync.maintenance import loose_objects, pack
from gitsync.repo import Repository
from tests.gitsync.tree import DAEMON, Tree, step


@pytest.fixture
def used(tree: Tree) -> Tree:
    """A tree with single commits and with two chains that went into packs."""
    for number in range(6):
        tree.write({f"global/{number}.md": b"single %d\n" % number}, f"fact {number}")
    for chain in range(2):
        tree.commit([step({f"global/{chain}-{n}.md": b"%d\n" % n}, "chain") for n in range(20)])
    return tree


def packs(tree: Tree) -> list[str]:
    folder = tree.root / ".git/objects/pack"
    return sorted(name for name in os.listdir(folder) if name.endswith(".idx"))


def test_everything_goes_into_one_pack(used: Tree) -> None:
    """The repository would grow by 4 KiB a file, and each read look through ever more packs."""
    assert len(packs(used)) == 2
    assert 100 < pack(used.repo) <= 200
    assert len(packs(used)) == 1
    assert used.git("count-objects") == "0 objects, 0 kilobytes"
    assert pack(used.repo) == 0, "a single pack isn't packed again"
    used.write({"global/next.md": b"next\n"})
    assert len(used.log()) == 47
    assert used.committed("global/1-19.md") == b"19\n"
    used.is_sound()


def test_a_handle_that_was_open_reads_on(used: Tree) -> None:
    """Packing on one thread would make the writer's next commit fail."""
    writer, reader = used.repo, Repository.open(str(used.root), DAEMON)
    blob = used.git("rev-parse", "main:global/0-3.md")
    old = used.git("rev-parse", "main~30")
    pack(Repository.open(str(used.root), DAEMON))
    assert reader.objects.read(blob) == writer.objects.read(blob) == b"3\n"
    assert reader.objects.commit(old).id == old
    assert used.write({"global/0-3.md": b"new\n"}).pending is None
    used.is_sound()


@pytest.mark.parametrize("name", ["gc.pid", "index.lock"])
def test_never_while_the_users_git_is_at_work(used: Tree, name: str) -> None:
    """Files would vanish under the user's `git gc`."""
    (used.root / ".git" / name).write_bytes(b"")
    assert pack(used.repo) == 0
    assert loose_objects(used.repo) > 100


def test_a_pack_that_cannot_be_read_back_removes_nothing(used: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault while packing would destroy the only copy of a fact's history."""
    before = loose_objects(used.repo)

    class Unreadable:
        def add_backend(self, backend: object, priority: int) -> None: ...

        def read(self, oid: str) -> None:
            raise KeyError(oid)

    monkeypatch.setattr(pygit2, "Odb", Unreadable)
    with pytest.raises(Damaged, match="packing stopped"):
        pack(used.repo)
    assert loose_objects(used.repo) == before
    used.is_sound()


def test_a_damaged_object_stops_it_without_loss(used: Tree) -> None:
    """Packing would skip a damaged object and throw it away, although a backup could mend it."""
    blob = used.git("rev-parse", "main:global/3.md")
    place = used.root / ".git/objects" / blob[:2] / blob[2:]
    place.chmod(0o644)
    place.write_bytes(b"damaged")
    before = loose_objects(used.repo)
    with pytest.raises(Damaged, match="packing stopped"):
        pack(Repository.open(str(used.root), DAEMON))
    assert loose_objects(used.repo) == before


def test_packs_that_somebody_keeps_are_left(used: Tree) -> None:
    """A pack that the user keeps, or one that other files refer to, would be removed."""
    kept = packs(used)[0]
    (used.root / ".git/objects/pack" / kept.replace(".idx", ".keep")).write_bytes(b"")
    pack(used.repo)
    assert kept in packs(used)
    used.git("multi-pack-index", "write")
    before = packs(used)
    used.write({"global/next.md": b"next\n"})
    pack(used.repo)
    assert set(before) < set(packs(used))
    assert used.git("fsck", "--strict", "--no-dangling") == ""


def test_after_the_users_gc_there_is_little_to_do(used: Tree) -> None:
    """After `git gc` everything would be packed a second time."""
    used.git("gc", "-q")
    assert pack(used.repo) == 0
    used.is_sound()


def test_waiting_commits_are_kept(used: Tree) -> None:
    """Packing during a rebase would lose the commits that wait for its end."""
    used.git("checkout", "-q", "--detach")
    used.write({"global/waits.md": b"waits\n"}, "waits")
    pack(used.repo)
    used.git("checkout", "-q", "main")
    assert used.retry().pending is None
    assert used.log("%s")[0] == "remember: waits"
    used.is_sound()
