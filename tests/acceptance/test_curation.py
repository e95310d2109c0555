"""A person curates: adds, corrects and deletes over REST, by command, and in an editor of their own."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
import yaml

from tests.acceptance.house import House


@pytest.mark.acceptance(spec="007-memory", scenario="user adds a fact")
def test_user_adds_a_fact_over_rest(house: House, project: Path, store: str) -> None:
    """A person's own fact would be taken for an agent's, or not be found."""
    fact = house.add(store, "Heron fact, typed by hand.", title="Herons", description="About herons")
    path = Path(fact["path"])
    assert path.is_relative_to(house.store_dir(store) / "knowledge" / "inbox")
    header = yaml.safe_load(path.read_text("utf-8").split("---\n")[1])
    assert header["metadata"] == {"actor": "user"}
    assert (header["title"], header["description"]) == ("Herons", "About herons")
    assert house.texts(store, "heron") == ["Heron fact, typed by hand."]
    assert [(event["event"], event["actor"]) for event in house.events(store)] == [
        ("memory_added", "user"),
        ("store_created", "user"),
    ]
    assert house.git("log", "-1", "--format=%an <%ae>", "--", str(path)) == "Ada <ada@example.org>\n"
    assert house.git("status", "--porcelain") == ""


@pytest.mark.acceptance(spec="007-memory", scenario="user adds a fact")
def test_user_adds_a_fact_by_command(house: House, project: Path, store: str) -> None:
    """The command line would be of no use inside a project."""
    house.coffer("memory", "add", ".", "Egret fact, from the shell.", folder=project)
    house.coffer("memory", "add", ".", "-", "--title", "Piped", folder=project, stdin="Egret, piped in.\n")
    facts = house.get(f"/memory_stores/{store}/facts").done()["facts"]
    assert {(fact["title"], fact["text"], fact["actor"], fact["lane"]) for fact in facts} == {
        ("Egret fact, from the shell.", "Egret fact, from the shell.", "user", "inbox"),
        ("Piped", "Egret, piped in.", "user", "inbox"),
    }
    assert "from the shell" in house.coffer("memory", "recall", ".", "egret shell", folder=project)
    assert house.get(f"/memory_stores/{store}").done()["project_root"] == str(project)


@pytest.mark.acceptance(spec="007-memory", scenario="user corrects a fact out-of-band")
def test_user_corrects_a_fact_at_every_door(house: House, project: Path, store: str) -> None:
    """A wrong fact would go on being recalled after it was corrected."""
    fact = house.add(store, "Stork port is 8080.")
    at, path = f"/memory_stores/{store}/facts/{fact['id']}", Path(fact["path"])

    patched = house.ask("PATCH", at, {"text": "Stork port is 8081."}).done()
    assert (patched["id"], patched["path"]) == (fact["id"], fact["path"])
    assert house.texts(store, "stork") == ["Stork port is 8081."]
    assert path.read_text("utf-8").endswith("\nStork port is 8081.\n")

    house.coffer("memory", "edit", ".", fact["id"], "Stork port is 8082.", folder=project)
    assert house.texts(store, "stork") == ["Stork port is 8082."]

    path.write_text(path.read_text("utf-8").replace("8082", "8083"), "utf-8")
    assert house.texts(store, "stork") == ["Stork port is 8083."]
    assert house.get(at).done()["text"] == "Stork port is 8083."
    assert [event["event"] for event in house.events(store)].count("memory_updated") == 2


@pytest.mark.acceptance(spec="007-memory", scenario="user deletes a fact")
@pytest.mark.parametrize("door", ["rest", "command", "rm"])
@pytest.mark.report("B20")
def test_user_deletes_a_fact(house: House, project: Path, store: str, door: str) -> None:
    """What was deleted would still be recalled, or could never be got back."""
    fact = house.add(store, "Ibis fact that is wrong.")
    house.add(store, "Ibis fact that stays.")
    assert len(house.texts(store, "ibis")) == 2
    if door == "rest":
        assert house.ask("DELETE", f"/memory_stores/{store}/facts/{fact['id']}").done(204) is None
    elif door == "command":
        assert "git history" in house.coffer("memory", "delete", ".", fact["id"], folder=project)
    else:
        Path(fact["path"]).unlink()
    assert house.texts(store, "ibis wrong") == ["Ibis fact that stays."]
    assert not Path(fact["path"]).exists()
    house.get(f"/memory_stores/{store}/facts/{fact['id']}").refusal(404, "MEMORY_NOT_FOUND")
    assert "Ibis fact that is wrong." in house.history(fact["path"])


@pytest.mark.acceptance(spec="007-memory", scenario="out-of-band fact-file edits are visible on recall")
async def test_edit_in_an_editor_is_recalled_at_once(house: House, project: Path, store: str) -> None:
    """What the user corrected in their editor would reach agents later, or never."""
    fact = house.add(store, "Bittern value is alpha.")
    path = Path(fact["path"])
    async with house.agent("claude", project) as claude:
        for old, new in (("alpha", "beta"), ("beta", "gamma, and more")):
            path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
            hits = await claude.recall("bittern")
            assert [(hit["id"], hit["text"]) for hit in hits] == [(fact["id"], f"Bittern value is {new}.")]


@pytest.mark.acceptance(spec="007-memory", scenario="out-of-band fact-file edits are visible on recall")
@pytest.mark.parametrize("how", ["in place", "renamed over"])
async def test_edit_that_keeps_size_and_time_is_recalled(
    house: House, project: Path, store: str, how: str
) -> None:
    """A tool that restores modification times would hide its edits for ever."""
    fact = house.add(store, "Avocet value is 1111.")
    assert house.texts(store, "avocet") == ["Avocet value is 1111."]
    path = Path(fact["path"])
    before = path.stat()
    _rewrite(path, path.read_bytes().replace(b"1111", b"2222"), how)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    async with house.agent("claude", project) as claude:
        assert await claude.texts("avocet") == ["Avocet value is 2222."]


async def test_file_added_by_hand_without_frontmatter_is_a_fact(
    house: House, project: Path, store: str
) -> None:
    """Notes that a person drops into the folder would be invisible until they learn our header."""
    house.add(store, "Something that makes the store.")
    inbox = house.store_dir(store) / "knowledge" / "inbox"
    (inbox / "My notes on Plovers.md").write_text("# Plovers\n\nPlover nests are on level two.\n", "utf-8")
    (house.store_dir(store) / "knowledge" / "waders.md").write_text(
        "Wader topics: plover, dunlin.\n", "utf-8"
    )
    async with house.agent("claude", project) as claude:
        hits = await claude.recall("plover nests level")
        assert "Plover nests are on level two." in hits[0]["text"]
        assert hits[0]["id"].startswith("p-") and len(await claude.recall("plover")) == 2
    listed = house.get(f"/memory_stores/{store}/facts").done()
    assert listed["total"] == 3
    found = next(fact for fact in listed["facts"] if fact["id"] == hits[0]["id"])
    assert found["title"] == "Plovers" and found["actor"] == "user"

    at = f"/memory_stores/{store}/facts/{found['id']}"
    house.ask("PATCH", at, {"text": "# Plovers\n\nPlover nests are on level three."}).done()
    assert house.get(at).done()["text"].endswith("level three.")
    assert house.ask("DELETE", at).status == 204
    assert len(house.recall(store, "plover")) == 1


@pytest.mark.report("B18")
def test_renamed_file_is_the_same_fact(house: House, project: Path, store: str) -> None:
    """Tidying up file names would double every fact."""
    fact = house.add(store, "Godwit fact.")
    path = Path(fact["path"])
    path.rename(path.with_name("a better name.md"))
    assert [hit["id"] for hit in house.recall(store, "godwit")] == [fact["id"]]
    assert house.get(f"/memory_stores/{store}/facts/{fact['id']}").done()["path"].endswith("a better name.md")


@pytest.mark.report("B16")
@pytest.mark.parametrize("how", ["in place", "renamed over"])
def test_fact_is_never_absent_while_it_is_edited(house: House, store: str, how: str) -> None:
    """An agent that asks in the moment of a save would be told that nothing is known."""
    fact = house.add(store, "Turnstone version 0.")
    path, enough, saved = Path(fact["path"]), threading.Event(), [0]
    assert len(house.recall(store, "turnstone")) == 1

    def edit() -> None:
        while not enough.is_set():
            text = path.read_text("utf-8").replace(f"version {saved[0]}.", f"version {saved[0] + 1}.")
            _rewrite(path, text.encode(), how)
            saved[0] += 1

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        for _ in range(40):
            assert [hit["id"] for hit in house.recall(store, "turnstone")] == [fact["id"]]
    finally:
        enough.set()
        editor.join()
    assert house.texts(store, "turnstone") == [f"Turnstone version {saved[0]}."]


@pytest.mark.report("B53", "B54", "B55")
def test_any_title_and_any_name_works(house: House, store: str) -> None:
    """A colon, an emoji or a name typed on a Mac would break a file or hide it."""
    titles = [
        "a: b",
        "#x",
        "- y",
        '"',
        "no",
        "2024-01-01",
        "{{x}}",
        "🚀",
        "???",
        "。",
        "x" * 200,
        "שלום",
        "e\u0301",
    ]
    for title in titles:
        fact = house.add(store, f"Sanderling under the title {title}", title=title)
        assert house.get(f"/memory_stores/{store}/facts/{fact['id']}").done()["title"] == title
    by_hand = house.store_dir(store) / "knowledge" / "Cafe\u0301 notes.md"
    by_hand.write_text("Sanderling note in a decomposed name.\n", "utf-8")
    assert house.get(f"/memory_stores/{store}/facts").done()["total"] == len(titles) + 1
    (hit,) = house.recall(store, "decomposed name")
    assert house.ask("DELETE", f"/memory_stores/{store}/facts/{hit['id']}").status == 204
    assert not by_hand.exists() and house.git("status", "--porcelain", str(house.store_dir(store))) == ""


def test_commands_tell_what_rest_tells(house: House, project: Path, store: str) -> None:
    """A script that uses --json would see another memory than a program that uses the API."""
    fact = house.add(store, "Whimbrel fact.")
    for arguments, path in (
        (("memory", "facts"), f"/memory_stores/{store}/facts"),
        (("memory", "get", ".", fact["id"]), f"/memory_stores/{store}/facts/{fact['id']}"),
        (("memory", "history"), f"/memory_stores/{store}/history"),
        (("memory", "list"), "/memory_stores"),
        (("audit",), "/audit"),
    ):
        told = json.loads(house.coffer(*arguments, "--json", folder=project))
        assert told == house.get(path).done()


async def test_reads_tell_where_the_files_are(house: House, project: Path, store: str) -> None:
    """The viewer couldn't open or reveal the file that a fact is in."""
    kept = house.add(store, "Curlew fact.")
    read = house.get(f"/memory_stores/{store}/facts/{kept['id']}").done()
    listed = house.get(f"/memory_stores/{store}/facts").done()["facts"][0]
    for fact in (read, listed):
        assert Path(fact["path"]).is_file() and Path(fact["folder_path"]) == Path(fact["path"]).parent
    shown = house.get(f"/memory_stores/{store}").done()
    assert Path(shown["store_dir"]).is_dir() and Path(read["path"]).is_relative_to(shown["store_dir"])
    assert house.recall(store, "curlew")[0]["source"] == f"project:{read['path']}"


def _rewrite(path: Path, content: bytes, how: str) -> None:
    """Save as some editors do, in the file itself, or as others do, by a new file in its place."""
    target = path if how == "in place" else path.with_name(f".{path.name}.swp")
    target.write_bytes(content)
    target.replace(path)
