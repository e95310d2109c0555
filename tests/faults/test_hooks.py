"""Hooks against a daemon that can't start: no agent notices, and nothing piles up."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.coffer.daemon_process import environment
from tests.coffer.test_hook import HOOK
from tests.faults.home import until
from tests.invariants import processes_of

pytestmark = pytest.mark.faults

TEN_AT_ONCE = 'for i in 1 2 3 4 5 6 7 8 9 10; do "$0" "$@" </dev/null & done; wait'


@pytest.mark.report("B39")
def test_three_hundred_hooks_leave_no_processes(tmp_path: Path) -> None:
    """A day of work would end with a thousand processes that nobody needs."""
    home = tmp_path / "h"
    (home / "daemon.lock").mkdir(parents=True)
    most = 0
    for _ in range(30):
        command = ["sh", "-c", TEN_AT_ONCE, *HOOK, "--agent", "claude", "--event", "SessionStart"]
        done = subprocess.run(command, env=environment(home), capture_output=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        most = max(most, len(list(processes_of(home))))
    assert most <= 1  # the daemon that was started last, on its way to its end
    until(lambda: not list(processes_of(home)))
    assert (home / "logs" / "daemon.log").stat().st_size > 0
