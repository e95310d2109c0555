"""What git's configuration says about a project's origin, whoever wrote it and however."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gitsync.origin
from gitsync.identity import Checkout, checkout

ONE_REPOSITORY = "github.com/octo/hello-world"


@pytest.fixture
def home(tmp_path: Path) -> str:
    folder = tmp_path / "home"
    folder.mkdir()
    return str(folder)


def found(folder: Path | str, home: str | None) -> Checkout:
    result = checkout(str(folder), home)
    assert result is not None
    return result


def bare_bones(folder: Path, config: bytes) -> Path:
    """As much of a repository as it takes to be one, with this configuration."""
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_bytes(config)
    return folder


@pytest.mark.parametrize(
    ("config", "remote"),
    [
        (b'[remote "origin"]\n\turl = https://git.example/a.git\n', "git.example/a"),
        (b'[remote "origin"] url = https://git.example/a.git', "git.example/a"),
        (b"[REMOTE.origin]\nURL=https://git.example/a.git\n", "git.example/a"),
        (b'\xef\xbb\xbf[remote "origin"]\r\nurl = "https://git.example/a#b"\r\n', "git.example/a"),
        (b'[remote "origin"]\nurl = https://git.exa\\\nmple/a.git ; mirror\n', "git.example/a"),
        (b'[remote "origin"]\nurl = https://git.example/a\nurl = https://git.example/b\n', "git.example/a"),
        (
            b'[remote "origin"]\nurl = https://git.example/a\nurl =\nurl = https://b.example/b\n',
            "b.example/b",
        ),
        (b'[remote "origin"]\nfetch = x\n[remote "origin"]\nurl = git@git.example:a\n', "git.example/a"),
        (b'[remote "origin"]\nurl = https://git.example/caf\xe9.git\n', "git.example/caf\ufffd"),
        (b'[remote "Origin"]\nurl = https://git.example/a\n', None),
        (b'[remote "upstream"]\nurl = https://git.example/a\n', None),
        (b'[remote "origin"]\nurl\n', None),
        (b'[remote "origin"]\nurl =\n', None),
        (b'[remote "origin"]\npushurl = https://git.example/a\n', None),
        (b'[remote "origin"]\nurl = ../elsewhere.git\n', None),
        (b'[remote "origin"\nurl = https://git.example/a\n', None),
        (b"url = https://git.example/a\n", None),
        (b'[remote "origin"]\nurl = "https://git.example/a\n', None),
        (b"\xff\xfe[\0r\0e\0", None),
        (b"\0" * 100, None),
        (b'[remote "origin"]\nurl = https://git.example/a\n#' + b"x" * (2 << 20), None),
        (b"", None),
    ],
)
def test_configuration_says_the_origin_or_nothing(
    tmp_path: Path, home: str, config: bytes, remote: str | None
) -> None:
    """If what git takes were misread, memory would be split; if what it refuses raised, unreachable."""
    assert found(bare_bones(tmp_path / "app", config), home).remote == remote


@given(
    st.lists(
        st.sampled_from(
            [
                b"[",
                b"]",
                b'"',
                b"\\",
                b"\n",
                b"\r\n",
                b"=",
                b"#",
                b" ",
                b".",
                b"\0",
                b"\xff",
                b"remote",
                b"origin",
            ]
            + [b"url", b"include", b"path", b'[remote "origin"]\n', b'[url "x"]\ninsteadOf=', b"a:b", b"\\\n"]
        ),
        max_size=40,
    ).map(b"".join)
)
def test_no_configuration_raises(tmp_path_factory: pytest.TempPathFactory, config: bytes) -> None:
    """If one did, a single damaged file would make every request from that checkout fail."""
    folder = tmp_path_factory.mktemp("fuzz")
    found(bare_bones(folder, config), str(folder / "home"))


def test_a_folder_a_pipe_or_nothing_in_place_of_the_config(tmp_path: Path, home: str) -> None:
    """If these raised or hung, a damaged repository would take the daemon with it."""
    main = bare_bones(tmp_path / "app", b"")
    config = main / ".git" / "config"
    config.unlink()
    assert found(main, home).remote is None
    config.mkdir()
    assert found(main, home).remote is None
    config.rmdir()
    os.mkfifo(config)
    assert found(main, home).remote is None
    config.unlink()
    config.symlink_to("/dev/zero")
    assert found(main, home).remote is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_config_without_permission_counts_as_absent(tmp_path: Path, home: str) -> None:
    """If it raised, a repository of another user would make requests from it fail."""
    main = bare_bones(tmp_path / "app", b'[remote "origin"]\nurl = https://git.example/a\n')
    (main / ".git" / "config").chmod(0)
    assert found(main, home).remote is None


def test_includes_are_followed_and_noticed_when_they_change(tmp_path: Path, home: str) -> None:
    """If a file that was included weren't watched, a new origin there would show only after a restart."""
    main = bare_bones(tmp_path / "app", b"[include]\npath = ../team.ini\n")
    assert found(main, home).remote is None
    team = main / "team.ini"
    team.write_text('[remote "origin"]\nurl = https://git.example/a\n')
    assert found(main, home).remote == "git.example/a"
    team.write_text('[remote "origin"]\nurl = https://git.example/bb\n')
    assert found(main, home).remote == "git.example/bb"
    team.unlink()
    assert found(main, home).remote is None


