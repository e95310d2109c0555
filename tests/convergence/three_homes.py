"""Three homes in one process and the remote between them: how to act on them, and what must hold of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis.stateful import RuleBasedStateMachine

from coffer.application.curate import Edit, edit_fact, get_fact, list_facts
from coffer.application.recall import recall
from coffer.domain.facts import Caller, Fact
from coffer.domain.stores import GLOBAL, StoreRef, project_id, store_named
from coffer.domain.sync import SyncRun
from tests.convergence.agreement import require_agreement, require_soundness
from tests.convergence.machine_home import USER, Home, Loop
from tests.convergence.written import Figures, Written, word

REMOTES = ("example.org/octo/pond", "example.org/octo/brook")
STORES = (*(StoreRef(project_id(f"remote:{remote}")) for remote in REMOTES), GLOBAL)
ROUNDS = 6


class ThreeHomes(RuleBasedStateMachine):
    """Three homes, the remote between them, and what was written."""

    loop: Loop
    figures: Figures

    def __init__(self) -> None:
        super().__init__()
        shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
        self.root = Path(tempfile.mkdtemp(prefix="coffer-converge-", dir=shared))
        self.url = str(self.root / "remote.git")
        self._git("init", "-q", "--bare", "-b", "main", self.url)
        self.written = Written()
        self.labels: dict[StoreRef, list[tuple[int, str]]] = {}
        self.cleared: set[StoreRef] = set()
        self.called: dict[StoreRef, str | None] = {}
        self.merged = False
        self.done = Figures(schedules=1)
        self._private = patch.dict(os.environ, {"HOME": str(self.root), "GIT_CONFIG_NOSYSTEM": "1"})
        self._private.start()
        self.homes = [Home(self.loop, self.root, number) for number in range(3)]
        self.folders = [self._checkout(*each) for each in ((0, "main"), (0, "dev"), (1, "main"))]

    def teardown(self) -> None:
        try:
            self.agree((0, 1, 2), last=True)
        finally:
            for home in self.homes:
                home.close()
            self._private.stop()
            self.done.lines_written = len(self.written.kept | self.written.scenes)
            self.done.lines_deleted = len(self.written.deleted & self.written.kept)
            self.figures.add(self.done)
            shutil.rmtree(self.root, ignore_errors=True)

    def do(
        self,
        number: int,
        use_case: Callable[..., Any],
        *arguments: Any,
        caller: Caller = USER,
        written: Sequence[str] = (),
        deleted: Sequence[str] | set[str] = (),
        fault: int | None = None,
    ) -> None:
        home = self.homes[number]
        self.done.operations += 1
        self.written.deleted |= set(deleted)
        if fault is None:
            home.do(use_case, caller, *arguments)
        else:
            with home.killed_at(fault):
                home.do(use_case, caller, *arguments)
            self.done.kills += home.reached_any
        if fault is None or not home.reached_any:
            self.written.kept |= set(written)

    def edited(self, number: int, fact: Fact, edit: Edit, new: list[str], fault: int | None) -> None:
        held = self.written.of((self.homes[number].tree / fact.path).read_bytes())
        stays = {line for line in held if line.startswith("title: ") == (edit.title is None)}
        stays |= self.written.of(edit.text or "")
        store = store_named(fact.store)
        self.do(number, edit_fact, store, fact.id, edit, written=new, deleted=held - stays, fault=fault)

    def save(self, number: int, path: str, text: str | None, replace: bool = False) -> None:
        home = self.homes[number]
        self.done.operations += 1
        before = self.written.of(home.files().get(path, b""))
        after = self.written.of(text or "")
        self.written.deleted |= before - after
        self.written.kept |= after - before
        if text is None:
            (home.tree / path).unlink()
        else:
            home.write(path, text.encode(), replace)

    def fact(self, number: int, pick: int) -> Fact | None:
        home = self.homes[number]
        facts = [fact for store in STORES for fact in home.do(list_facts, store, None, 200)[0]]
        if not facts:
            return None
        fact = sorted(facts, key=lambda fact: fact.path)[pick % len(facts)]
        return home.do(get_fact, store_named(fact.store), fact.id)

    def file(self, number: int, pick: int, *lanes: str) -> str | None:
        paths = [path for path in self.homes[number].files(*lanes) if path.endswith(".md")]
        paths = [path for path in paths if not path.endswith("INDEX.md")]
        return paths[pick % len(paths)] if paths else None

    def exchange(self, number: int) -> SyncRun:
        self.done.syncs += 1
        run = self.homes[number].exchange(self.url)
        assert run.result in ("synced", "nothing"), run
        return run

    def agree(self, order: Sequence[int], last: bool = False) -> None:
        for home in self.homes:
            home.join(self.url)
        for _ in range(ROUNDS):
            if {self.exchange(number).result for number in order} == {"nothing"}:
                break
        else:
            raise AssertionError("the machines never stop syncing")
        if any(home.has_commits() for home in self.homes):
            self._check(last)

    def _check(self, last: bool) -> None:
        files = require_agreement(self.homes, self.written, self.done)
        if last:
            require_soundness(self.homes, self.done)
        self._check_labels()
        for home in self.homes:
            self._check_recall(home, files)

    def _check_labels(self) -> None:
        for store, told in self.labels.items():
            if self.merged:
                continue  # a store's label may have gone to another
            label = next(iter(_labels(self.homes[0].files(), store)), "")
            assert label in {"", *(label for _, label in told), self.called.get(store)}, (label, told)
            if store not in self.cleared:
                assert label, told
            if told and len({number for number, _ in told}) == 1:
                assert label == told[-1][1], (label, told)
            self.called[store] = label
            self.labels[store] = []

    def _check_recall(self, home: Home, files: dict[str, bytes]) -> None:
        for path in sorted(path for path in files if "/knowledge/" in path or "/journal/" in path)[-2:]:
            for line in sorted(filter(is_text, self.written.of(files[path])))[-1:]:
                hits = home.do(recall, STORES, word(line))
                assert any(line in hit.text for hit in hits), (path, line)

    def _checkout(self, project: int, branch: str) -> Path:
        folder = self.root / "work" / f"{project}{branch}"
        self._git("init", "-q", "-b", branch, str(folder))
        self._git("-C", str(folder), "remote", "add", "origin", f"https://{REMOTES[project]}.git")
        return folder

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], check=True, capture_output=True)


def is_text(line: str) -> bool:
    """Tell whether a line of ours stands in a text, not in its header."""
    return not line.startswith("title: ")


def _labels(files: dict[str, bytes], store: StoreRef) -> list[str]:
    lines = files.get(f"{store.folder}/store.yaml", b"").decode().splitlines()
    return [line.removeprefix("label: ").strip("'\"") for line in lines if line.startswith("label: ")]
