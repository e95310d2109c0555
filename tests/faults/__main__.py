"""Run the fault tests, as many files at once as there are cores: `python -m tests.faults`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

FOLDER = Path(__file__).parent
# These take longest, so they begin.
FIRST = ("test_kill_points.py", "test_failing_disk.py", "test_beside_git.py", "test_many_writers.py")


def run(file: Path) -> tuple[bool, str]:
    """Run one file; return whether it passed, and what it said."""
    command = [sys.executable, "-m", "pytest", str(file), "-m", "faults", "-p", "no:cacheprovider"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0, done.stdout.strip()


def main() -> int:
    began = time.monotonic()
    files = sorted(FOLDER.glob("test_*.py"), key=lambda file: (file.name not in FIRST, file.name))
    failed = []
    with ThreadPoolExecutor(os.cpu_count()) as processes:
        running = {processes.submit(run, file): file for file in files}
        for ended in as_completed(running):
            passed, said = ended.result()
            name = running[ended].name
            print(
                f"{name:28}{'passed' if passed else 'FAILED':8}{time.monotonic() - began:4.0f} s", flush=True
            )
            if not passed:
                failed.append(name)
                print(said, flush=True)
    print(f"{len(files) - len(failed)} of {len(files)} files passed in {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