def test_circles_of_includes_end_after_a_bounded_number_of_files(tmp_path: Path, home: str) -> None:
    """If they didn't, a repository that somebody sent could keep the daemon busy for hours."""
    every = b"".join(b"[include]\npath = inc%d\n" % number for number in range(200))
    main = bare_bones(tmp_path / "app", b"[include]\npath = config\npath = /dev/zero\n" + every)
    for number in range(200):
        (main / ".git" / f"inc{number}").write_bytes(every)
    (main / ".git" / "inc3").write_bytes(b'[remote "origin"]\nurl = https://git.example/a\n')
    assert found(main, home).remote == "git.example/a"
    assert len(gitsync.origin.origin_of(str(main / ".git"), home).files) == 64


def test_all_configuration_of_a_project_together_is_limited(tmp_path: Path, home: str) -> None:
    """If each file had its own limit, sixty of them would cost a minute."""
    parts = b"".join(b"[include]\npath = inc%d\n" % number for number in range(4))
    main = bare_bones(tmp_path / "app", parts)
    for number in range(3):
        (main / ".git" / f"inc{number}").write_bytes(b"#" + b"x" * 400_000)
    (main / ".git" / "inc3").write_bytes(b'[remote "origin"]\nurl = https://git.example/a\n')
    assert found(main, home).remote == "git.example/a"
    (main / ".git" / "inc2").write_bytes(
        b'[remote "origin"]\nurl = https://git.example/b\n#' + b"x" * 400_000
    )
    assert found(main, home).remote == "git.example/a"


@pytest.mark.parametrize(
    ("origin", "rules", "remote"),
    [
        ("gh:octo/hello-world", '[url "https://github.com/"]\ninsteadOf = gh:\n', ONE_REPOSITORY),
        ("gh:octo/hello-world", '[url "git@github.com:"]\nINSTEADOF = "gh:"\n', ONE_REPOSITORY),
        ("gh://octo/hello-world", '[url "https://github.com/"]\ninsteadOf = gh://\n', ONE_REPOSITORY),
        ("/mirror/octo/hello-world", '[url "https://github.com"]\ninsteadOf = /mirror\n', ONE_REPOSITORY),
        ("gh:octo/x", '[url "https://a.example/"]\ninsteadOf = gh:\n', "a.example/octo/x"),
        (
            "gh:octo/x",
            '[url "https://a.example/"]\ninsteadOf = gh:\n[url "https://b.example/"]\ninsteadOf = gh:octo/\n',
            "b.example/x",
        ),
        ("gh:octo/x", '[url "/srv/mirror/"]\ninsteadOf = gh:\n', "gh/octo/x"),
        ("gh:octo/x", '[url "https://a.example/"]\npushInsteadOf = gh:\n', "gh/octo/x"),
        ("gh:octo/x", '[url "https://a.example/"]\ninsteadOf =\n', "gh/octo/x"),
        ("/srv/x", '[url "https://a.example/"]\ninsteadOf = gh:\n', None),
        # A network URL is a name; where a rule sends this machine doesn't change it.
        (
            "https://github.com/octo/hello-world",
            '[url "https://m.example/"]\ninsteadOf = https://github.com/\n',
            None,
        ),
        (
            "git@github.com:octo/hello-world",
            '[url "https://m.example/"]\ninsteadOf = git@github.com:\n',
            None,
        ),
        ("github.com:octo/hello-world", '[url "https://m.example/"]\ninsteadOf = "github.com:"\n', None),
        ("git@gh:octo/x", '[url "https://m.example/"]\ninsteadOf = "git@gh:"\n', "gh/octo/x"),
        # The user's configuration may name rules, but no project's origin.
        ("", '[remote "origin"]\nurl = https://git.example/a\n', None),
    ],
)
@pytest.mark.parametrize("place", [".gitconfig", ".config/git/config", ".git/config"])
def test_insteadof_rules_complete_what_is_no_network_url(
    tmp_path: Path, home: str, place: str, origin: str, rules: str, remote: str | None
) -> None:
    """If they were ignored, `gh:` clones would be another project; if obeyed always, mirrors would be one."""
    if remote is None and "github.com" in origin:
        remote = ONE_REPOSITORY
    own = f'[remote "origin"]\nurl = {origin}\n' if origin else ""
    if place == ".git/config":
        if not origin:
            pytest.skip("there the origin is the repository's own")
        own, rules = own + rules, ""
    main = bare_bones(tmp_path / "app", own.encode())
    (Path(home) / place).parent.mkdir(parents=True, exist_ok=True)
    (Path(home) / place).write_text(rules)
    assert found(main, home).remote == remote


