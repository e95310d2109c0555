"""Run the fault tests in as many processes as there are cores: `python -m tests.faults`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).parent
# How long a file takes, against one that takes as long as most do.
WEIGHTS = {"test_kill_points.py": 6, "test_index_damage.py": 2, "test_failing_disk.py": 2}


def shares(number: int) -> list[list[Path]]:
    """Divide the files so that each share takes about as long."""
    found: list[list[Path]] = [[] for _ in range(number)]
    load = [0] * number
    for file in sorted(FOLDER.glob("test_*.py"), key=lambda file: -WEIGHTS.get(file.name, 1)):
        least = load.index(min(load))
        found[least].append(file)
        load[least] += WEIGHTS.get(file.name, 1)
    return [share for share in found if share]


def run(files: list[Path]) -> int:
    """Run some files; return the exit status of pytest."""
    command = [sys.executable, "-m", "pytest", "-m", "faults", "-p", "no:cacheprovider", *map(str, files)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, flush=True)
    return done.returncode


def main() -> int:
    began = time.monotonic()
    parts = shares(os.cpu_count() or 1)
    with ThreadPoolExecutor(len(parts)) as processes:
        failed = any(list(processes.map(run, parts)))
    print(f"{'failed' if failed else 'passed'} in {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
