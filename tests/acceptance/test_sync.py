"""Two machines of one user, each with a daemon of its own, and a host with a password between them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.git_host import PASSWORD, git_host, keep_password
from tests.acceptance.house import House

ORIGIN = "git@github.com:octo/pond.git"


class Machines:
    """A workstation and a laptop, each with a checkout of the same project, and the address between them."""

    def __init__(self, root: Path, url: str) -> None:
        self.url = url
        self.both = []
        for name in ("workstation", "laptop"):
            (root / name).mkdir()
            house = House(root / name)
            keep_password(house.user_home)
            self.both.append(house)
        self.one, self.other = self.both
        self.folders = [house.start().project("pond", ORIGIN) for house in self.both]
        self.store = self.one.store(self.folders[0])
        assert self.other.store(self.folders[1]) == self.store

    def join(self) -> None:
        for house in self.both:
            house.coffer("sync", "init", self.url, "--manual")

    def sync(self, house: House) -> dict[str, Any]:
        run: dict[str, Any] = house.ask("POST", "/sync/run", {}).done()
        assert run["result"] in ("synced", "nothing"), run
        return run

    def settle(self) -> None:
        """Sync one machine, the other, and the first again: then both have everything."""
        for house in (self.one, self.other, self.one):
            self.sync(house)
        assert self.one.git("rev-parse", "main") == self.other.git("rev-parse", "main")
        assert self.one.snapshot() == self.other.snapshot()
        for house in self.both:
            assert house.git("status", "--porcelain") == ""
            house.git("fsck", "--strict")
            assert not [path for path, data in house.snapshot().items() if b"<<<<<<<" in data]

    def file(self, house: House, path: str) -> Path:
        file = house.store_dir(self.store) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def said(self, house: House) -> str:
        return "\n".join(data.decode() for data in house.snapshot().values())


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with git_host(tmp_path) as url:
        machines = Machines(tmp_path, url)
        try:
            yield machines
        finally:
            for house in machines.both:
                house.stop()


def test_a_fact_of_one_machine_is_recalled_on_the_other(machines: Machines) -> None:
    """What was told to an agent at work would have to be told again at home."""
    machines.one.add(machines.store, "Mallards are counted on Mondays.")
    assert machines.url in machines.one.coffer("sync", "init", machines.url, "--manual")
    machines.other.add(machines.store, "Teal are counted on Tuesdays.")
    machines.other.coffer("sync", "init", machines.url, "--manual")
    assert "Mallards are counted on Mondays." in machines.other.texts(machines.store, "mallards counted")
    assert "came in" in machines.one.coffer("sync", "run")
    machines.settle()
    assert "Teal are counted on Tuesdays." in machines.one.texts(machines.store, "teal counted")

    machines.one.add("global", "Binoculars are in the shed.")
    machines.sync(machines.one)
    machines.sync(machines.other)
    assert machines.other.texts("global", "binoculars") == ["Binoculars are in the shed."]
    status = json.loads(machines.other.coffer("sync", "status", "--json"))
    assert status["state"] == "idle" and status["remote"] == machines.url and status["last_success_at"]
    assert (status["ahead"], status["behind"]) == (0, 0)
    everything = machines.one.home.rglob("*")
    leaked = [path for path in everything if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert leaked == []


@pytest.mark.report("B58", "B61")
def test_whatever_both_machines_do_while_apart_is_there_afterwards(machines: Machines) -> None:
    """Two machines would overwrite each other, or sync would stop at the first conflict."""
    one, other, store = machines.one, machines.other, machines.store
    topic = "# Pond\n\nIt is deep.\n\nIt is cold.\n\nIt is old.\n"
    machines.file(one, "knowledge/pond.md").write_text(topic)
    machines.file(one, "knowledge/shore.md").write_text("# Shore\n\nReeds.\n")
    kept = one.add(store, "A fact that one machine deletes and the other edits.")
    gone = one.add(store, "A fact that one machine deletes.")
    one.ask("POST", f"/memory_stores/{store}/rules", {"text": "Count before noon."}).done()
    machines.join()
    machines.settle()

    for number, house in enumerate(machines.both):
        name = ("workstation", "laptop")[number]
        house.ask("POST", f"/memory_stores/{store}/journal", {"text": f"Counted on the {name}."}).done(201)
        house.ask("POST", f"/memory_stores/{store}/rules", {"text": f"A rule of the {name}."}).done()
        file = machines.file(house, "knowledge/pond.md")
        line = ("It is deep.", "It is old.")[number]
        file.write_text(file.read_text().replace(line, f"{line[:-1]}, says the {name}."))
        machines.file(house, "knowledge/shore.md").write_text(f"# Shore\n\nReeds, says the {name}.\n")
        house.add(store, f"A fact of the {name}.")
    one.ask("DELETE", f"/memory_stores/{store}/facts/{kept['id']}").done(204)
    one.ask("DELETE", f"/memory_stores/{store}/facts/{gone['id']}").done(204)
    edit = {"text": "A fact that the laptop has edited."}
    other.ask("PATCH", f"/memory_stores/{store}/facts/{kept['id']}", edit).done()
    one.ask("PATCH", f"/memory_stores/{store}/label", {"label": "The pond"}).done()

    machines.settle()
    said = machines.said(one)
    for name in ("workstation", "laptop"):
        for sentence in ("Counted on the", "A rule of the", "A fact of the", "Reeds, says the"):
            assert f"{sentence} {name}." in said
    pond = machines.file(one, "knowledge/pond.md").read_text()
    assert "deep, says the workstation." in pond and "old, says the laptop." in pond
    assert "Count before noon." in said and "A fact that one machine deletes.\n" not in said
    assert "A fact that the laptop has edited." in said
    assert one.get(f"/memory_stores/{store}").done()["label"] == "The pond"
    for house in machines.both:
        conflicts = house.get("/sync/conflicts").done()["conflicts"]
        assert [Path(each["path"]).name for each in conflicts if each["other_path"]] == ["shore.md"]
        assert [each["path"] for each in conflicts if not each["other_path"]]
        assert "conflict" in house.coffer("doctor")

    other.ask("PATCH", f"/memory_stores/{store}/label", {"label": ""}).done()
    machines.settle()
    assert one.get(f"/memory_stores/{store}").done()["label"] is None


def test_a_conflict_is_settled_by_a_command_or_an_editor(machines: Machines) -> None:
    """Two versions of a text would stand side by side for ever."""
    one, other = machines.one, machines.other
    for name in ("a", "b", "c"):
        machines.file(one, f"knowledge/{name}.md").write_text(f"# {name}\n\nThe beginning.\n")
    machines.join()
    machines.settle()
    for number, house in enumerate(machines.both):
        for name in ("a", "b", "c"):
            machines.file(house, f"knowledge/{name}.md").write_text(f"# {name}\n\nVersion {number}.\n")
    machines.settle()
    conflicts = one.get("/sync/conflicts").done()["conflicts"]
    assert len(conflicts) == 3
    first, second, third = conflicts
    before = Path(first["path"]).read_text()
    one.coffer("sync", "resolve", first["path"], "--keep", "this")
    assert Path(first["path"]).read_text() == before and not Path(first["other_path"]).exists()
    text = Path(second["other_path"]).read_text()
    one.coffer("sync", "resolve", second["other_path"], "--keep", "other")
    assert Path(second["path"]).read_text() == text
    Path(third["other_path"]).unlink()
    assert "No conflicts" in one.coffer("sync", "conflicts")
    machines.settle()
    assert other.get("/sync/conflicts").done()["conflicts"] == []


def test_the_later_handoff_of_a_branch_wins_and_the_other_is_in_the_history(machines: Machines) -> None:
    """Work would be resumed from yesterday's state, or the other machine's would be lost."""
    machines.join()
    for house, folder, body in zip(machines.both, machines.folders, ("The older scene.", "The newer scene.")):
        path = machines.file(house, "handoff/main.md")
        stamp = "2026-06-01T10:00:00Z" if body.startswith("The older") else "2026-06-01T11:00:00Z"
        path.write_text(f'---\nbranch: main\nupdated_at: "{stamp}"\n---\n\n{body}\n')
        assert folder
    machines.settle()
    scenes = machines.one.get(f"/memory_stores/{machines.store}/handoff").done()["scenes"]
    assert ["The newer scene." in scene["text"] for scene in scenes] == [True]
    assert "The older scene." in machines.one.git("log", "-p", "--all", "-m")


def test_a_users_own_git_clones_and_may_push_when_that_is_on(machines: Machines, tmp_path: Path) -> None:
    """A person couldn't work on the memory with their own tools, or a push would run over an edit."""
    house = machines.one
    house.add(machines.store, "Mallards are counted on Mondays.")
    token = (house.home / "token").read_text().strip()
    url = f"http://coffer:{token}@127.0.0.1:{house.port}/memory.git"
    clone = tmp_path / "clone"
    house.git("clone", "-q", url, str(clone), folder=tmp_path)
    assert house.git("rev-parse", "HEAD", folder=clone) == house.git("rev-parse", "main")
    wrong = url.replace(token, "wrong")
    with pytest.raises(subprocess.CalledProcessError):
        house.git("-c", "credential.helper=", "clone", "-q", wrong, str(tmp_path / "no"), folder=tmp_path)

    note = clone / "global" / "knowledge" / "by-git.md"
    note.parent.mkdir(parents=True)
    note.write_text("# Pushed\n\nA heron was pushed by git.\n")
    house.git("add", "-A", folder=clone)
    house.git("commit", "-q", "-m", "Add a heron", folder=clone)
    with pytest.raises(subprocess.CalledProcessError):
        house.git("push", "-q", folder=clone)
    assert "Pushing is on" in house.coffer("sync", "serve", "--push", "on")
    house.git("push", "-q", folder=clone)
    assert house.texts("global", "heron pushed") and house.git("status", "--porcelain") == ""
    assert house.git("rev-parse", "HEAD", folder=clone) == house.git("rev-parse", "main")

    edited = house.tree / "global" / "knowledge" / "by-git.md"
    edited.write_text("# Pushed\n\nEdited here and not committed.\n")
    note.write_text("# Pushed\n\nEdited in the clone.\n")
    house.git("commit", "-q", "-am", "Edit it", folder=clone)
    with pytest.raises(subprocess.CalledProcessError) as refused:
        house.git("push", folder=clone)
    assert "fetch first" in refused.value.stderr
    assert "Edited here" in edited.read_text()
    for words in (
        ["push", "-f", "origin", "HEAD~1:main"],
        ["push", "origin", ":main"],
        ["push", "origin", "HEAD:other"],
    ):
        with pytest.raises(subprocess.CalledProcessError):
            house.git(*words, folder=clone)


