"""What people are told when an exchange fails."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitsync.errors import Cause
from gitsync.remote_said import declined, failure

URL = "git@host:memory.git"
SECRET = "s3" + "cret"


@pytest.mark.parametrize(
    ("said", "cause", "told"),
    [
        (
            "git@host: Permission denied (publickey).\nfatal: Could not read from remote repository.\n\n"
            "Please make sure you have the correct access rights\nand the repository exists.\n",
            "credentials",
            f"git ls-remote {URL}",
        ),
        (
            "fatal: could not read Username for 'https://h': terminal prompts disabled\n",
            "credentials",
            "refuses",
        ),
        ("fatal: unable to access 'https://h/': The requested URL returned error: 403\n", "credentials", ""),
        (
            "No ED25519 host key is known for host and you have requested strict checking.\r\n"
            "Host key verification failed.\r\nfatal: Could not read from remote repository.\n",
            "host_key",
            "isn't known",
        ),
        (
            "@@@@\nWARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!\nHost key verification failed.\n",
            "host_key",
            "another key",
        ),
        (
            "fatal: unable to access 'https://h/': SSL certificate problem: self-signed certificate\n",
            "host_key",
            "certificate",
        ),
        ("ssh: Could not resolve hostname host: Name or service not known\n", "unreachable", "online"),
        ("ssh: connect to host host port 22: Connection timed out\n", "unreachable", "in time"),
        (
            "fatal: unable to access 'http://h/': Failed to connect to h port 1: Connection refused\n",
            "unreachable",
            "can't be reached",
        ),
        ("fatal: '/srv/x' does not appear to be a git repository\n", "missing", "no repository"),
        (
            "remote: Repository not found.\nfatal: repository 'https://h/x/' not found\n",
            "missing",
            "no repository",
        ),
        ("fatal: write error: No space left on device\n", "size", "disk is full"),
        ("fatal: Out of memory, malloc failed (tried to allocate 4 bytes)\n", "size", "memory"),
        (
            "error: object 12: badTree: broken\nfatal: fsck error in packed object\nfatal: early EOF\n",
            "other",
            "fsck error in packed object",
        ),
        ("", "other", "without a word"),
    ],
)
def test_one_sentence_for_each_failure(said: str, cause: Cause, told: str) -> None:
    """People would get a screen of ssh's words, or nothing that helps."""
    error = failure(said, URL)
    assert error.cause == cause
    assert told in error.reason
    assert error.reason == str(error)


@pytest.mark.parametrize(
    "said",
    [
        f"fatal: odd thing at https://ada:{SECRET}@host/x",
        f"fatal: odd thing: Authorization: Basic {SECRET}",
        f"fatal: odd thing: bearer {SECRET}",
        f"fatal: odd thing ?private_token={SECRET}",
    ],
)
def test_no_credentials_are_told(said: str) -> None:
    """A password would stand in logs, in status and on a screen."""
    assert SECRET not in failure(said, URL).reason
    assert SECRET not in declined("no", said.replace("fatal", "remote")).reason


@given(st.text())
def test_whatever_a_remote_says_is_one_short_plain_line(said: str) -> None:
    """A remote could write escape sequences to the terminal, or fill it."""
    for error in (failure(said, URL), declined(said[:20], f"remote: {said}")):
        assert len(error.reason) < 450
        assert "\x1b" not in error.reason
        assert "\n" not in error.reason
