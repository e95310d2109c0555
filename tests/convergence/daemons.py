"""The same with daemons in processes of their own, which are killed while they write and sync."""

from __future__ import annotations

import random
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.preloaded import Preloaded
from tests.acceptance.house import Json
from tests.convergence.agreement import files_in, require_agreement, require_soundness
from tests.convergence.written import Figures, Written, word
from tests.faults.home import Gone, Home

ORIGINS = ("git@example.org:octo/pond.git", "git@example.org:octo/brook.git")
ROUNDS = 6
LONGEST_LIFE = 0.2


class Daemons:
    """Three houses, the remote between them, and chance."""

    def __init__(self, root: Path, preloaded: Preloaded, seed: int) -> None:
        self.chance = random.Random(seed)
        self.written = Written()
        self.figures = Figures(schedules=1)
        self.url = str(root / "remote.git")
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", self.url], check=True)
        self.houses = []
        for name in ("workstation", "laptop", "server"):
            (root / name).mkdir()
            house = Home(root / name, preloaded).start()
            self.houses.append(house)
            self.projects = [house.store(house.project("project", origin)) for origin in ORIGINS]
            self.stores = (*self.projects, "global")
            for store in self.projects:
                house.ask("POST", f"/memory_stores/{store}/facts", {"text": self._kept()}).done(201)
            house.ask("PUT", "/sync/remote", {"url": self.url, "automatic": False}).done()
        self.rules: Sequence[Callable[[Home], None]] = (
            *(self.add, self.edit, self.delete, self.append, self.rule, self.label, self.write, self.cut),
            *(self.sync, self.sync, self.sync, self.remove, self.restart, self.merge),
        )

    def run(self, steps: int) -> Figures:
        """Do something on some machine, again and again, then let all of them agree."""
        try:
            for _ in range(steps):
                self.chance.choice(self.rules)(self.chance.choice(self.houses))
                self.figures.operations += 1
            self.settle()
        finally:
            for house in self.houses:
                house.end_all()
            self.figures.lines_written = len(self.written.kept)
            self.figures.lines_deleted = len(self.written.kept & self.written.deleted)
        return self.figures

    # ── what happens ──────────────────────────────────────────────────────────────────────────────────────

    def add(self, house: Home) -> None:
        self._write(house, "POST", "facts", {"text": (line := self.written.new())}, line)

    def edit(self, house: Home) -> None:
        if fact := self._fact(house):
            line = self.written.new()
            self.written.deleted |= self.written.of(fact["text"])
            self._write(house, "PATCH", f"facts/{fact['id']}", {"text": line}, line, fact["store"])

    def delete(self, house: Home) -> None:
        if fact := self._fact(house):
            self.written.deleted |= self.written.of(fact["text"])
            self._write(house, "DELETE", f"facts/{fact['id']}", None, None, fact["store"])

    def append(self, house: Home) -> None:
        line = self.written.new()
        self._write(house, "POST", "journal", {"text": line}, line, self.stores[0])

    def rule(self, house: Home) -> None:
        self._write(house, "POST", "rules", {"text": (line := self.written.new())}, line)

    def label(self, house: Home) -> None:
        label = self.chance.choice(("", "Pond", "Shore"))
        if stores := self._there(house, self.projects):
            self._write(house, "PATCH", "label", {"label": label}, None, self.chance.choice(stores))

    def merge(self, house: Home) -> None:
        """Make one store of two; another machine may do the opposite."""
        source, target = self.chance.sample(self.projects, 2)
        if len(self._there(house, (source, target))) == 2:
            self.figures.stores_merged += 1
            with self._perhaps_killed(house):
                house.ask("POST", "/memory_stores/merge", {"source": source, "target": target}).done()

    def write(self, house: Home) -> None:
        """Add a line to a topic by hand."""
        name = self.chance.choice(("pond", "shore"))
        file = house.store_dir(self.stores[0]) / "knowledge" / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        held = file.read_text() if file.exists() else f"# {name}\n"
        lines = [*held.splitlines(), self._kept()]
        if self.chance.random() < 0.5:
            lines.insert(1, lines.pop())
        file.write_text("\n".join(lines) + "\n")

    def cut(self, house: Home) -> None:
        """Take a line out by hand."""
        if found := self._hand_edited(house):
            path, content = found
            line = self.chance.choice(sorted(self.written.of(content)) or [""])
            kept = [each for each in content.decode().split("\n") if not line or line not in each]
            self.written.deleted |= {line} & self.written.known
            path.write_text("\n".join(kept))

    def remove(self, house: Home) -> None:
        """Remove a file by hand."""
        if found := self._hand_edited(house):
            self.written.deleted |= self.written.of(found[1])
            found[0].unlink()

    def sync(self, house: Home) -> None:
        self.figures.syncs += 1
        with self._perhaps_killed(house):
            run = house.ask("POST", "/sync/run", {}).done()
            assert run["result"] in ("synced", "nothing") or "pushing" in run["reason"], run

    def restart(self, house: Home) -> None:
        house.stop()
        house.start()

    # ── agreement ─────────────────────────────────────────────────────────────────────────────────────────

    def settle(self) -> None:
        """Sync all in any order until none has anything new; then they are the same."""
        for _ in range(ROUNDS):
            order = self.chance.sample(self.houses, len(self.houses))
            results = [house.ask("POST", "/sync/run", {}).done() for house in order]
            self.figures.syncs += len(order)
            assert {run["result"] for run in results} <= {"synced", "nothing"}, results
            if {run["result"] for run in results} == {"nothing"}:
                break
        else:
            raise AssertionError("the machines never stop syncing")
        files = require_agreement(self.houses, self.written, self.figures)
        require_soundness(self.houses, self.figures)
        knowledge = [data for path, data in files.items() if "/knowledge/" in path]
        for line in sorted(self.written.lines(knowledge))[-2:]:
            for house in self.houses:
                stores = self._there(house, self.stores)
                texts = [text for store in stores for text in house.texts(store, word(line))]
                assert any(line in text for text in texts), line

    # ── what that is made of ──────────────────────────────────────────────────────────────────────────────

    def _kept(self) -> str:
        line = self.written.new()
        self.written.kept.add(line)
        return line

    def _write(
        self, house: Home, method: str, what: str, body: Any, line: str | None, store: str | None = None
    ) -> None:
        path = f"/memory_stores/{store or self.chance.choice(self.stores)}/{what}"
        with self._perhaps_killed(house):
            reply = house.ask(method, path, body)
            assert reply.status in (200, 201, 204), reply.body
            if line:
                self.written.kept.add(line)

    @contextmanager
    def _perhaps_killed(self, house: Home) -> Iterator[None]:
        """Kill the daemon at some moment of what is done inside, half the time, and start it again."""
        if self.chance.random() < 0.5:
            yield
            return
        timer = threading.Timer(self.chance.uniform(0, LONGEST_LIFE), house.kill)
        timer.start()
        try:
            yield
        except Gone:
            pass  # nothing was answered: what was asked for may be done or not
        finally:
            timer.join()
        self.figures.kills += 1
        house.start()

    def _there(self, house: Home, stores: Sequence[str]) -> list[str]:
        """Return those of some stores that exist and weren't merged into another."""
        return [
            store for store in stores if store == "global" or (house.store_dir(store) / "store.yaml").exists()
        ]

    def _fact(self, house: Home) -> Json | None:
        facts = [{**fact, "store": store} for store in self.stores for fact in house.facts(store)]
        return self.chance.choice(sorted(facts, key=lambda fact: fact["path"])) if facts else None

    def _hand_edited(self, house: Home) -> tuple[Path, bytes] | None:
        files = files_in(house.tree)
        paths = [path for path in files if "/inbox/" not in path and self.written.of(files[path])]
        path = self.chance.choice(paths) if paths else None
        return (house.tree / path, files[path]) if path else None
