"""Which addresses are synced with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gitsync.errors import RemoteRefused
from gitsync.remote import checked_url

SECRET = "s3" + "cret"


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/ada/memory.git",
        "https://ada@example.org:8443/ada/memory",
        "ssh://git@example.org:2222/~ada/memory.git",
        "ssh://example.org/srv/memory.git",
        "ssh://git@[2001:db8::1]/memory.git",
        "git@github.com:ada/memory.git",
        "nas:memory.git",
        "[::1]:memory.git",
        "http://127.0.0.1:7420/memory.git",
        "http://localhost/memory.git",
        "http://[::1]:80/memory.git",
    ],
)
def test_addresses_that_are_used(url: str) -> None:
    """Somebody's remote couldn't be given."""
    assert checked_url(f" {url}\n") == url


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ext::sh -c id", "helper"),
        ("fd::7", "helper"),
        ("::x", "helper"),
        ("git://example.org/memory.git", "git://"),
        ("ftp://example.org/memory.git", "ftp://"),
        ("http://example.org/memory.git", "https://"),
        ("http://127.0.0.1.example.org/memory.git", "https://"),
        ("http://localhost@example.org/memory.git", "https://"),
        (f"https://ada:{SECRET}@example.org/memory.git", "password"),
        (f"https://:{SECRET}@example.org/memory.git", "password"),
        (f"ssh://ada:{SECRET}@example.org/memory.git", "password"),
        (f"ftp://ada:{SECRET}@example.org/memory.git", "password"),
        (f"ada:{SECRET}@example.org:memory.git", "password"),
        ("https://" + "ghp_" + "a1" * 18 + "@github.com/ada/memory.git", "token"),
        (f"https://example.org/memory.git?private_token={SECRET}", "blanks"),
        ("https://-example.org/memory.git", "address"),
        ("ssh://-oProxyCommand=id/memory.git", "address"),
        ("ssh://-oProxyCommand=id@example.org/memory.git", "address"),
        ("-oProxyCommand=id:memory.git", "address"),
        ("-l@example.org:memory.git", "address"),
        ("example.org:-memory.git", "address"),
        ("example.org:", "address"),
        ("https://example.org", "address"),
        ("https:///memory.git", "address"),
        ("https://@example.org/memory.git", "address"),
        ("https://example.org/me\nmory.git", "control"),
        ("git@example.org:a\x1b[2Jb", "control"),
        ("memory.git", "address"),
        ("../memory.git", "address"),
        ("~/memory.git", "address"),
        ("", "address"),
        ("file://memory.git", "whole path"),
        ("file://host/memory.git", "whole path"),
        ("file:///nowhere/at/all.git", "git init --bare"),
    ],
)
def test_addresses_that_are_not(url: str, why: str) -> None:
    """A program would be started, a password stored, or the memory sent in the open."""
    with pytest.raises(RemoteRefused, match=why) as refused:
        checked_url(url)
    assert SECRET not in str(refused.value)


def test_folders(tmp_path: Path) -> None:
    """Pushing would change the branch under somebody's work tree, or fill a folder of other things."""
    bare, tree, other = tmp_path / "my memory.git", tmp_path / "tree", tmp_path / "other"
    for arguments in (["--bare", str(bare)], [str(tree)]):
        subprocess.run(["git", "init", "-q", *arguments], check=True)
    other.mkdir()
    assert checked_url(str(bare)) == str(bare)
    assert checked_url(f"file://{tmp_path}/my%20memory.git") == str(bare)
    for place in (tree, tree / ".git", other, tmp_path / "none"):
        with pytest.raises(RemoteRefused, match="isn't a bare repository"):
            checked_url(str(place))
