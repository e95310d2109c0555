"""Which project and branch a folder belongs to, and that no checkout can break the question."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gitsync.identity import Checkout, checkout, project_key


@pytest.fixture
def home(tmp_path: Path) -> str:
    folder = tmp_path / "home"
    folder.mkdir()
    return str(folder)


class Git:
    """The git program, away from the settings of whoever runs the tests."""

    def __init__(self, home: str) -> None:
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_EDITOR": "true",
            **{f"GIT_{who}_NAME": "Ann" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "ann@example.com" for who in ("AUTHOR", "COMMITTER")},
        }

    def __call__(self, folder: Path, *arguments: str, fails: bool = False) -> str:
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        assert (done.returncode != 0) is fails, done.stderr
        return done.stdout.strip()

    def repository(self, folder: Path, url: str | None = None, commits: int = 1) -> Path:
        folder.mkdir(parents=True)
        self(folder, "init", "-q", "-b", "main")
        for number in range(commits):
            (folder / "file").write_text(f"{number}\n")
            self(folder, "add", "file")
            self(folder, "commit", "-qm", str(number))
        if url is not None:
            self(folder, "remote", "add", "origin", url)
        return folder


@pytest.fixture
def git(home: str) -> Git:
    return Git(home)


def found(folder: Path | str, home: str | None) -> Checkout:
    result = checkout(str(folder), home)
    assert result is not None
    return result


def bare_bones(folder: Path, config: bytes) -> Path:
    """As much of a repository as it takes to be one, unborn."""
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_bytes(config)
    return folder


# Folders
@pytest.mark.report("B67")
def test_worktrees_subfolders_and_links_share_the_project(tmp_path: Path, git: Git, home: str) -> None:
    """If any had another identity, what was learned in one checkout would be missing in the next."""
    main = git.repository(tmp_path / "work" / "app")
    (main / "src" / "deep").mkdir(parents=True)
    git(main, "worktree", "add", "-q", "-b", "feature/login", "../app-login")
    (tmp_path / "link").symlink_to(main)
    (tmp_path / "link-to-sub").symlink_to(main / "src")
    linked = tmp_path / "work" / "app-login"
    (linked / "src").mkdir()
    tip = git(main, "rev-parse", "HEAD")
    for folder in ("work/app", "work/app/src/deep", "link/src", "link-to-sub/deep", "work/app/.git/refs"):
        assert found(tmp_path / folder, home) == Checkout(str(main), str(main), "main", tip, None)
    git(linked, "commit", "-q", "--allow-empty", "-m", "more")
    newer = git(linked, "rev-parse", "HEAD")
    for folder in ("work/app-login", "work/app-login/src"):
        there = found(tmp_path / folder, home)
        assert there == Checkout(str(main), str(linked), "feature/login", newer, None)
        assert project_key(there) == str(main)


def test_worktrees_read_the_main_repositorys_origin(tmp_path: Path, git: Git, home: str) -> None:
    """If a worktree looked for its own configuration, it would fall back to a path."""
    main = git.repository(tmp_path / "app", "git@git.example:Team/App.git")
    git(main, "worktree", "add", "-q", "--detach", "../elsewhere")
    there = found(tmp_path / "elsewhere", home)
    assert there.remote == "git.example/team/app"
    assert there.branch == f"detached-{git(main, 'rev-parse', 'HEAD')[:12]}"


def test_a_relative_gitdir_counts_from_the_file_that_names_it(
    tmp_path: Path, git: Git, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it counted from the daemon's folder, worktrees made with relative paths would be strangers."""
    main = git.repository(tmp_path / "app")
    git(main, "worktree", "add", "-q", "-b", "side", "../side")
    (tmp_path / "side" / ".git").write_text("gitdir: ../app/.git/worktrees/side\n")
    monkeypatch.chdir("/")
    assert found(tmp_path / "side", home).root == str(main)
    assert found(tmp_path / "side", home).branch == "side"


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path, git: Git, home: str) -> None:
    """If it weren't, notes about a library would land in whatever embeds it."""
    library = git.repository(tmp_path / "library")
    outer = git.repository(tmp_path / "outer", "https://github.com/octo/outer.git")
    git(outer, "submodule", "--quiet", "add", str(library), "lib")
    inner = found(outer / "lib", home)
    assert (inner.root, inner.worktree) == (str(outer / "lib"), str(outer / "lib"))
    assert (inner.branch, inner.remote) == ("main", None)
    git(outer / "lib", "remote", "set-url", "origin", "https://github.com/octo/library.git")
    assert found(outer / "lib", home).remote == "github.com/octo/library"
    assert found(outer, home).remote == "github.com/octo/outer"
    git(outer / "lib", "worktree", "add", "-q", "-b", "fix", str(tmp_path / "lib-fix"))
    beside = found(tmp_path / "lib-fix", home)
    assert (beside.root, beside.branch) == (str(outer / "lib"), "fix")
    assert beside.remote == "github.com/octo/library"