@pytest.mark.report("B05")
def test_what_was_just_written_is_never_taken_for_removed(machines: Machines) -> None:
    """A note made in the same second as a sync would be deleted on the other machine, or never reach it."""
    machines.join()
    for number in range(6):
        here, there = machines.both[number % 2], machines.both[1 - number % 2]
        machines.file(here, f"knowledge/by-hand-{number}.md").write_text(
            f"# Note\n\nWritten at once {number}.\n"
        )
        fact = here.add(machines.store, f"Remembered at once {number}.")
        machines.sync(here)
        machines.sync(there)
        texts = [each["text"] for each in there.get(f"/memory_stores/{machines.store}/facts").done()["facts"]]
        assert fact["text"] in texts and len(texts) == 2 * (number + 1)
    machines.settle()


@pytest.mark.report("B24")
def test_a_push_that_the_host_declines_is_told_and_made_up_for(machines: Machines, tmp_path: Path) -> None:
    """Two machines would hold different memories, and both would say that all is well."""
    machines.join()
    hook = tmp_path / "memory.git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho the quota is used up >&2\nexit 1\n")
    hook.chmod(0o755)
    machines.one.add(machines.store, "Mallards are counted on Mondays.")
    run = machines.one.ask("POST", "/sync/run", {}).done()
    assert run["result"] == "failed" and "quota is used up" in run["reason"]
    status = machines.one.get("/sync/status").done()
    assert status["state"] == "failing" and status["ahead"] == 1
    assert "quota is used up" in machines.one.coffer("doctor")
    assert "quota" in machines.one.coffer("sync", "run", status=1)
    hook.unlink()
    machines.settle()
    counts = [house.get(f"/memory_stores/{machines.store}").done()["fact_count"] for house in machines.both]
    assert counts == [1, 1] and machines.one.get("/sync/status").done()["state"] == "idle"


