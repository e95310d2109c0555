"""Kill the daemon at random moments of a mixed load, again and again, and look whether an acknowledged text is lost.

Clients remember, edit, delete, supersede and recall over the private socket. A request that got no answer is in
doubt: the fact must be as it was before or as it was asked for, and the client finds out which, as an agent would.
From time to time, and at the end, everything that was acknowledged is compared with what the daemon lists, what it
recalls, what the files hold and what git's history holds.

    python -m bench.soak [--kills 1000]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.preloaded import ROOT, Preloaded, Process
from coffer import discovery
from tests import invariants

CLIENTS = 4
MOST_FACTS = 60
LONGEST_LIFE = 0.4
EARLY_KILLS = 0.15
LOOK_EVERY = 25
SECONDS_A_KILL = 5.0
STORE = "/memory_stores/global/facts"
HEADERS = {"Content-Type": "application/json", "X-Coffer-Actor": "agent"}


class Broken(Exception):
    """A promise was broken; the text says which."""


class Home:
    """The home that is served, and the daemon that serves it now."""

    def __init__(self, root: Path) -> None:
        self.root, self.path = root, root / "coffer"
        self.preloaded = Preloaded()
        self.daemon: Process | None = None
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "COFFER_HOME": str(self.path),
            "COFFER_PORT": "off",
            "PYTHONPATH": ROOT,
        }

    def start(self) -> Process:
        self.daemon = self.preloaded.start(self.environ, str(self.root / "daemon.log"))
        return self.daemon

    def wait_until_serving(self) -> None:
        deadline = time.monotonic() + 30
        while True:
            try:
                discovery.connect(str(self.path), 5.0).close()
                return
            except OSError as problem:
                if time.monotonic() > deadline:
                    raise Broken(f"the daemon doesn't come up: {problem}") from problem
                time.sleep(0.002)

    def ask(self, method: str, path: str, body: object = None, agent: str = "soak") -> tuple[int, Any]:
        """Return status and JSON; DaemonUnavailable when the daemon is away, or dies before it has answered."""
        data = None if body is None else json.dumps(body).encode()
        status, _, answer = discovery.request(
            str(self.path), method, f"/api/v1{path}", data, {**HEADERS, "X-Coffer-Agent": agent}
        )
        return status, json.loads(answer) if answer else None


class Client(threading.Thread):
    """An agent with facts of its own: what it was told yes to, and the one thing that is in doubt."""

    def __init__(self, home: Home, name: str, running: threading.Event, end: threading.Event) -> None:
        super().__init__(name=name)
        self._home, self._running, self._end = home, running, end
        self._random = random.Random(name)
        self._number = 0
        self.idle = threading.Event()
        self.held: dict[str, str] = {}
        self.said: set[str] = set()
        self.done: Counter[str] = Counter()
        self.problem: Exception | None = None

    def run(self) -> None:
        try:
            while not self._end.is_set():
                self.idle.set()
                self._running.wait()
                self.idle.clear()
                self._work()
        except Exception as problem:
            self.problem = problem
        finally:
            self.idle.set()

    def _work(self) -> None:
        kinds = ["remember", "edit", "supersede", "delete", "recall"]
        weights = [1 if len(self.held) > MOST_FACTS else 8, 5, 2, 4, 2]
        kind = self._random.choices(kinds, weights)[0] if len(self.held) > 5 else "remember"
        fact = self._random.choice(list(self.held)) if self.held else ""
        self._number += 1
        text = f"Word{self.name}x{self._number} belongs to {self.name}. " + "It goes on and on. " * (self._number % 30)
        self._do(kind, fact, text.strip())
        self.done[kind] += 1

    def _do(self, kind: str, fact: str, text: str) -> None:
        try:
            self._request(kind, fact, text)
        except discovery.DaemonUnavailable:
            self.done["in doubt"] += 1
            while not self._settle(kind, fact, text):
                if self._end.is_set():
                    raise Broken("the daemon stayed away") from None
                time.sleep(0.002)

    def _request(self, kind: str, fact: str, text: str) -> None:
        if kind == "recall":
            wanted = self.held[fact].partition(" ")[0]
            status, found = self._home.ask("POST", "/memory_stores/global/recall", {"query": wanted}, self.name)
            self._expect(status == 200 and fact in [hit["id"] for hit in found["hits"]], f"{wanted} isn't recalled")
        elif kind == "edit":
            status, answer = self._home.ask("PATCH", f"{STORE}/{fact}", {"text": text}, self.name)
            self._expect(status == 200, f"edit: {status} {answer}")
            self._keep(fact, text)
        elif kind == "delete":
            status, answer = self._home.ask("DELETE", f"{STORE}/{fact}", None, self.name)
            self._expect(status == 204, f"delete: {status} {answer}")
            del self.held[fact]
        else:
            old = [fact] if kind == "supersede" else []
            status, answer = self._home.ask("POST", STORE, {"text": text, "supersedes": old}, self.name)
            self._expect(status in (200, 201), f"{kind}: {status} {answer}")
            for one in old:
                del self.held[one]
            self._keep(answer["id"], text)

    def _settle(self, kind: str, fact: str, text: str) -> bool:
        """Find out what became of a request that got no answer; False while nobody can be asked."""
        try:
            if kind in ("remember", "recall"):
                self._request(kind, fact, text)
                return True
            status, found = self._home.ask("GET", f"{STORE}/{fact}", None, self.name)
            if kind == "edit":
                self._expect(status == 200 and found["text"] in (self.held[fact], text), f"edited: {status} {found}")
                self._keep(fact, found["text"])
            elif status == 200:
                self._expect(found["text"] == self.held[fact], f"{kind} changed a text: {found}")
                self._request(kind, fact, text)
            else:
                self._expect(status == 404, f"{kind}: {status} {found}")
                del self.held[fact]
                if kind == "supersede":
                    self._request("remember", "", text)
            return True
        except discovery.DaemonUnavailable:
            return False

    def _keep(self, fact: str, text: str) -> None:
        self.held[fact] = text
        self.said.add(text)

    @staticmethod
    def _expect(true: bool, problem: str) -> None:
        if not true:
            raise Broken(problem)


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
        raise Broken(f"acknowledged and not there: {sorted(lost)[:5]}; there and not acknowledged: {sorted(extra)[:5]}")


def compare_history(home: Home, clients: list[Client]) -> int:
    """Look for every text ever acknowledged in the branch's history; return the number of commits."""
    tree = home.path / "memory"
    objects = subprocess.run(
        ["git", "rev-list", "--objects", "main"], cwd=tree, capture_output=True, check=True
    ).stdout
    ids = b"\n".join(line[:40] for line in objects.splitlines())
    held = subprocess.run(["git", "cat-file", "--batch", "--buffer"], cwd=tree, input=ids, capture_output=True).stdout
    lines = set(held.decode(errors="replace").split("\n"))
    gone = [text for client in clients for text in client.said if text not in lines]
    if gone:
        raise Broken(f"acknowledged and in no commit: {gone[:5]}")
    added = invariants.git(tree, "log", "--format=", "--diff-filter=A", "--name-only", "main", "--", "global/knowledge")
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


