"""Fetching and pushing: what comes stays apart until it is let in, and nobody's work is pushed over."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gitsync.errors import Damaged, RemoteFailed, RemoteRefused
from gitsync.objects import blob_id
from gitsync.remote import Limits, fetch, push, unpack
from gitsync.repo import Repository
from tests.gitsync.peers import Bare, Wire, nothing_runs
from tests.gitsync.tree import DAEMON, Tree, git_environment


def test_what_one_machine_pushes_another_gets(any_wire: Wire, remote: Bare, tmp_path: Path) -> None:
    """Machines wouldn't come together."""
    assert any_wire.take(remote.path) is None
    assert any_wire.give(remote.path)
    assert remote.tip() == any_wire.repo.head()
    other = Wire(Tree(tmp_path / "other", any_wire.tree.home))
    assert other.take(remote.path) == remote.tip()
    objects = Repository.open(str(other.tree.root), DAEMON).objects
    assert objects.blob_at(objects.tree_of(remote.tip()), "here.md") == blob_id(b"here\n")
    assert other.tree.git("fsck", "--strict", "--connectivity-only", remote.tip() or "") == ""
    assert other.left() == []
    nothing_runs(str(tmp_path))


def test_what_is_fetched_is_apart_until_it_is_admitted(any_wire: Wire, remote: Bare) -> None:
    """What nobody has looked at yet would be in the user's repository."""
    tip = remote.add({"there.md": b"there\n"})
    with fetch(any_wire.repo, remote.path, any_wire.limits, any_wire.stop) as incoming:
        assert incoming.tip == tip
        assert incoming.objects.read(blob_id(b"there\n")) == b"there\n"
        assert incoming.objects.has(any_wire.repo.head() or "")
        assert not any_wire.repo.objects.has(tip)
    assert not any_wire.repo.objects.has(tip)
    assert any_wire.left() == []
    assert any_wire.take(remote.path) == tip
    assert any_wire.repo.objects.read(blob_id(b"there\n")) == b"there\n"
    assert any_wire.tree.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_only_what_is_missing_comes(any_wire: Wire, remote: Bare) -> None:
    """Every sync would fetch the whole history again."""
    any_wire.give(remote.path)
    remote.add({f"{n}.md": os.urandom(3000) for n in range(50)})
    synced = any_wire.take(remote.path)
    assert synced
    any_wire.repo.refs.put("refs/coffer/synced/it", synced)
    remote.add({"one-more.md": b"more\n"})
    with fetch(any_wire.repo, remote.path, any_wire.limits, any_wire.stop) as incoming:
        packs = Path(incoming.folder, "objects", "pack").glob("*.pack")
        assert sum(pack.stat().st_size for pack in packs) < 10_000
    remote.add({"and-more.md": b"more\n"})
    any_wire.take(remote.path)
    with fetch(any_wire.repo, remote.path, any_wire.limits, any_wire.stop) as incoming:
        assert incoming.tip == remote.tip()


def test_somebody_faster_is_not_pushed_over(any_wire: Wire, remote: Bare) -> None:
    """The other machine's commits would be gone from the remote."""
    assert any_wire.give(remote.path)
    theirs = remote.add({"there.md": b"there\n"})
    any_wire.tree.write({"here.md": b"here again\n"})
    assert not any_wire.give(remote.path)
    assert remote.tip() == theirs


def test_a_push_that_loses_the_race_on_the_other_side(wire: Wire, remote: Bare) -> None:
    """A lost race would look like a refusal, and sync would give up."""
    Path(remote.path, "refs", "heads").mkdir(exist_ok=True)
    Path(remote.path, "refs", "heads", "main.lock").touch()
    assert not wire.give(remote.path)


def test_pushing_what_is_there_already(any_wire: Wire, remote: Bare) -> None:
    """Two machines with the same commit would take each other for faster."""
    assert any_wire.give(remote.path)
    assert any_wire.give(remote.path)


def test_the_remotes_own_refusal_is_told(wire: Wire, remote: Bare) -> None:
    """People wouldn't learn why nothing of theirs arrives."""
    remote.hook("pre-receive", "echo 'no pushes on Sundays' >&2; exit 1")
    with pytest.raises(RemoteFailed, match=r"pre-receive hook declined.*no pushes on Sundays") as failed:
        wire.give(remote.path)
    assert failed.value.cause == "declined"
    assert remote.tip() is None


def test_a_remote_with_other_branches_alone(any_wire: Wire, remote: Bare) -> None:
    """Memory would be pushed into some repository that was given by mistake."""
    remote.add({"main.c": b"int main;\n"}, branch="trunk")
    with pytest.raises(RemoteRefused, match="no main"):
        any_wire.take(remote.path)
    assert any_wire.left() == []