def test_the_memory_is_whole_without_coffer(machines: Machines, tmp_path: Path) -> None:
    """A person who leaves would find their memory locked in, or mangled by the first merge with plain git."""
    one = machines.one
    machines.file(one, "knowledge/pond.md").write_text("# Pond\n\nIt is deep.\n")
    one.add(machines.store, "Mallards are counted on Mondays.")
    one.coffer("sync", "init", machines.url, "--manual")
    one.coffer("daemon", "stop")
    clones = [tmp_path / "plain-1", tmp_path / "plain-2"]
    for clone in clones:
        one.git("clone", "-q", machines.url, str(clone), folder=tmp_path)
    assert "Mondays" in one.git("grep", "-i", "mallards", folder=clones[0])
    assert "remember: Mallards" in one.git("log", "--format=%s", folder=clones[0])
    pond = f"projects/{machines.store.removeprefix('project-')}/knowledge/pond.md"
    for number, clone in enumerate(clones):
        (clone / pond).write_text(f"# Pond\n\nIt is deep, says clone {number}.\n")
        (clone / pond).with_name(f"new-{number}.md").write_text(f"# New\n\nMade by clone {number}.\n")
        one.git("add", "-A", folder=clone)
        one.git("commit", "-q", "-m", f"Edit in clone {number}", folder=clone)
    one.git("push", "-q", folder=clones[0])
    with pytest.raises(subprocess.CalledProcessError):
        one.git("pull", "-q", "--no-rebase", folder=clones[1])
    assert "<<<<<<<" in (clones[1] / pond).read_text()
    (clones[1] / pond).write_text("# Pond\n\nIt is deep, say both clones.\n")
    one.git("commit", "-q", "-am", "Merge by hand", folder=clones[1])
    one.git("push", "-q", folder=clones[1])

    machines.other.coffer("sync", "init", machines.url, "--manual")
    texts = machines.other.texts(machines.store, "pond deep clones new made", top_k=10)
    assert any("say both clones" in text for text in texts)
    assert sum("Made by clone" in text for text in texts) == 2


def test_the_memory_is_served_where_the_daemon_has_no_git(tmp_path: Path) -> None:
    """On a machine without a git program of its own nobody could fetch the memory."""
    empty = tmp_path / "bin"
    empty.mkdir()
    house = House(tmp_path, PATH=str(empty))
    git = shutil.which("git")
    assert git is not None
    try:
        house.start().add("global", "Mallards are counted on Mondays.")
        token = (house.home / "token").read_text().strip()
        url = f"http://coffer:{token}@127.0.0.1:{house.port}/memory.git"
        clone = tmp_path / "clone"
        for words in (["clone", "-q", url, str(clone)], ["-C", str(clone), "fsck", "--strict"]):
            subprocess.run([git, *words], check=True, timeout=60, env={"HOME": str(house.user_home)})
        assert [path.read_text() for path in clone.rglob("mallards-*.md")]
        house.add("global", "Teal are counted on Tuesdays.")
        subprocess.run([git, "-C", str(clone), "pull", "-q"], check=True, timeout=60)
        assert [path.read_text() for path in clone.rglob("teal-*.md")]
    finally:
        house.stop()
