"""Rows of the printed table, and what the machine was like while they were taken."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: what, how much, beside what, and the asked bound if there is one."""

    what: str
    value: str
    beside: str = ""
    ratio: str = ""
    asked: str = ""


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def p95(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


def ms(values: Sequence[float]) -> str:
    """Return median and p95 of milliseconds for people."""
    return f"{median(values):.1f} ms (p95 {p95(values):.1f})"


def versus(ours: float, theirs: float) -> str:
    return f"{ours / theirs:.2f}"


def machine() -> str:
    """Say on what the figures were taken."""
    versions = [
        platform.platform(),
        f"{os.cpu_count()} cores",
        f"Python {platform.python_version()}",
        _first_line("git", "--version"),
        _first_line("rg", "--version"),
    ]
    return ", ".join(version for version in versions if version)


def noise() -> str:
    """Return median and worst of a fixed loop: a spread tells that others used the machine too."""
    times = []
    for _ in range(15):
        began = time.perf_counter()
        sum(number * number for number in range(150_000))
        times.append((time.perf_counter() - began) * 1000)
    return f"fixed loop {median(times):.1f} ms, worst {max(times):.1f}, load {os.getloadavg()[0]:.1f}"


def show(title: str, rows: Sequence[Row]) -> None:
    """Print one section as a markdown table."""
    print(f"\n### {title}\n\n| what | Coffer | beside | ratio | asked |\n| --- | --- | --- | --- | --- |")
    for row in rows:
        print(f"| {row.what} | {row.value} | {row.beside} | {row.ratio} | {row.asked} |")
    sys.stdout.flush()


def _first_line(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError):
        return ""
