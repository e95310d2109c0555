"""Kill the daemon at random moments of a mixed load, again and again, and look whether an acknowledged text is lost.

Clients remember, edit, delete, supersede and recall over the private socket. A request that got no answer is in
doubt: the fact must be as it was before or as it was asked for, and the client finds out which, as an agent would.
From time to time, and at the end, everything that was acknowledged is compared with what the daemon lists, what it
recalls, what the files hold and what git's history holds.

    python -m bench.soak [--kills 1000]
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from bench.soak_load import STORE, Broken, Client, Home, Load
from tests import invariants

LONGEST_LIFE = 0.4
EARLY_KILLS = 0.15
LOOK_EVERY = 25
SECONDS_A_KILL = 5.0


def listed(home: Home) -> dict[str, str]:
    """Return what the daemon lists."""
    facts: dict[str, str] = {}
    while True:
        status, page = home.ask("GET", f"{STORE}?limit=200&offset={len(facts)}")
        if status != 200:
            raise Broken(f"list: {status} {page}")
        facts |= {fact["id"]: fact["text"] for fact in page["facts"]}
        if len(facts) >= page["total"]:
            return facts


def compare(home: Home, clients: list[Client]) -> None:
    """Hold what is listed against what was acknowledged."""
    expected = {fact: text for client in clients for fact, text in client.held.items()}
    found = listed(home)
    if found != expected:
        lost, extra = expected.items() - found.items(), found.items() - expected.items()
        raise Broken(
            f"acknowledged and gone: {sorted(lost)[:5]}; there and not acknowledged: {sorted(extra)[:5]}"
        )


def compare_history(home: Home, clients: list[Client]) -> int:
    """Look for every text ever acknowledged in the branch's history; return the number of commits."""
    tree = home.path / "memory"
    objects = subprocess.run(
        ["git", "rev-list", "--objects", "main"], cwd=tree, capture_output=True, check=True
    ).stdout
    ids = b"\n".join(line[:40] for line in objects.splitlines())
    held = subprocess.run(
        ["git", "cat-file", "--batch", "--buffer"], cwd=tree, input=ids, capture_output=True
    ).stdout
    lines = set(held.decode(errors="replace").split("\n"))
    gone = [text for client in clients for text in client.said if text not in lines]
    if gone:
        raise Broken(f"acknowledged and in no commit: {gone[:5]}")
    added = invariants.git(tree, "log", "--format=", "--diff-filter=A", "--name-only", "main", "--", "*.md")
    twice = [path for path, times in Counter(added.split("\n")).items() if path and times > 1]
    if twice:
        raise Broken(f"committed twice: {twice[:5]}")
    by_hand = invariants.git(tree, "log", "--format=%s", "--grep=by hand", "main")
    if by_hand:
        raise Broken(f"an agent's text was committed as the user's: {by_hand.splitlines()[:5]}")
    return int(invariants.git(tree, "rev-list", "--count", "main"))


def compare_recall(home: Home, clients: list[Client]) -> None:
    """Ask for every fact by the one word that it alone has."""
    for client in clients:
        for fact, text in client.held.items():
            word = text.partition(" ")[0]
            _, found = home.ask("POST", "/memory_stores/global/recall", {"query": word, "scope": "global"})
            if not found["hits"] or found["hits"][0]["id"] != fact:
                raise Broken(f"{word} isn't recalled")


def soak(home: Home, kills: int) -> dict[str, Any]:
    """Kill `kills` times; return figures, or raise Broken."""
    chance = random.Random(kills)
    load = Load(home)
    began, early, slowest = time.monotonic(), 0, 0.0
    try:
        for number in range(1, kills + 1):
            daemon = home.start()
            load.resume()
            if chance.random() < EARLY_KILLS:
                early += 1
                time.sleep(chance.random() * 0.1)  # while it comes up and recovers
            else:
                started = time.monotonic()
                home.wait_until_serving()
                slowest = max(slowest, time.monotonic() - started)
                time.sleep(chance.random() * LONGEST_LIFE)
            daemon.kill()
            load.raise_problem()
            if number % LOOK_EVERY == 0:
                home.start()
                home.wait_until_serving()
                load.pause()
                compare(home, load.clients)
                assert home.daemon
                home.daemon.kill()
                report(number, time.monotonic() - began, load.clients)
            if time.monotonic() - began > kills * SECONDS_A_KILL:
                raise Broken(f"out of time after {number} kills")
        home.start()
        home.wait_until_serving()
        load.resume()
        load.pause()
        compare(home, load.clients)
        compare_recall(home, load.clients)
    finally:
        load.stop()
    commits = compare_history(home, load.clients)
    invariants.check(home.path)
    done = sum((client.done for client in load.clients), Counter[str]())
    return {
        "kills": kills,
        "of them during the start": early,
        "seconds": round(time.monotonic() - began),
        "slowest start until it answers, ms": round(slowest * 1000),
        **{f"requests: {kind}": count for kind, count in sorted(done.items()) if kind != "in doubt"},
        "requests cut off by a kill": done["in doubt"],
        "texts acknowledged": sum(len(client.said) for client in load.clients),
        "facts at the end": sum(len(client.held) for client in load.clients),
        "commits": commits,
        "texts lost": 0,
    }


def report(number: int, seconds: float, clients: list[Client]) -> None:
    said = sum(len(client.said) for client in clients)
    print(f"{number} kills in {seconds:.0f} s, {said} texts acknowledged, none lost so far", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.soak", description="Kill the daemon at random moments."
    )
    parser.add_argument("--kills", type=int, default=1000, help="how many times (default: %(default)s)")
    kills = parser.parse_args().kills
    os.umask(0o077)
    root = Path(tempfile.mkdtemp(prefix="coffer-soak-"))
    home = Home(root)
    try:
        for name, value in soak(home, kills).items():
            print(f"{name:36}{value:>10}")
    except (Broken, AssertionError):
        traceback.print_exc()
        print(f"broken; the home is kept in {root}")
        return 1
    finally:
        if home.daemon:
            home.daemon.kill()
        home.preloaded.close()
    shutil.rmtree(root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
