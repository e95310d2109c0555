"""Several agents at once, each with facts of its own, at a daemon that may be killed at any moment."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.preloaded import ROOT, Preloaded, Process
from coffer import discovery

CLIENTS = 4
MOST_FACTS = 60
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
                self.ask("GET", "/daemon/status")
                return
            except discovery.DaemonUnavailable as problem:
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
        more = "It goes on and on. " * (self._number % 30)
        text = f"Word{self.name}x{self._number} belongs to {self.name}. {more}"
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
            status, found = self._home.ask(
                "POST", "/memory_stores/global/recall", {"query": wanted}, self.name
            )
            self._expect(
                status == 200 and fact in [hit["id"] for hit in found["hits"]], f"{wanted} isn't recalled"
            )
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
                self.held.pop(one, None)
            self._keep(answer["id"], text)

    def _settle(self, kind: str, fact: str, text: str) -> bool:
        """Find out what became of a request that got no answer; False while nobody can be asked."""
        try:
            if kind in ("remember", "recall"):
                self._request(kind, fact, text)
                return True
            status, found = self._home.ask("GET", f"{STORE}/{fact}", None, self.name)
            if kind == "edit":
                self._expect(
                    status == 200 and found["text"] in (self.held[fact], text), f"edited: {status} {found}"
                )
                self._keep(fact, found["text"])
            elif status == 200:
                self._expect(found["text"] == self.held[fact], f"{kind} changed a text: {found}")
                self._request(kind, fact, text)
            else:
                self._expect(status == 404, f"{kind}: {status} {found}")
                self.held.pop(fact, None)
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