@pytest.mark.parametrize("name", ["app.git", "app/.bare"])
def test_worktrees_of_a_bare_repository_share_one_project(
    tmp_path: Path, git: Git, home: str, name: str
) -> None:
    """If each were its own project, those who work without a main checkout would have no memory to share."""
    git.repository(tmp_path / "seed")
    git(tmp_path, "clone", "-q", "--bare", "seed", name)
    bare = tmp_path / name
    git(bare, "remote", "remove", "origin")
    for branch in ("one", "two"):
        git(bare, "worktree", "add", "-q", "-b", branch, str(tmp_path / "trees" / branch))
    root = str(bare if name == "app.git" else bare.parent)
    seen = [found(tmp_path / "trees" / branch, home) for branch in ("one", "two")]
    assert [(each.root, each.branch) for each in seen] == [(root, "one"), (root, "two")]
    if name == "app/.bare":
        (bare.parent / ".git").write_text("gitdir: ./.bare\n")
        assert found(bare.parent, home).root == root


def test_a_bare_repository_itself_is_no_project(tmp_path: Path, git: Git, home: str) -> None:
    """If it were, a folder without a work tree would get notes that no checkout sees."""
    git(tmp_path, "init", "-q", "--bare", "alone.git")
    assert checkout(str(tmp_path / "alone.git"), home) is None


def test_a_separate_git_folder_leaves_the_project_where_its_files_are(
    tmp_path: Path, git: Git, home: str
) -> None:
    """If the git folder's place counted, the project would seem to live where nobody works."""
    git(tmp_path, "init", "-q", "--separate-git-dir", "app.git", "app")
    assert found(tmp_path / "app", home).root == str(tmp_path / "app")


def test_a_folder_that_was_removed_still_belongs_to_its_project(tmp_path: Path, git: Git, home: str) -> None:
    """If it didn't, switching branches under a running agent would cut it off from memory."""
    main = git.repository(tmp_path / "app")
    assert found(main / "gone" / "since", home).root == str(main)
    assert checkout(str(tmp_path / "nothing" / "here"), home) is None


@pytest.mark.report("B69")
def test_home_and_the_top_are_no_projects(tmp_path: Path, git: Git, home: str) -> None:
    """If they were, everything done anywhere would be filed under one project."""
    dotfiles = Path(home)
    (dotfiles / "documents").mkdir()
    git(dotfiles, "init", "-q")
    (tmp_path / "home-link").symlink_to(dotfiles)
    for folder in (home, f"{home}/documents", f"{tmp_path}/home-link", "/", str(tmp_path)):
        assert checkout(folder, home) is None
    assert checkout(home, str(tmp_path / "home-link")) is None
    project = git.repository(dotfiles / "app")
    assert found(project, home).root == str(project)
    git(dotfiles, "commit", "-q", "--allow-empty", "-m", "x")
    git(dotfiles, "worktree", "add", "-q", "--detach", str(tmp_path / "dotfiles-wip"))
    assert checkout(str(tmp_path / "dotfiles-wip"), home) is None


@pytest.mark.parametrize(
    "cwd", ["", ".", "relative/folder", "/nul\0byte", "/" + "x" * 5000, "~", "/dev/null"]
)
def test_what_is_no_absolute_folder_is_no_project(cwd: str, home: str) -> None:
    """If it were resolved, the daemon's own folder would decide, or a bad request would fail loudly."""
    assert checkout(cwd, home) is None


