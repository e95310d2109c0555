"""Over HTTP and ssh, with what the user has set up for their own git."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitsync.errors import RemoteFailed
from tests.acceptance.git_host import git_host, keep_password
from tests.gitsync.peers import Bare, Wire, nothing_runs


def test_a_host_with_a_password(wire: Wire, tmp_path: Path) -> None:
    """Nobody whose password is in a credential helper could sync."""
    keep_password(wire.tree.home)
    with git_host(tmp_path) as url:
        assert wire.take(url) is None
        assert wire.give(url)
        assert wire.take(url) == wire.repo.head()
        nothing_runs(str(tmp_path), url)


def test_settings_of_this_repository_alone_count_both_ways(wire: Wire, tmp_path: Path) -> None:
    """A remote with an account of its own could be pushed to, but not fetched from."""
    keep_password(wire.tree.home)
    (wire.tree.home / ".gitconfig").rename(tmp_path / "settings")
    wire.tree.git("config", "include.path", str(tmp_path / "settings"))
    with git_host(tmp_path) as url:
        assert wire.give(url)
        assert wire.take(url) == wire.repo.head()


@pytest.mark.report("B62")
def test_a_host_that_wants_a_password_nobody_has_given(
    any_wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sync would wait for somebody to type, for ever, or open a window."""
    asked = tmp_path / "asked"
    script = tmp_path / "ask"
    script.write_text(f"#!/bin/sh\necho \"$@\" >>'{asked}'\necho x\n")
    script.chmod(0o755)
    for name in ("GIT_ASKPASS", "SSH_ASKPASS"):
        monkeypatch.setenv(name, str(script))
    any_wire.tree.git("config", "--global", "core.askPass", str(script))
    with git_host(tmp_path) as url:
        for talk in (any_wire.take, any_wire.give):
            with pytest.raises(RemoteFailed) as failed:
                talk(url)
            assert failed.value.cause == "credentials"
        nothing_runs(str(tmp_path), url)
    assert not asked.exists()
    assert any_wire.left() == []


def test_a_host_that_is_not_there(any_wire: Wire, tmp_path: Path) -> None:
    """A laptop without a network would show a riddle."""
    with git_host(tmp_path) as url:
        pass
    with pytest.raises(RemoteFailed) as failed:
        any_wire.take(url)
    assert failed.value.cause == "unreachable"


def test_no_such_repository_on_the_host(wire: Wire, tmp_path: Path) -> None:
    """A mistyped address would look like a fault of Coffer's."""
    keep_password(wire.tree.home)
    with git_host(tmp_path) as url, pytest.raises(RemoteFailed) as failed:
        wire.take(url.replace("memory", "memroy"))
    assert failed.value.cause == "missing"


@pytest.fixture
def ssh(tmp_path: Path) -> Path:
    """A program named ssh that notes what it is told, and runs on this machine what it should on the other."""
    place = tmp_path / "bin" / "ssh"
    place.parent.mkdir()
    place.write_text(
        "#!/bin/sh\n"
        f'echo "$(ulimit -d) $*" >>"{tmp_path}/told"\n'
        "while [ $# -gt 1 ]; do shift; done\n"
        'exec sh -c "$1"\n'
    )
    place.chmod(0o755)
    return place


def told(tmp_path: Path) -> list[str]:
    return (tmp_path / "told").read_text().splitlines()


def test_ssh_by_the_users_own_command(
    any_wire: Wire, remote: Bare, ssh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that are chosen on the command line wouldn't be used, or a passphrase be waited for."""
    monkeypatch.setenv("GIT_SSH_COMMAND", f"'{ssh}' -i mine")
    url = f"ssh://git@host:2222{remote.path}"
    assert any_wire.give(url)
    assert any_wire.take(url) == any_wire.repo.head()
    lines = told(tmp_path)
    assert len(lines) == 2
    for line in lines:
        assert line.split()[0] == "2097152", "memory is bounded"
        assert " -i mine " in line
        assert "-oBatchMode=yes" in line
        assert "-oConnectTimeout=10" in line
        assert "-p 2222 " in line
        assert "git@host" in line
    nothing_runs(str(tmp_path))


def test_ssh_as_it_is_set_in_git(any_wire: Wire, remote: Bare, ssh: Path, tmp_path: Path) -> None:
    """The user's git would reach the host, and sync wouldn't."""
    any_wire.tree.git("config", "core.sshCommand", f"'{ssh}' -i repository")
    assert any_wire.take(f"git@host:{remote.path}") is None
    assert "-i repository" in told(tmp_path)[0]
    assert "-oBatchMode=yes" in told(tmp_path)[0]


def test_another_ssh_program_gets_no_options_that_it_may_not_know(
    wire: Wire, remote: Bare, ssh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever uses a program of their own for ssh couldn't sync."""
    other = ssh.rename(ssh.parent / "tunnel")
    monkeypatch.setenv("GIT_SSH", str(other))
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")
    assert wire.take(f"git@host:{remote.path}") is None
    assert "-oBatchMode" not in told(tmp_path)[0]
