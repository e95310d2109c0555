"""How far a branch has moved, as the real git counts it, and that no repository can break the question."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gitsync.distance import MOST, commits_since
from tests.gitsync.tree import git_environment


class Project:
    """Somebody's project, worked on with the git program."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.home = home
        root.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=git_environment(self.home),
            input=stdin,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self, title: str) -> str:
        self.git("commit", "-q", "--allow-empty", "-m", title)
        return self.git("rev-parse", "HEAD")

    def since(self, commit: str, head: str | None = None) -> int | None:
        return commits_since(str(self.root), commit, head or self.git("rev-parse", "HEAD"))


@pytest.fixture
def project(tmp_path: Path, user_home: Path) -> Project:
    return Project(tmp_path / "app", user_home)


def test_commits_are_counted_as_git_counts_them(project: Project) -> None:
    """An agent would think that nothing happened, or that everything did."""
    first = project.commit("one")
    assert project.since(first) == 0
    second = project.commit("two")
    project.git("checkout", "-q", "-b", "side", first)
    project.commit("three")
    project.git("checkout", "-q", "main")
    project.git("merge", "-q", "--no-ff", "-m", "join", "side")
    assert project.since(first) == int(project.git("rev-list", "--count", f"{first}..")) == 3
    assert project.since(second) == 2


def test_a_branch_that_was_moved_back_has_nothing_new(project: Project) -> None:
    """Work that was thrown away would be told as progress."""
    first, second = project.commit("one"), project.commit("two")
    assert project.since(second, first) == 0


def test_after_a_rebase_what_the_old_commit_lacks_is_counted(project: Project) -> None:
    """The commit of the scene is no ancestor any more; the count must not be of the whole history."""
    base = project.commit("base")
    project.git("checkout", "-q", "-b", "feature")
    then = project.commit("work")
    project.git("checkout", "-q", "main")
    project.commit("upstream")
    project.git("rebase", "-q", "main", "feature")
    assert project.since(then) == int(project.git("rev-list", "--count", f"{then}..")) > 0
    assert project.since(base) == 2


def test_a_commit_that_is_gone_cannot_be_counted_from(project: Project) -> None:
    """A scene from another machine, whose commit was rebased away there, would keep `resume` from answering."""
    project.commit("one")
    then = project.commit("two")
    project.git("reset", "-q", "--hard", "HEAD~")
    project.commit("instead")
    project.git("reflog", "expire", "--expire=now", "--all")
    project.git("gc", "-q", "--prune=now")
    assert project.since(then) is None


def test_a_shallow_clone_is_counted_as_far_as_it_goes(project: Project, tmp_path: Path) -> None:
    """On a machine that builds, the clone ends after a few commits; that is no reason for an error."""
    first = project.commit("one")
    for title in ("two", "three", "four"):
        project.commit(title)
    third = project.git("rev-parse", "HEAD~")
    clone = tmp_path / "clone"
    project.git("clone", "-q", "--depth", "2", project.root.as_uri(), str(clone))
    head = project.git("rev-parse", "HEAD")
    assert commits_since(str(clone), third, head) == 1
    assert commits_since(str(clone), first, head) is None


def test_a_worktree_is_counted_in_its_main_repository(project: Project, tmp_path: Path) -> None:
    """A scene saved in a worktree would tell nothing of what happened there."""
    first = project.commit("one")
    worktree = tmp_path / "feature"
    project.git("worktree", "add", "-q", "-b", "feature", str(worktree))
    project.git("-C", str(worktree), "commit", "-q", "--allow-empty", "-m", "two")
    head = project.git("-C", str(worktree), "rev-parse", "HEAD")
    assert project.since(first, head) == commits_since(str(worktree), first, head) == 1


def test_an_unborn_branch_has_no_commits_to_count(project: Project) -> None:
    """The first handoff of a new project would be the one that can't be resumed."""
    assert commits_since(str(project.root), "0" * 40, "1" * 40) is None


def test_counting_ends_somewhere(project: Project) -> None:
    """After a year `resume` would walk through all of a large history."""
    stream = "".join(
        f"commit refs/heads/main\ncommitter A <a@b> {1_700_000_000 + number} +0000\ndata 1\nx\n"
        for number in range(MOST + 5)
    )
    first = project.commit("one")
    project.git("fast-import", "--quiet", "--force", stdin=stream)
    assert project.since(first) == MOST


@pytest.mark.parametrize("commit", ["", "main", "HEAD", "zzzz", "1" * 39, "1" * 41, "-" * 40, "\u202e" * 40])
def test_a_head_that_is_no_commit_cannot_be_counted_from(project: Project, commit: str) -> None:
    """What somebody typed into a scene's header would bring an error, or be looked up as a name."""
    project.commit("one")
    assert project.since(commit) is None


@pytest.mark.parametrize("kind", ["absent", "empty", "file", "spoilt", "newer format"])
def test_what_is_no_repository_has_no_commits(tmp_path: Path, project: Project, kind: str) -> None:
    """A folder that changed under an agent would bring an error of ours."""
    first = project.commit("one")
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("x")
    elif kind == "empty":
        place.mkdir()
    elif kind != "absent":
        os.rename(project.root, place)
        if kind == "spoilt":
            spoilt = place / ".git" / "objects" / first[:2] / first[2:]
            spoilt.chmod(0o600)
            spoilt.write_bytes(b"not an object")
        else:
            (place / ".git" / "config").write_text(
                "[core]\nrepositoryformatversion = 1\n[extensions]\nunknown = 1\n"
            )
    assert commits_since(str(place), first, first) is None
