"""Let machines edit apart and sync, many times over: `python -m tests.convergence --schedules 1000`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from bench.preloaded import Preloaded
from tests.convergence.daemons import Daemons
from tests.convergence.machine import Machines
from tests.convergence.machine_home import Loop
from tests.convergence.written import Figures

BATCH = 100


def schedules(number: int, steps: int, start: int) -> Figures:
    """Run schedules in this process; raises where one goes wrong, with its steps."""
    total = Figures()
    loop = Loop()
    try:
        for begun in range(0, number, BATCH):
            many = type("Many", (Machines,), {"loop": loop, "figures": total})
            run_state_machine_as_test(
                seed(start + begun)(many),
                settings=settings(
                    max_examples=min(BATCH, number - begun),
                    stateful_step_count=steps,
                    deadline=None,
                    database=None,
                    phases=(Phase.generate,),
                    suppress_health_check=list(HealthCheck),
                ),
            )
            print(f"{total.schedules} schedules", file=sys.stderr, flush=True)
    finally:
        loop.close()
        print(total, flush=True)
    return total


def daemons(number: int, steps: int, start: int) -> Figures:
    """Run schedules with three daemons each; raises where one goes wrong."""
    total = Figures()
    preloaded = Preloaded()
    shared = "/dev/shm" if Path("/dev/shm").is_dir() else None
    try:
        for each in range(start, start + number):
            with tempfile.TemporaryDirectory(prefix="coffer-daemons-", dir=shared) as folder:
                schedule = Daemons(Path(folder), preloaded, each)
                try:
                    schedule.run(steps)
                finally:
                    total.add(schedule.figures)
            print(f"{total.schedules} schedules", file=sys.stderr, flush=True)
    finally:
        preloaded.close()
        print(total, flush=True)
    return total


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.convergence", description=__doc__)
    parser.add_argument("--schedules", type=int, default=0, help="schedules in this process")
    parser.add_argument("--daemons", type=int, default=0, help="schedules with daemons that are killed")
    parser.add_argument("--steps", type=int, default=20, help="steps of a schedule")
    parser.add_argument("--seed", type=int, default=0, help="where chance begins")
    given = parser.parse_args()
    for run, number in ((schedules, given.schedules), (daemons, given.daemons)):
        if number:
            began = time.monotonic()
            run(number, given.steps, given.seed)
            print(f"in {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
