"""Three machines that do what people and agents do, apart and in any order, and have to end with one memory."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from coffer.application.combine import merge_stores
from coffer.application.conflicts import list_conflicts, resolve_conflict
from coffer.application.curate import Edit, delete_fact
from coffer.application.handoff import set_handoff
from coffer.application.journal import append_to
from coffer.application.remember import NewFact, remember
from coffer.application.rules import add_rule
from coffer.application.stores import label_store
from coffer.domain.facts import Caller
from coffer.domain.stores import StoreRef, store_named
from lanes.journal import raw_entries
from tests.convergence.three_homes import STORES, ThreeHomes, is_text
from tests.convergence.written import Written, plain

NAMES = ("pond.md", "shore.md", "Pond.md", "deep/reed.md", "a:b.md")

homes = st.integers(0, 2)
picks = st.integers(0, 40)
places = st.integers(1, 24)
stores = st.sampled_from(STORES)
projects = st.sampled_from(STORES[:2])


class Machines(ThreeHomes):
    """What can happen on one of three machines."""

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
            self.agree((0, 1, 2))

    # ── facts ─────────────────────────────────────────────────────────────────────────────────────────────

    @rule(number=homes, store=stores, count=st.integers(1, 3), fault=st.none() | places)
    def remember(self, number: int, store: StoreRef, count: int, fault: int | None) -> None:
        lines = [self.written.new() for _ in range(count)]
        self.do(number, remember, store, NewFact("\n\n".join(lines)), written=lines, fault=fault)

    @rule(number=homes, pick=picks)
    def supersede(self, number: int, pick: int) -> None:
        if fact := self.fact(number, pick):
            new = NewFact(line := self.written.new(), supersedes=[fact.id])
            self.do(number, remember, store_named(fact.store), new, written=[line])

    @rule(number=homes, pick=picks, add=st.booleans(), fault=st.none() | places)
    def edit(self, number: int, pick: int, add: bool, fault: int | None) -> None:
        if fact := self.fact(number, pick):
            line = self.written.new()
            text = f"{fact.text}\n{line}" if add else _replaced(fact.text, pick, line, self.written)
            self.edited(number, fact, Edit(text=text), [line], fault)

    @rule(number=homes, pick=picks)
    def retitle(self, number: int, pick: int) -> None:
        if fact := self.fact(number, pick):
            title = self.written.new("title: bittern{} of the reeds")
            self.edited(number, fact, Edit(title=title.removeprefix("title: ")), [title], None)

    @rule(number=homes, pick=picks, fault=st.none() | places)
    def delete(self, number: int, pick: int, fault: int | None) -> None:
        if fact := self.fact(number, pick):
            gone = self.written.of((self.homes[number].tree / fact.path).read_bytes())
            self.do(number, delete_fact, store_named(fact.store), fact.id, deleted=gone, fault=fault)

    # ── by hand ───────────────────────────────────────────────────────────────────────────────────────────

    @rule(number=homes, pick=picks, where=picks, how=st.sampled_from(("change", "add", "end", "cut")))
    def edit_by_hand(self, number: int, pick: int, where: int, how: str) -> None:
        if path := self.file(number, pick, "knowledge", "rules", "journal"):
            before = self.homes[number].files()[path]
            lines = before.decode().split("\n")
            ours = [place for place, line in enumerate(lines) if self.written.of(line) and is_text(line)]
            new = ("- " if "/rules/" in path and pick % 3 else "") + self.written.new()
            if how == "end" or not ours:
                lines = [*lines[:-1], new, ""] if where % 2 else [*lines, new]
            elif how == "add":
                lines.insert(ours[where % len(ours)], new)
            else:
                place = ours[where % len(ours)]
                lines[place : place + 1] = [new] if how == "change" else []
            self.save(number, path, "\n".join(lines), pick % 2 == 0)

    @rule(number=homes, store=stores, name=st.sampled_from(NAMES))
    def make_by_hand(self, number: int, store: StoreRef, name: str) -> None:
        path = f"{store.folder}/knowledge/{name}"
        held = self.homes[number].files().get(path, b"# Topic\n\n").decode()
        self.save(number, path, f"{held.rstrip()}\n\n{self.written.new()}\n")

    @rule(number=homes, pick=picks, lane=st.sampled_from(("knowledge", "rules", "journal", "handoff")))
    def remove_by_hand(self, number: int, pick: int, lane: str) -> None:
        if path := self.file(number, pick, lane):
            self.save(number, path, None)

    @rule(number=homes, pick=picks, name=st.sampled_from(("moved.md", "deep/moved.md")))
    def move_by_hand(self, number: int, pick: int, name: str) -> None:
        home, path = self.homes[number], self.file(number, pick, "knowledge")
        if path is None:
            return
        place = f"{path.partition('/knowledge/')[0]}/knowledge/{pick}{name}"
        if place not in (files := home.files()):
            home.write(place, files[path])
            (home.tree / path).unlink()
            self.done.operations += 1

    @rule(number=homes, pick=picks, where=picks)
    def remove_entry_by_hand(self, number: int, pick: int, where: int) -> None:
        if path := self.file(number, pick, "journal"):
            text = self.homes[number].files()[path].decode()
            if entries := raw_entries(text.encode())[1]:
                self.save(number, path, text.replace(entries[where % len(entries)][1], ""))

    @rule(number=homes)
    def commit_by_hand(self, number: int) -> None:
        if (self.homes[number].tree / ".git").exists():
            self.homes[number].git("add", "-A")
            self.homes[number].git("commit", "-q", "-m", "by hand", check=False)  # there may be nothing

    # ── other lanes ───────────────────────────────────────────────────────────────────────────────────────

    @rule(number=homes, store=stores)
    def add_rule(self, number: int, store: StoreRef) -> None:
        self.do(number, add_rule, store, line := self.written.new(), written=[line])

    @rule(number=homes, store=projects, count=st.integers(1, 2), fault=st.none() | places)
    def journal(self, number: int, store: StoreRef, count: int, fault: int | None) -> None:
        lines = [self.written.new() for _ in range(count)]
        self.do(number, append_to, store, "\n".join(lines), "test", written=lines, fault=fault)

    @rule(number=homes, pick=picks)
    def handoff(self, number: int, pick: int) -> None:
        caller = Caller("agent", "tester", None, str(self.folders[pick % len(self.folders)]))
        line = self.written.new()
        self.do(number, set_handoff, line, caller=caller)
        self.written.scenes.add(line)

    @rule(number=homes, store=stores, named=st.booleans())
    def label(self, number: int, store: StoreRef, named: bool) -> None:
        if (self.homes[number].tree / store.folder).is_dir():
            label = self.written.new("label {}") if named else ""
            self.do(number, label_store, store, label)
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
                self.do(number, merge_stores, *pair, fault=fault)

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
        self.exchange(number)

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
            path = self.file(number, pick, "knowledge")
            if (
                path is None or name == "renamed"
            ):  # what is saved between two steps of the kernel nobody can see
                path = f"{STORES[0].folder}/knowledge/saved-{self.written.count}.md"
            home.write(path, home.files().get(path, b"# Saved\n") + f"\n{line}\n".encode(), pick % 2 == 0)

        with home.at(place, save):
            self.exchange(number)
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
            self.do(number, resolve_conflict, conflict.path, keep, deleted=gone)

    @rule(order=st.permutations((0, 1, 2)))
    def converge(self, order: Sequence[int]) -> None:
        self.agree(order)

    @rule(order=st.permutations((0, 1, 2)), pick=picks)
    def remove_everywhere(self, order: Sequence[int], pick: int) -> None:
        """What one machine removes while no other touches it is gone on all."""
        self.agree(order)
        if path := self.file(order[0], pick, "knowledge", "rules", "journal"):
            self.save(order[0], path, None)
            self.agree(order)
            assert all(path not in home.files() for home in self.homes), path


def _replaced(text: str, pick: int, line: str, written: Written) -> str:
    lines = text.split("\n")
    ours = [place for place, each in enumerate(lines) if plain(each) in written.known]
    if not ours:
        return f"{text}\n{line}"
    lines[ours[pick % len(ours)]] = line
    return "\n".join(lines)
