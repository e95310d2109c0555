"""Run every measurement, or those named on the command line, and print the tables."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import footprint, index, recall, remember, start, sync
from bench.table import Row, machine, noise, show

SECTIONS: dict[str, tuple[str, Callable[[Path], list[Row]]]] = {
    "remember": ("Remember", remember.measure),
    "recall": ("Recall", recall.measure),
    "index": ("Index", index.measure),
    "start": ("Start", start.measure),
    "sync": ("Sync and history", sync.measure),
    "footprint": ("Footprint", footprint.measure),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="which to run (default: all)")
    chosen = parser.parse_args().sections or list(SECTIONS)
    print(f"{machine()}\n\n{noise()}")
    for name in chosen:
        title, measure = SECTIONS[name]
        scratch = Path(tempfile.mkdtemp(prefix="coffer-bench-"))
        try:
            show(title, measure(scratch))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    print(f"\n{noise()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