class Load:
    """The clients, and the switch that lets them work."""

    def __init__(self, home: Home) -> None:
        self._running, self._end = threading.Event(), threading.Event()
        names = [f"agent{number}" for number in range(CLIENTS)]
        self.clients = [Client(home, name, self._running, self._end) for name in names]
        for client in self.clients:
            client.start()

    def resume(self) -> None:
        self._running.set()

    def pause(self) -> None:
        """Return when every client has an answer to its last request."""
        self._running.clear()
        for client in self.clients:
            client.idle.wait()
        self.raise_problem()

    def raise_problem(self) -> None:
        for client in self.clients:
            if client.problem:
                raise client.problem

    def stop(self) -> None:
        self._end.set()
        self._running.set()
        for client in self.clients:
            client.join()


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
        "slowest start until it accepts, ms": round(slowest * 1000),
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
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description="Kill the daemon and look what is lost.")
    parser.add_argument("--kills", type=int, default=1000, help="how many times (default: %(default)s)")
    kills = parser.parse_args().kills
    os.umask(0o077)
    root = Path(tempfile.mkdtemp(prefix="coffer-soak-"))
    home = Home(root)
    try:
        for name, value in soak(home, kills).items():
            print(f"{name:36}{value:>10}")
    except (Broken, AssertionError) as problem:
        print(f"broken: {problem}\nthe home is kept in {root}")
        return 1
    finally:
        if home.daemon:
            home.daemon.kill()
        home.preloaded.close()
    shutil.rmtree(root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
