"""How long starting takes: the shim alone, and the first recall when nothing runs yet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.home import COFFER, SHIM, Home, milliseconds
from bench.table import Row, median, ms, versus

ROUNDS = 7
SHIM_ROUNDS = 30


def measure(scratch: Path, size: int = 200) -> list[Row]:
    home = Home(scratch / "start")
    home.fill(size)
    with home.session() as agent:
        agent.call("coffer__recall", query="warm up", scope="global")
    shim, bare, rest, mcp, imported, cli = [], [], [], [], [], []
    for _ in range(SHIM_ROUNDS):
        shim.append(milliseconds(lambda: _run(home, SHIM, "--agent", "bench")))
        bare.append(milliseconds(lambda: _run(home, sys.executable, "-I", "-S", "-c", "pass")))
        cli.append(milliseconds(lambda: _run(home, COFFER, "memory", "recall", "global", "warm")))
    for _ in range(ROUNDS):
        home.coffer("daemon", "stop")
        rest.append(milliseconds(lambda: home.coffer("memory", "recall", "global", "warm")))
        home.coffer("daemon", "stop")
        mcp.append(milliseconds(lambda: _first_recall(home)))
        imported.append(milliseconds(lambda: _run(home, sys.executable, "-c", "import mcp")))
    home.coffer("daemon", "stop")
    return [
        Row(
            "shim, whole process",
            ms(shim),
            f"python -I -S -c pass: {ms(bare)}",
            versus(median(shim), median(bare)),
            "≤ 3",
        ),
        Row("coffer memory recall, whole process, daemon running", ms(cli)),
        Row("first recall after a cold start, REST through the CLI", ms(rest), asked="≤ 1000 ms"),
        Row(
            "first recall after a cold start, MCP through the shim",
            ms(mcp),
            f'python -c "import mcp": {ms(imported)}',
            versus(median(mcp), median(imported)),
            "≤ 1.3",
        ),
    ]


def _run(home: Home, *command: str) -> None:
    subprocess.run(
        command, env=home.environ, cwd=home.user, stdin=subprocess.DEVNULL, capture_output=True, check=True
    )


def _first_recall(home: Home) -> None:
    with home.session() as agent:
        agent.call("coffer__recall", query="warm", scope="global")
