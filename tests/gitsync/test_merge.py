"""Two histories into one: the same tree whoever merges, nothing lost, and only what differs is looked at."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from unicodedata import normalize

import pygit2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitsync.merge import Merge, PathsCollide, Resolved, merge_commits, merge_trees
from gitsync.objects import EMPTY_TREE, Objects

Files = Mapping[str, bytes]

NAMES = ["a.md", "b.md", "x/a.md", "x/y/a.md", "x/y/b.md"]
ALIKE = [*NAMES, "A.md", "X/a.md", "é.md", normalize("NFD", "é.md"), "x/É.md"]
TEXTS = st.sampled_from([b"1", b"2", b"3", b"4"])


def sides(names: list[str]) -> st.SearchStrategy[dict[str, bytes]]:
    return st.dictionaries(st.sampled_from(names), TEXTS, max_size=6)


def rename(path: str, data: bytes) -> str:
    stem, _, ending = path.rpartition(".")
    return f"{stem}.copy-{hashlib.sha256(path.encode() + data).hexdigest()[:8]}.{ending}"


def driver(path: str, base: bytes | None, one: bytes | None, other: bytes | None) -> Resolved:
    """Keep an edit against a removal, and of two edits the larger, with the other beside it."""
    if one is None or other is None:
        return Resolved(one if other is None else other, kept=True)
    winner, loser = max(one, other), min(one, other)
    return Resolved(winner, (rename(path, loser), loser))


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> pygit2.Repository:
    return pygit2.init_repository(str(tmp_path_factory.mktemp("merge")), bare=True)


class Side:
    """Trees and commits that are never written."""

    def __init__(self, git: pygit2.Repository) -> None:
        self.objects = Objects(git)

    def tree(self, files: Files) -> str:
        return self.objects.add_tree(
            None, {path: self.objects.add_blob(data) for path, data in files.items()}
        )

    def commit(self, files: Files, *parents: str) -> str:
        who = b"A <a@b> %d +0000" % (len(self.objects.fresh))
        return self.objects.add_commit(self.tree(files), parents, who, who, b"x\n")

    def files(self, tree: str) -> dict[str, bytes]:
        return {path: self.objects.read(oid) for path, _, oid in self.objects.files(tree)}

    def merged(self, base: Files, one: Files, other: Files) -> tuple[dict[str, bytes], Merge]:
        """Merge three sets of files; see that both orders give the same."""
        trees = self.tree(base), self.tree(one), self.tree(other)
        here = merge_trees(self.objects, *trees, driver, rename)
        there = merge_trees(self.objects, trees[0], trees[2], trees[1], driver, rename)
        tree = self.objects.add_tree(trees[1], here.edits)
        assert tree == self.objects.add_tree(trees[2], there.edits)
        assert here.kept == there.kept
        return self.files(tree), here

    def met(self, one: str | None, other: str, base: str | None = None) -> dict[str, bytes]:
        merge = merge_commits(self.objects, one, other, driver, rename, base)
        return self.files(self.objects.add_tree(self.objects.tree_of(one), merge.edits))


@pytest.fixture
def side(git: pygit2.Repository) -> Side:
    return Side(git)


def fold(path: str) -> str:
    return normalize("NFC", path).casefold()


@settings(max_examples=50)
@given(sides(NAMES), sides(NAMES), sides(NAMES))
def test_both_orders_give_the_same_and_nothing_is_lost(
    git: pygit2.Repository, base: Files, one: Files, other: Files
) -> None:
    """Two machines would disagree for ever, or one of two texts would vanish without a word."""
    files, merge = Side(git).merged(base, one, other)
    for path in {*base, *one, *other}:
        old, mine, theirs = base.get(path), one.get(path), other.get(path)
        if mine == theirs or theirs == old:
            assert files.get(path) == mine
        elif mine == old:
            assert files.get(path) == theirs
        elif None in (mine, theirs):
            assert files[path] == (mine or theirs)
            assert path in merge.kept
        else:
            assert mine and theirs
            assert files[path] == max(mine, theirs)
            assert files[rename(path, min(mine, theirs))] == min(mine, theirs)
    assert set(merge.kept) <= set(files)


@settings(max_examples=50)
@given(sides(ALIKE), sides(ALIKE))
def test_no_two_files_are_one_where_capitals_and_accents_do_not_count(
    git: pygit2.Repository, one: Files, other: Files
) -> None:
    """On macOS or Windows one of two facts would silently take the place of the other."""
    alone = [
        {path: data for path, data in files.items() if path == _first(path, files)} for files in (one, other)
    ]
    files, _ = Side(git).merged({}, *alone)
    assert len({fold(path) for path in files}) == len(files)
    assert {*alone[0].values(), *alone[1].values()} <= set(files.values())


def _first(path: str, files: Files) -> str:
    return min(other for other in files if fold(other) == fold(path))


def test_twins_keep_both_texts(side: Side) -> None:
    """A fact that another machine wrote under the same name in capitals would be gone."""
    files, _ = side.merged({}, {"k/Make.md": b"one"}, {"k/make.md": b"other"})
    assert files == {"k/Make.md": b"one", rename("k/make.md", b"other"): b"other"}
    composed, decomposed = "k/é.md", normalize("NFD", "k/é.md")
    files, _ = side.merged({}, {composed: b"one"}, {decomposed: b"other"})
    assert files == {composed: b"one", rename(decomposed, b"other"): b"other"}


def test_twins_in_folders_of_another_case_are_told_apart_too(side: Side) -> None:
    """Where `Build/` is `build/`, a checkout would write one of two facts over the other."""
    files, _ = side.merged({}, {"Build/a.md": b"one", "Build/b.md": b"b"}, {"build/a.md": b"other"})
    assert files == {"Build/a.md": b"one", "Build/b.md": b"b", rename("build/a.md", b"other"): b"other"}


def test_a_name_that_only_changes_its_capitals_is_no_twin(side: Side) -> None:
    """Renaming `make.md` to `Make.md` would leave a copy of it on every other machine."""
    files, _ = side.merged({"make.md": b"x"}, {"make.md": b"x"}, {"Make.md": b"x"})
    assert files == {"Make.md": b"x"}


def test_one_side_alone_is_taken_as_it_is(side: Side) -> None:
    """A fast-forward would write files that nobody touched, or bring back what was forgotten."""
    base = {"a.md": b"a", "b.md": b"b", "x/c.md": b"c"}
    files, merge = side.merged(base, base, {"a.md": b"new", "x/d.md": b"d"})
    assert files == {"a.md": b"new", "x/d.md": b"d"}
    assert list(merge.edits) == ["a.md", "b.md", "x/c.md", "x/d.md"]
    assert side.merged(base, {"a.md": b"new"}, base)[1].edits == {}


def test_both_did_the_same(side: Side) -> None:
    """What two machines have in common already would become a conflict."""
    base = {"a.md": b"a", "b.md": b"b"}
    files, merge = side.merged(base, {"a.md": b"new", "c.md": b"c"}, {"a.md": b"new", "c.md": b"c"})
    assert files == {"a.md": b"new", "c.md": b"c"}
    assert (merge.edits, merge.kept) == ({}, [])


def test_a_copy_that_somebody_has_gone_on_with_is_left_alone(side: Side) -> None:
    """A second version that a person had begun to correct would be set back by the next merge."""
    base, one, other = {"a.md": b"0"}, {"a.md": b"1"}, {"a.md": b"2"}
    place = rename("a.md", b"1")
    files, _ = side.merged(base, {**one, place: b"corrected"}, other)
    assert files.pop("a.md") == b"2"
    assert files.pop(place) == b"corrected"
    assert list(files.values()) == [b"1"]


@pytest.mark.parametrize(
    ("base", "one", "other"),
    [
        ({}, {"a.md": b"1"}, {"a.md/b.md": b"2"}),
        ({}, {"a.md": b"1"}, {"a.md/x/b.md": b"2"}),
        ({"a.md/b.md": b"0"}, {"a.md": b"1"}, {"a.md/b.md": b"2"}),
    ],
)
def test_a_file_against_a_folder_is_refused_from_either_side(
    side: Side, base: Files, one: Files, other: Files
) -> None:
    """One of the two would be thrown away, together with everything in it."""
    trees = side.tree(base), side.tree(one), side.tree(other)
    for first, second in (trees[1:], trees[:0:-1]):
        with pytest.raises(PathsCollide, match=r"^a\.md is a file on one side and a folder on the other"):
            merge_trees(side.objects, trees[0], first, second, driver, rename)


def test_a_file_may_follow_on_a_folder(side: Side) -> None:
    """A folder that one side replaced by a file would stop sync although the other has nothing in it."""
    assert side.merged({"a/b": b"0"}, {"a/b": b"0"}, {"a": b"1"})[0] == {"a": b"1"}
    assert side.merged({"a": b"0"}, {"a": b"0"}, {"a/b": b"1"})[0] == {"a/b": b"1"}


def test_two_histories_that_took_each_other_in(side: Side) -> None:
    """With one of two common versions taken for the only one, an edit of the other would count as a conflict."""
    root = side.commit({"a.md": b"1", "b.md": b"1"})
    one = side.commit({"a.md": b"2", "b.md": b"1"}, root)
    other = side.commit({"a.md": b"1", "b.md": b"2"}, root)
    both = {"a.md": b"2", "b.md": b"2"}
    here, there = side.commit(both, one, other), side.commit(both, other, one)
    left = side.commit({"a.md": b"3", "b.md": b"2"}, here)
    right = side.commit({"a.md": b"2", "b.md": b"3"}, there)
    assert side.met(left, right) == side.met(right, left) == {"a.md": b"3", "b.md": b"3"}


def test_a_very_long_braid_of_merges_ends(side: Side) -> None:
    """A history in which two machines always took each other in would never be merged, or exhaust the stack."""
    one = other = third = side.commit({"a.md": b"0"})
    for number in range(120):
        files = {f"{name}.md": b"%d" % number for name in "abc"}
        one, other, third = (
            side.commit({**files, "d.md": name}, *parents)
            for name, parents in (
                (b"1", (one, other, third)),
                (b"2", (other, one, third)),
                (b"3", (third, one, other)),
            )
        )
    files = side.met(one, other)
    assert files == side.met(other, one)
    assert {files[f"{name}.md"] for name in "abc"} == {b"119"}


def test_strangers_and_the_first_commit(side: Side) -> None:
    """Joining a remote for the first time would drop what either side has."""
    one, other = side.commit({"a.md": b"1"}), side.commit({"b.md": b"2"})
    assert side.met(one, other) == side.met(other, one) == {"a.md": b"1", "b.md": b"2"}
    assert side.met(None, other) == {"b.md": b"2"}


def test_merged_over_a_commit_that_this_side_went_back_behind(side: Side) -> None:
    """What a person took back on purpose would come in again with the next sync."""
    base = side.commit({"a.md": b"1"})
    wrong = side.commit({"a.md": b"2", "b.md": b"2"}, base)
    assert side.met(base, wrong, base=wrong) == {"a.md": b"1"}
    further = side.commit({"a.md": b"2", "b.md": b"2", "c.md": b"3"}, wrong)
    assert side.met(base, further, base=wrong) == {"a.md": b"1", "c.md": b"3"}


def test_what_is_equal_is_not_opened(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taking in one fact would take as long as reading the whole memory."""
    files = {f"f{number % 50}/{number}.md": b"%d" % number for number in range(10_000)}
    base = side.tree(files)
    one, other = (
        side.objects.add_tree(base, {path: side.objects.add_blob(b"new")})
        for path in ("f1/new.md", "f2/2.md")
    )
    read: list[str] = []
    side.objects._folders.clear()
    inner = side.objects.read
    monkeypatch.setattr(side.objects, "read", lambda oid: (read.append(oid), inner(oid))[1])
    merge = merge_trees(side.objects, base, one, other, driver, rename)
    assert list(merge.edits) == ["f2/2.md"]
    assert len(read) == 7, "three roots, and two versions of each folder that somebody changed"


def test_many_new_files_in_many_folders(side: Side) -> None:
    """The first sync of a large memory would hold up every write for minutes."""
    looked = 0

    def counted(path: str, data: bytes) -> str:
        nonlocal looked
        looked += 1
        return rename(path, data)

    files = {f"p{number}/{number}.md": b"x" for number in range(3000)}
    other = side.tree(files)
    merge = merge_trees(side.objects, EMPTY_TREE, side.tree({"P7/7.MD": b"y"}), other, driver, counted)
    assert len(merge.edits) == 3000
    assert looked == 1


def test_a_repository_of_its_own(tmp_path: Path) -> None:
    """Merging would need a work tree, or write into the repository before anybody agreed."""
    git = pygit2.init_repository(str(tmp_path / "r"), bare=True)
    side = Side(git)
    assert side.met(side.commit({"a.md": b"1"}), side.commit({"a.md": b"2"}))
    assert list(git.odb) == []