def test_a_branch_that_is_no_commit(wire: Wire, remote: Bare) -> None:
    """A blob would be taken for a history."""
    blob = remote.repo.create_blob(b"not a commit\n")
    Path(remote.path, "refs", "heads", "main").write_text(f"{blob}\n")
    with pytest.raises((Damaged, RemoteFailed)):
        wire.take(remote.path)
    assert wire.left() == []


def test_a_remote_that_has_but_the_end_of_its_history(wire: Wire, remote: Bare, tmp_path: Path) -> None:
    """Half a history would be joined, and what it lacks be taken for removed; or the remote for empty."""
    remote.add({"one.md": b"one\n"})
    remote.add({"two.md": b"two\n"})
    short = str(tmp_path / "short.git")
    clone = ["git", "clone", "-q", "--bare", "--depth", "1", f"file://{remote.path}", short]
    subprocess.run(clone, check=True)
    with pytest.raises(RemoteFailed, match="shallow"):
        wire.take(short)
    assert wire.left() == []


def test_a_folder_that_vanished(any_wire: Wire, tmp_path: Path) -> None:
    """A disk that isn't plugged in would be an error that nobody understands."""
    with pytest.raises(RemoteRefused, match="isn't a bare repository"):
        any_wire.take(str(tmp_path / "unplugged.git"))


def test_what_a_crash_left_goes_at_the_next_start(wire: Wire, remote: Bare) -> None:
    """Every crash in the middle of a fetch would leave what it had fetched on the disk."""
    remote.add({"there.md": b"there\n"})
    fetch(wire.repo, remote.path, wire.limits, wire.stop)
    assert len(wire.left()) == 1
    wire.tree.recover()
    assert wire.left() == []
    wire.tree.is_sound()


def pushed(tree: Tree, remote: Bare, thin_from: str) -> tuple[bytes, str]:
    """Return the pack that the user's git would push for the remote's branch, and its tip."""
    tip = remote.tip()
    assert tip
    done = subprocess.run(
        ["git", "-C", remote.path, "pack-objects", "--stdout", "--revs", "--thin", "--quiet"],
        input=f"{tip}\n^{thin_from}\n".encode(),
        env=git_environment(tree.home),
        capture_output=True,
        check=True,
    )
    return done.stdout, tip


def test_a_pushed_pack_is_held_like_a_fetched_one(any_wire: Wire, remote: Bare) -> None:
    """What the user's own git pushes here couldn't be looked at first."""
    any_wire.tree.write({"long.md": b"a line of text\n" * 200})
    any_wire.give(remote.path)
    remote.add({"long.md": b"a line of text\n" * 200 + b"and another\n"})
    head = any_wire.repo.head()
    assert head
    pack, tip = pushed(any_wire.tree, remote, head)
    with unpack(any_wire.repo, pack, tip, any_wire.limits, any_wire.stop) as incoming:
        assert incoming.objects.commit(tip).parents == (head,)
        assert not any_wire.repo.objects.has(tip)
        incoming.admit()
    assert any_wire.repo.objects.has(tip)
    assert any_wire.left() == []
    nothing, _ = pushed(any_wire.tree, remote, tip)
    with unpack(any_wire.repo, nothing, head, any_wire.limits, any_wire.stop) as incoming:
        assert incoming.tip == head


def test_a_pushed_pack_that_lacks_something(wire: Wire, remote: Bare) -> None:
    """The branch would move to a commit whose files aren't there."""
    first = remote.add({"one.md": b"one\n"})
    remote.add({"two.md": b"two\n"})
    pack, tip = pushed(wire.tree, remote, first)
    with pytest.raises(RemoteFailed, match="can't be read"):
        unpack(wire.repo, pack, tip, wire.limits, wire.stop)
    with pytest.raises(Damaged):
        unpack(wire.repo, b"", tip, wire.limits, wire.stop)
    for few in (Limits(objects=2), Limits(size=20)):
        with pytest.raises(RemoteFailed, match="more than"):
            unpack(wire.repo, pack, tip, few, wire.stop)
    assert wire.left() == []


def test_the_address_is_looked_at_again(wire: Wire) -> None:
    """An address that was edited in a file would start any program."""
    for talk in (lambda url: wire.take(url), lambda url: push(wire.repo, url, "x", wire.limits, wire.stop)):
        with pytest.raises(RemoteRefused):
            talk("ext::sh -c true")