def test_a_home_that_is_missing_or_unknown_does_no_harm(tmp_path: Path, git: Git) -> None:
    """If it did, service accounts and containers would have no projects."""
    main = git.repository(tmp_path / "app", "gh:octo/hello-world")
    for home in (None, str(tmp_path / "missing"), "nul\0byte"):
        assert found(main, home).remote == "gh/octo/hello-world"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"gitdir:",
        b"gitdir: /nowhere/at/all\n",
        b"gitdir: a\0b\n",
        b"gitdir: \xff\n",
        b"\xff" * 9000,
    ],
)
def test_a_git_file_that_leads_nowhere_never_fails(tmp_path: Path, home: str, content: bytes) -> None:
    """If it did, a moved repository would make every request from its old worktrees fail."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / ".git").write_bytes(content)
    seen = checkout(str(tmp_path / "app"), home)
    assert seen in (None, Checkout(str(tmp_path / "app"), str(tmp_path / "app"), None, None, None))
    assert (seen is not None) is (b"nowhere" in content or b"\xff\n" in content or content in CUT_OFF)


CUT_OFF = (b"gitdir:", b"gitdir: a\0b\n")


def test_empty_git_folders_and_pipes_are_looked_past(tmp_path: Path, git: Git, home: str) -> None:
    """If they counted, an empty mount would hide the project around it, and a pipe would hang the daemon."""
    main = git.repository(tmp_path / "app")
    (main / "mount" / ".git").mkdir(parents=True)
    (main / "pipe").mkdir()
    os.mkfifo(main / "pipe" / ".git")
    (main / "loop").mkdir()
    (main / "loop" / ".git").symlink_to(".git")
    for folder in ("mount", "pipe", "loop"):
        assert found(main / folder, home).root == str(main)


@pytest.mark.parametrize("content", [b"", b"\n", b"/nowhere\n", b"a\0b\n", b"\xff\n"])
def test_a_broken_link_to_the_main_repository_never_fails(
    tmp_path: Path, git: Git, home: str, content: bytes
) -> None:
    """If it did, one damaged file would stop all memory in that worktree."""
    main = git.repository(tmp_path / "app")
    git(main, "worktree", "add", "-q", "-b", "side", "../side")
    (main / ".git" / "worktrees" / "side" / "commondir").write_bytes(content)
    seen = found(tmp_path / "side", home)
    assert (seen.root, seen.branch) == (str(tmp_path / "side"), "side")


@pytest.mark.report("B70")
def test_neighbours_keep_apart(tmp_path: Path, git: Git, home: str) -> None:
    """If answers were mixed up between folders, one project's memory would show in another."""
    one = git.repository(tmp_path / "one", "https://git.example/one.git")
    two = git.repository(one / "two", "https://git.example/two.git")
    for _ in range(3):
        assert found(one, home).remote == "git.example/one"
        assert found(two, home).remote == "git.example/two"


# Branches


def test_the_branch_of_a_new_repository_is_known_before_its_first_commit(
    tmp_path: Path, git: Git, home: str
) -> None:
    """If it weren't, a handoff left in a fresh repository would have no branch to go to."""
    main = git.repository(tmp_path / "app", commits=0)
    git(main, "symbolic-ref", "HEAD", "refs/heads/feature/ünïcode/項目")
    seen = found(main, home)
    assert (seen.branch, seen.head) == ("feature/ünïcode/項目", None)


def test_a_detached_head_goes_by_its_commit(tmp_path: Path, git: Git, home: str) -> None:
    """If it had no name, handoffs from different commits would overwrite each other."""
    main = git.repository(tmp_path / "app", commits=2)
    git(main, "checkout", "-q", "HEAD~1")
    tip = git(main, "rev-parse", "HEAD")
    seen = found(main, home)
    assert (seen.branch, seen.head) == (f"detached-{tip[:12]}", tip)