def test_a_new_rule_is_noticed(tmp_path: Path, home: str) -> None:
    """If it weren't, a shorthand would name the wrong project until the daemon restarts."""
    main = bare_bones(tmp_path / "app", b'[remote "origin"]\nurl = gh:octo/x\n')
    assert found(main, home).remote == "gh/octo/x"
    (Path(home) / ".gitconfig").write_text('[url "https://a.example/"]\ninsteadOf = gh:\n')
    assert found(main, home).remote == "a.example/octo/x"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("gitdir:~/work/", True),
        ("gitdir:~/play/", False),
        ("gitdir:work/", True),
        ("gitdir:ork/", False),
        ("gitdir:**/work/**", True),
        ("gitdir:/", True),
        ("gitdir:~/WORK/", False),
        ("gitdir/i:~/WORK/", True),
        ("onbranch:main", False),
        ("hasconfig:remote.*.url:**", False),
        ("nonsense", False),
        ("gitdir:" + "**a" * 200, False),
    ],
)
def test_conditional_rules_go_by_the_place_of_the_repository(home: str, condition: str, holds: bool) -> None:
    """If such rules were lost, a shorthand would name nothing; if branches counted, ids would change."""
    main = bare_bones(Path(home) / "work" / "app", b'[remote "origin"]\nurl = w:x\n')
    (Path(home) / ".gitconfig").write_text(f'[includeIf "{condition}"]\npath = ~/work.ini\n')
    (Path(home) / "work.ini").write_text('[url "https://work.example/"]\ninsteadOf = w:\n')
    assert found(main, home).remote == ("work.example/x" if holds else None)


def test_a_repeated_question_reads_no_configuration(
    tmp_path: Path, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it did, every memory call would pay for parsing; if never again, a new origin would go unseen."""
    main = bare_bones(tmp_path / "app", b'[remote "origin"]\nurl = https://git.example/a.git\n')
    read: list[str] = []
    original = gitsync.origin.read_plain
    monkeypatch.setattr(
        gitsync.origin, "read_plain", lambda path, limit: read.append(path) or original(path, limit)
    )
    for _ in range(5):
        assert found(main, home).remote == "git.example/a"
    assert len(read) == 1
    renamed = main / ".git" / "config.lock"
    renamed.write_bytes(b'[remote "origin"]\nurl = https://git.example/b.git\n')
    renamed.rename(main / ".git" / "config")
    assert found(main, home).remote == "git.example/b"


def test_what_is_remembered_is_bounded(tmp_path: Path, home: str) -> None:
    """If it weren't, a daemon that runs for months would grow with every folder it was ever asked about."""
    main = bare_bones(tmp_path / "app", b"")
    for number in range(600):
        gitsync.origin.origin_of(str(main / ".git"), f"{home}/{number}")
    assert len(gitsync.origin._origins) <= 256
