"""Three machines that do what people and agents do, apart and in any order, and have to end with one memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from coffer.application.combine import merge_stores
from coffer.application.conflicts import list_conflicts, resolve_conflict
from coffer.application.curate import Edit, delete_fact, edit_fact, get_fact, list_facts
from coffer.application.handoff import set_handoff
from coffer.application.journal import append_to
from coffer.application.recall import recall
from coffer.application.remember import NewFact, remember
from coffer.application.rules import add_rule
from coffer.application.stores import label_store
from coffer.domain.facts import Caller, Fact
from coffer.domain.stores import GLOBAL, StoreRef, project_id, store_named
from coffer.domain.sync import SyncRun
from lanes.journal import raw_entries
from tests.convergence.agreement import require_agreement, require_soundness
from tests.convergence.machine_home import USER, Home, Loop
from tests.convergence.written import Figures, Written, plain, word

REMOTES = ("example.org/octo/pond", "example.org/octo/brook")
STORES = (*(StoreRef(project_id(f"remote:{remote}")) for remote in REMOTES), GLOBAL)
NAMES = ("pond.md", "shore.md", "Pond.md", "deep/reed.md", "a:b.md")
ROUNDS = 6

homes = st.integers(0, 2)
picks = st.integers(0, 40)
places = st.integers(1, 24)
stores = st.sampled_from(STORES)
projects = st.sampled_from(STORES[:2])


class Machines(RuleBasedStateMachine):
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
            self._converge((0, 1, 2), last=True)
        finally:
            for home in self.homes:
                home.close()
            self._private.stop()
            self.done.lines_written = len(self.written.kept | self.written.scenes)
            self.done.lines_deleted = len(self.written.deleted & self.written.kept)
            self.figures.add(self.done)
            shutil.rmtree(self.root, ignore_errors=True)

    @initialize(together=st.booleans())
    def begin(self, together: bool) -> None:
        """Start with one memory on all machines, or with three that never met."""
        for number in range(1 if together else 3):
            for _ in range(4):
                self.make_by_hand(number, STORES[0], "pond.md")
            self.remember(number, STORES[0], 2, None)
            self.remember(number, STORES[1], 1, None)
            self.add_rule(number, STORES[0])
            self.journal(number, STORES[0], 1, None)
        if together:
            self._converge((0, 1, 2))

    # ── facts ─────────────────────────────────────────────────────────────────────────────────────────────

    @rule(number=homes, store=stores, count=st.integers(1, 3), fault=st.none() | places)
    def remember(self, number: int, store: StoreRef, count: int, fault: int | None) -> None:
        lines = [self.written.new() for _ in range(count)]
        self._do(number, remember, store, NewFact("\n\n".join(lines)), written=lines, fault=fault)

    @rule(number=homes, pick=picks)
    def supersede(self, number: int, pick: int) -> None:
        if fact := self._fact(number, pick):
            new = NewFact(line := self.written.new(), supersedes=[fact.id])
            self._do(number, remember, store_named(fact.store), new, written=[line])

    @rule(number=homes, pick=picks, add=st.booleans(), fault=st.none() | places)
    def edit(self, number: int, pick: int, add: bool, fault: int | None) -> None:
        if fact := self._fact(number, pick):
            line = self.written.new()
            text = f"{fact.text}\n{line}" if add else _replaced(fact.text, pick, line, self.written)
            self._edit(number, fact, Edit(text=text), [line], fault)

    @rule(number=homes, pick=picks)
    def retitle(self, number: int, pick: int) -> None:
        if fact := self._fact(number, pick):
            title = self.written.new("title: bittern{} of the reeds")
            self._edit(number, fact, Edit(title=title.removeprefix("title: ")), [title], None)

    @rule(number=homes, pick=picks, fault=st.none() | places)
    def delete(self, number: int, pick: int, fault: int | None) -> None:
        if fact := self._fact(number, pick):
            gone = self.written.of((self.homes[number].tree / fact.path).read_bytes())
            self._do(number, delete_fact, store_named(fact.store), fact.id, deleted=gone, fault=fault)

    # ── by hand ───────────────────────────────────────────────────────────────────────────────────────────

    @rule(number=homes, pick=picks, where=picks, how=st.sampled_from(("change", "add", "end", "cut")))
    def edit_by_hand(self, number: int, pick: int, where: int, how: str) -> None:
        if path := self._file(number, pick, "knowledge", "rules", "journal"):
            before = self.homes[number].files()[path]
            lines = before.decode().split("\n")
            ours = [place for place, line in enumerate(lines) if self.written.of(line) and _is_text(line)]
            new = ("- " if "/rules/" in path and pick % 3 else "") + self.written.new()
            if how == "end" or not ours:
                lines = [*lines[:-1], new, ""] if where % 2 else [*lines, new]
            elif how == "add":
                lines.insert(ours[where % len(ours)], new)
            else:
                place = ours[where % len(ours)]
                lines[place : place + 1] = [new] if how == "change" else []
            self._save(number, path, "\n".join(lines), pick % 2 == 0)

    @rule(number=homes, store=stores, name=st.sampled_from(NAMES))
    def make_by_hand(self, number: int, store: StoreRef, name: str) -> None:
        path = f"{store.folder}/knowledge/{name}"
        held = self.homes[number].files().get(path, b"# Topic\n\n").decode()
        self._save(number, path, f"{held.rstrip()}\n\n{self.written.new()}\n")

    @rule(number=homes, pick=picks, lane=st.sampled_from(("knowledge", "rules", "journal", "handoff")))
    def remove_by_hand(self, number: int, pick: int, lane: str) -> None:
        if path := self._file(number, pick, lane):
            self._save(number, path, None)

    @rule(number=homes, pick=picks, name=st.sampled_from(("moved.md", "deep/moved.md")))
    def move_by_hand(self, number: int, pick: int, name: str) -> None:
        path = self._file(number, pick, "knowledge")
        if path and not path.endswith("moved.md"):
            home = self.homes[number]
            store = path.partition("/knowledge/")[0]
            home.write(f"{store}/knowledge/{pick}{name}", home.files()[path])
            (home.tree / path).unlink()
            self.done.operations += 1

    @rule(number=homes, pick=picks, where=picks)
    def remove_entry_by_hand(self, number: int, pick: int, where: int) -> None:
        if path := self._file(number, pick, "journal"):
            text = self.homes[number].files()[path].decode()
            if entries := raw_entries(text.encode())[1]:
                self._save(number, path, text.replace(entries[where % len(entries)][1], ""))

    @rule(number=homes)
    def commit_by_hand(self, number: int) -> None:
        if (self.homes[number].tree / ".git").exists():
            self.homes[number].git("add", "-A")
            self.homes[number].git("commit", "-q", "-m", "by hand", check=False)  # there may be nothing

    # ── other lanes ───────────────────────────────────────────────────────────────────────────────────────

    @rule(number=homes, store=stores)
    def add_rule(self, number: int, store: StoreRef) -> None:
        self._do(number, add_rule, store, line := self.written.new(), written=[line])

    @rule(number=homes, store=projects, count=st.integers(1, 2), fault=st.none() | places)
    def journal(self, number: int, store: StoreRef, count: int, fault: int | None) -> None:
        lines = [self.written.new() for _ in range(count)]
        self._do(number, append_to, store, "\n".join(lines), "test", written=lines, fault=fault)

    @rule(number=homes, pick=picks)
    def handoff(self, number: int, pick: int) -> None:
        caller = Caller("agent", "tester", None, str(self.folders[pick % len(self.folders)]))
        line = self.written.new()
        self._do(number, set_handoff, line, caller=caller)
        self.written.scenes.add(line)

    @rule(number=homes, store=stores, named=st.booleans())
    def label(self, number: int, store: StoreRef, named: bool) -> None:
        if (self.homes[number].tree / store.folder).is_dir():
            label = self.written.new("label {}") if named else ""
            self._do(number, label_store, store, label)
            self.labels.setdefault(store, []).append((number, label))
            if not named:
                self.cleared.add(store)

    @rule(
        numbers=st.lists(homes, min_size=1, max_size=2, unique=True),
        source=projects,
        fault=st.none() | places,
    )
    def merge_stores(self, numbers: Sequence[int], source: StoreRef, fault: int | None) -> None:
        """Make one store of two; a second machine does the opposite before it has heard of that."""
        target = next(store for store in STORES if store != source)
        for number, pair in zip(numbers, ((source, target), (target, source))):
            if all((self.homes[number].tree / store.folder).is_dir() for store in pair):
                self.merged = True
                self.done.stores_merged += 1
                self._do(number, merge_stores, *pair, fault=fault)

    # ── machines ──────────────────────────────────────────────────────────────────────────────────────────

    @rule(number=homes, seconds=st.sampled_from((-90_000, -40, 0, 40, 90_000)))
    def set_clock(self, number: int, seconds: int) -> None:
        self.homes[number].clock.skew = seconds

    @rule(number=homes)
    def restart(self, number: int) -> None:
        self.homes[number].close()
        self.homes[number].open()

    @rule(number=homes)
    def sync(self, number: int) -> None:
        self._sync(number)

    @rule(number=homes, count=st.integers(1, 14))
    def sync_cut_off(self, number: int, count: int) -> None:
        """Cancel a sync in the middle; it may be over before."""
        self.done.syncs_cut_off += 1
        self.homes[number].exchange_cut(self.url, count)

    @rule(number=homes, place=places)
    def sync_killed(self, number: int, place: int) -> None:
        with self.homes[number].killed_at(place):
            self.homes[number].exchange(self.url)
        self.done.kills += self.homes[number].reached_any

    @rule(number=homes, place=places, pick=picks)
    def edit_during_sync(self, number: int, place: int, pick: int) -> None:
        """Save a file while sync is at work."""
        line = self.written.new()
        home = self.homes[number]

        def save(name: str) -> None:
            path = self._file(number, pick, "knowledge")
            if (
                path is None or name == "renamed"
            ):  # what is saved between two steps of the kernel nobody can see
                path = f"{STORES[0].folder}/knowledge/saved-{self.written.count}.md"
            home.write(path, home.files().get(path, b"# Saved\n") + f"\n{line}\n".encode(), pick % 2 == 0)

        with home.at(place, save):
            self._sync(number)
        if home.reached_any:
            self.written.kept.add(line)

    @rule(number=homes, pick=picks, keep=st.sampled_from(("this", "other", "both")))
    def resolve(self, number: int, pick: int, keep: str) -> None:
        home = self.homes[number]
        if conflicts := home.do(list_conflicts):
            conflict = conflicts[pick % len(conflicts)]
            files = home.files()
            this = self.written.of(files[conflict.path])
            other = self.written.of(files[conflict.other_path]) if conflict.other_path else set()
            gone = {"this": other - this, "other": this - other, "both": set()}[keep]
            self._do(number, resolve_conflict, conflict.path, keep, deleted=gone)

    @rule(order=st.permutations((0, 1, 2)))
    def converge(self, order: Sequence[int]) -> None:
        self._converge(order)

    @rule(order=st.permutations((0, 1, 2)), pick=picks)
    def remove_everywhere(self, order: Sequence[int], pick: int) -> None:
        """What one machine removes while no other touches it is gone on all."""
        self._converge(order)
        if path := self._file(order[0], pick, "knowledge", "rules", "journal"):
            self._save(order[0], path, None)
            self._converge(order)
            assert all(path not in home.files() for home in self.homes), path

    # ── what the rules are made of ────────────────────────────────────────────────────────────────────────

    def _do(
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

    def _edit(self, number: int, fact: Fact, edit: Edit, new: list[str], fault: int | None) -> None:
        held = self.written.of((self.homes[number].tree / fact.path).read_bytes())
        stays = {line for line in held if line.startswith("title: ") == (edit.title is None)}
        stays |= self.written.of(edit.text or "")
        store = store_named(fact.store)
        self._do(number, edit_fact, store, fact.id, edit, written=new, deleted=held - stays, fault=fault)

    def _save(self, number: int, path: str, text: str | None, replace: bool = False) -> None:
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

    def _fact(self, number: int, pick: int) -> Fact | None:
        home = self.homes[number]
        facts = [fact for store in STORES for fact in home.do(list_facts, store, None, 200)[0]]
        if not facts:
            return None
        fact = sorted(facts, key=lambda fact: fact.path)[pick % len(facts)]
        return home.do(get_fact, store_named(fact.store), fact.id)

    def _file(self, number: int, pick: int, *lanes: str) -> str | None:
        paths = [path for path in self.homes[number].files(*lanes) if path.endswith(".md")]
        paths = [path for path in paths if not path.endswith("INDEX.md")]
        return paths[pick % len(paths)] if paths else None

    def _sync(self, number: int) -> SyncRun:
        self.done.syncs += 1
        run = self.homes[number].exchange(self.url)
        assert run.result in ("synced", "nothing"), run
        return run

    def _converge(self, order: Sequence[int], last: bool = False) -> None:
        for home in self.homes:
            home.join(self.url)
        for _ in range(ROUNDS):
            if {self._sync(number).result for number in order} == {"nothing"}:
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
            for line in sorted(filter(_is_text, self.written.of(files[path])))[-1:]:
                hits = home.do(recall, STORES, word(line))
                assert any(line in hit.text for hit in hits), (path, line)

    def _checkout(self, project: int, branch: str) -> Path:
        folder = self.root / "work" / f"{project}{branch}"
        self._git("init", "-q", "-b", branch, str(folder))
        self._git("-C", str(folder), "remote", "add", "origin", f"https://{REMOTES[project]}.git")
        return folder

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], check=True, capture_output=True)


def _replaced(text: str, pick: int, line: str, written: Written) -> str:
    lines = text.split("\n")
    ours = [place for place, each in enumerate(lines) if plain(each) in written.known]
    if not ours:
        return f"{text}\n{line}"
    lines[ours[pick % len(ours)]] = line
    return "\n".join(lines)


def _is_text(line: str) -> bool:
    return not line.startswith("title: ")


def _labels(files: dict[str, bytes], store: StoreRef) -> list[str]:
    lines = files.get(f"{store.folder}/store.yaml", b"").decode().splitlines()
    return [line.removeprefix("label: ").strip("'\"") for line in lines if line.startswith("label: ")]