@pytest.mark.parametrize("backend", ["--merge", "--apply"])
def test_a_rebase_keeps_the_name_of_its_branch(tmp_path: Path, git: Git, home: str, backend: str) -> None:
    """If it showed as detached, a handoff would be lost in the middle of a rebase, when it's needed most."""
    main = git.repository(tmp_path / "app")
    for branch in ("main", "topic/x"):
        git(main, "checkout", "-q", *(["-b", branch, "HEAD~1"] if branch != "main" else [branch]))
        (main / "file").write_text(f"{branch}\n")
        git(main, "commit", "-qam", branch)
    git(main, "rebase", "-q", backend, "main", fails=True)
    seen = found(main, home)
    assert seen.branch == "topic/x"
    assert seen.head == git(main, "rev-parse", "HEAD")
    git(main, "rebase", "--abort")
    assert found(main, home).branch == "topic/x"


def test_a_rebase_of_a_detached_head_stays_detached(tmp_path: Path, git: Git, home: str) -> None:
    """If git's own words for it were taken as a branch, handoffs would go to a branch that isn't there."""
    main = git.repository(tmp_path / "app")
    git(main, "checkout", "-q", "--detach")
    (main / ".git" / "rebase-merge").mkdir()
    (main / ".git" / "rebase-merge" / "head-name").write_text("detached HEAD\n")
    assert found(main, home).branch == f"detached-{git(main, 'rev-parse', 'HEAD')[:12]}"


def test_packed_and_symbolic_branches_have_their_commit(tmp_path: Path, git: Git, home: str) -> None:
    """If only loose branches were read, the commit would vanish after every `git gc`."""
    main = git.repository(tmp_path / "app", commits=2)
    git(main, "branch", "xmain", "HEAD~1")
    git(main, "tag", "-a", "-m", "t", "v1")
    git(main, "pack-refs", "--all")
    assert found(main, home).head == git(main, "rev-parse", "main")
    git(main, "checkout", "-q", "xmain")
    assert found(main, home).head == git(main, "rev-parse", "xmain")
    git(main, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git(main, "symbolic-ref", "HEAD", "refs/heads/alias")
    seen = found(main, home)
    assert (seen.branch, seen.head) == ("alias", git(main, "rev-parse", "main"))
    git(main, "checkout", "-q", "main")
    git(main, "commit", "-q", "--allow-empty", "-m", "newer than the packed one")
    assert found(main, home).head == git(main, "rev-parse", "HEAD")
    git(main, "pack-refs", "--all")
    assert found(main, home).head == git(main, "rev-parse", "HEAD")


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"ref:",
        b"ref: refs/heads/",
        b"ref: refs/heads/.invalid\n",
        b"ref: refs/heads/../../../../secret\n",
        b"ref: /etc/hostname\n",
        b"ref: refs/heads/a\x1b[31mb\n",
        b"ref: refs/heads/a\nref: refs/heads/b\n",
        b"\xff\xfe",
        b"1234",
        b"x" * 5000,
    ],
)
def test_a_head_that_makes_no_sense_gives_no_branch(tmp_path: Path, home: str, head: bytes) -> None:
    """If it were believed, a hostile checkout could put any text before an agent or have any file read."""
    main = bare_bones(tmp_path / "app", b"")
    (main / ".git" / "HEAD").write_bytes(head)
    assert found(main, home) == Checkout(str(main), str(main), None, None, None)


def test_branches_that_point_at_each_other_end(tmp_path: Path, home: str) -> None:
    """If a circle were followed, the daemon would hang in a damaged repository."""
    main = bare_bones(tmp_path / "app", b"")
    heads = main / ".git" / "refs" / "heads"
    heads.mkdir(parents=True)
    (heads / "main").write_text("ref: refs/heads/other\n")
    (heads / "other").write_text("ref: refs/heads/main\n")
    assert (found(main, home).branch, found(main, home).head) == ("main", None)


def test_a_branch_name_that_is_not_utf8_is_still_text(tmp_path: Path, home: str) -> None:
    """If it weren't, its handoff could be neither written nor shown."""
    main = bare_bones(tmp_path / "app", b"")
    (main / ".git" / "HEAD").write_bytes(b"ref: refs/heads/caf\xe9\n")
    assert found(main, home).branch == "caf\ufffd"
