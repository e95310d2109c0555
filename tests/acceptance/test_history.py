"""Nothing that somebody wrote is lost: hand edits, superseded and deleted facts, stale edits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.house import House, Json


def _edited_by_hand(house: House, store: str, text: str, by_hand: str) -> Json:
    """Add a fact, and edit its file without anybody reading it afterwards."""
    fact = house.add(store, text)
    path = Path(fact["path"])
    path.write_text(path.read_text("utf-8").replace(text, by_hand), "utf-8")
    return fact


def _is_adas(house: House, path: str, line: str) -> bool:
    """Tell whether a line came into git by a commit of the user's own."""
    return house.git("log", "--format=%an", "-S", line, "--reverse", "--", path).splitlines()[:1] == ["Ada"]


@pytest.mark.parametrize("how", ["patch", "edit", "delete", "clear", "supersede", "restore"])
async def test_hand_edit_followed_at_once_is_in_history(
    house: House, project: Path, store: str, how: str
) -> None:
    """What a person typed into the file would be in no version of it, as if it had never been."""
    line = f"Puffin value is typed by hand before {how}."
    fact = _edited_by_hand(house, store, "Puffin value is generated.", line)
    at = f"/memory_stores/{store}/facts/{fact['id']}"
    if how == "patch":
        house.ask("PATCH", at, {"text": "Puffin value is patched."}).done()
    elif how == "edit":
        house.coffer("memory", "edit", ".", fact["id"], "Puffin value is edited.", folder=project)
    elif how == "delete":
        house.ask("DELETE", at).done(204)
    elif how == "clear":
        house.ask("DELETE", f"/memory_stores/{store}/facts").done()
    elif how == "supersede":
        async with house.agent("claude", project) as claude:
            await claude.remember("Puffin value is new.", supersedes=[fact["id"]])
    else:
        commit = house.get(f"{at}/history").done()["versions"][-1]["commit"]
        house.ask("POST", f"{at}/restore", {"commit": commit}).done()
    assert line in house.history(fact["path"]) and _is_adas(house, fact["path"], line)
    assert line in [version["text"] for version in house.get(f"{at}/history").done()["versions"]]
    assert line not in house.texts(store, "puffin value", top_k=20)
    assert house.git("status", "--porcelain", str(house.store_dir(store))) == ""


def test_file_made_by_hand_and_cleared_at_once_is_in_history(house: House, project: Path, store: str) -> None:
    """A note that was never committed would be gone for good."""
    house.add(store, "Razorbill fact.")
    path = house.store_dir(store) / "knowledge" / "by-hand.md"
    path.write_text("Razorbill note, made by hand.\n", "utf-8")
    house.ask("DELETE", f"/memory_stores/{store}/facts").done()
    assert not path.exists()
    assert "Razorbill note, made by hand." in house.history(str(path))
    assert _is_adas(house, str(path), "Razorbill note, made by hand.")


async def test_superseded_fact_is_archived(house: House, project: Path, store: str) -> None:
    """Agents would be told the old beside the new, or the old would be gone for good."""
    async with house.agent("claude", project) as claude:
        old = await claude.remember("Gannet port is 8080.")
        wide = await claude.remember("Gannet port everywhere is 80.", scope="global")
        before = Path(house.get(f"/memory_stores/{store}/facts/{old['id']}").done()["path"]).read_bytes()
        new = await claude.remember("Gannet port is 9090.", supersedes=[old["id"], wide["id"]])
        assert await claude.texts("gannet port") == ["Gannet port is 9090."]
        assert [fact["id"] for fact in (await claude.answer("list_memory"))["facts"]] == [new["id"]]
        foreign = house.add(house.store(house.project()), "Gannet port of another project.")
        with house.nothing_written():
            for unknown in ("0" * 26, foreign["id"], old["id"]):
                error = await claude.refusal("remember", text="Gannet port is 1.", supersedes=[unknown])
                assert error["code"] == "MEMORY_NOT_FOUND"
    (archived,) = (house.store_dir(store) / "superseded").iterdir()
    assert archived.read_bytes() == before
    (archived_wide,) = (house.tree / "global" / "superseded").glob("gannet-*")
    assert "Gannet port everywhere is 80." in archived_wide.read_text("utf-8")
    house.get(f"/memory_stores/{store}/facts/{old['id']}").refusal(404, "MEMORY_NOT_FOUND")
    assert [event["event"] for event in house.events(store)][:3].count("memory_superseded") == 2
    assert house.git("status", "--porcelain", str(house.store_dir(store))) == ""
    subject = house.git("log", "-1", "--format=%s", "--", str(archived)).strip()
    assert subject == "remember: Gannet port is 9090."


def test_superseding_over_rest(house: House, store: str) -> None:
    """A person who corrects by a new fact would leave the wrong one in place."""
    old = house.add(store, "Fulmar port is 8080.")
    house.add(store, "Fulmar port is 9090.", supersedes=[old["id"]])
    assert house.texts(store, "fulmar") == ["Fulmar port is 9090."]


async def test_the_past_through_the_command_line(house: House, project: Path, store: str) -> None:
    """What an agent did wrong could be neither found, nor seen in its surroundings, nor taken back."""
    async with house.agent("claude", project) as claude:
        fact = await claude.remember("Dunlin port is 8080.")
    then = house.get("/history").done()["commits"][0]
    assert (then["op"], then["agent"], bool(then["session"])) == ("remember", "claude", True)
    house.coffer("memory", "edit", ".", fact["id"], "Dunlin port is 9090.", folder=project)
    house.coffer("memory", "add", ".", "Dunlin beside it.", folder=project)
    edit = house.get(f"/memory_stores/{store}/history").done()["commits"][1]
    assert edit["op"] == "edit"

    commit = then["commit"][:12]
    assert "Dunlin port is 8080." in house.coffer("memory", "facts", ".", "--at", commit, folder=project)
    found = house.coffer("memory", "recall", ".", "dunlin", "--at", commit, folder=project)
    assert "8080" in found and "9090" not in found and "beside" not in found
    differ = house.coffer("memory", "diff", ".", commit, edit["commit"], folder=project)
    assert "-Dunlin port is 8080." in differ and "+Dunlin port is 9090." in differ and "beside" not in differ
    blamed = house.coffer("memory", "blame", ".", fact["id"], folder=project).splitlines()
    assert blamed[-1].startswith(edit["commit"][:12]) and blamed[-1].endswith("Dunlin port is 9090.")
    assert any(line.startswith(commit) and "claude" in line and fact["id"] in line for line in blamed)

    house.coffer("memory", "undo", edit["commit"][:12], folder=project)
    assert sorted(house.texts(store, "dunlin")) == ["Dunlin beside it.", "Dunlin port is 8080."]
    newest = house.coffer("memory", "history", "--all", folder=project).splitlines()[1]
    assert "undo: edit: Dunlin port is 9090." in newest
    assert house.git("status", "--porcelain") == ""


def test_undo_of_what_later_work_stands_on(house: House, project: Path, store: str) -> None:
    """Undo would throw away what came later, or refuse without saying what is in the way."""
    fact = house.add(store, "Sanderling one.")
    at = f"/memory_stores/{store}/facts/{fact['id']}"
    house.ask("PATCH", at, {"text": "Sanderling two."}).done()
    newest, added = house.get(f"/memory_stores/{store}/history").done()["commits"]
    with house.nothing_written():
        error = house.ask("POST", "/memory_stores/undo", {"commit": added["commit"]}).refusal(
            409, "UNDO_CONFLICT"
        )
        assert [later["commit"] for later in error["details"]["later"]] == [newest["commit"]]
        said = house.coffer("memory", "undo", added["commit"], folder=project, status=1)
    assert "can't be undone" in said and newest["commit"][:12] in said
    house.ask("POST", "/memory_stores/undo", {"commit": newest["commit"]}).done()
    assert house.get(at).done()["text"] == "Sanderling one."


def test_stale_edit_is_refused(house: House, store: str) -> None:
    """Whoever saves last would silently undo what another wrote meanwhile."""
    fact = house.add(store, "Kittiwake version one.")
    at = f"/memory_stores/{store}/facts/{fact['id']}"
    first = house.get(at).headers["etag"]
    second = house.ask("PATCH", at, {"text": "Kittiwake version two."}, {"If-Match": first})
    assert second.done()["text"] == "Kittiwake version two." and second.headers["etag"] != first
    with house.nothing_written():
        body = {"text": "Kittiwake version from an old page."}
        house.ask("PATCH", at, body, {"If-Match": first}).refusal(412, "STALE_WRITE")
        house.ask("DELETE", at, None, {"If-Match": first}).refusal(412, "STALE_WRITE")
        house.ask("PATCH", at, body, {"If-Match": f"W/{second.headers['etag']}"}).refusal(412, "STALE_WRITE")
        house.ask("PATCH", at, body, {"If-Match": "not quoted"}).refusal(422, "CONFIG_INVALID")

    path = Path(fact["path"])
    path.write_text(path.read_text("utf-8").replace("two", "by hand"), "utf-8")
    edited = path.read_bytes()
    house.ask("PATCH", at, {"text": "x"}, {"If-Match": second.headers["etag"]}).refusal(412, "STALE_WRITE")
    assert path.read_bytes() == edited
    fresh = house.get(at).headers["etag"]
    done = house.ask("PATCH", at, {"text": "Kittiwake version four."}, {"If-Match": fresh}).done()
    assert done["text"] == "Kittiwake version four."
    assert house.ask("DELETE", at, None, {"If-Match": "*"}).status == 204


def test_history_of_a_fact_and_restoring_it(house: House, project: Path, store: str) -> None:
    """A bad edit could be looked at and never taken back."""
    fact = house.add(store, "Guillemot one.")
    at = f"/memory_stores/{store}/facts/{fact['id']}"
    house.ask(
        "PATCH", at, {"text": "Guillemot two."}, {"X-Coffer-Actor": "agent", "X-Coffer-Agent": "codex"}
    ).done()
    house.ask("PATCH", at, {"text": "Guillemot three."}).done()
    versions = house.get(f"{at}/history").done()["versions"]
    assert [version["text"] for version in versions] == [
        "Guillemot three.",
        "Guillemot two.",
        "Guillemot one.",
    ]
    assert [(version["op"], version["actor"], version["agent"]) for version in versions] == [
        ("edit", "user", None),
        ("edit", "agent", "codex"),
        ("remember", "user", None),
    ]
    assert [version["commit"] for version in versions] == house.git(
        "log", "--format=%H", "--", fact["path"]
    ).split()

    restored = house.ask("POST", f"{at}/restore", {"commit": versions[-1]["commit"][:12]}).done()
    assert (restored["id"], restored["path"], restored["text"]) == (
        fact["id"],
        fact["path"],
        "Guillemot one.",
    )
    assert house.texts(store, "guillemot") == ["Guillemot one."]
    assert len(house.get(f"{at}/history").done()["versions"]) == 4

    told = house.coffer("memory", "history", ".", "--fact", fact["id"], folder=project)
    assert versions[1]["commit"][:12] in told
    house.coffer("memory", "restore", ".", fact["id"], versions[1]["commit"][:12], folder=project)
    assert house.texts(store, "guillemot") == ["Guillemot two."]


@pytest.mark.parametrize("how", ["rest", "clear", "supersede", "rm"])
def test_a_deleted_fact_can_be_restored(house: House, project: Path, store: str, how: str) -> None:
    """A fact deleted by mistake would take a git expert to get back."""
    fact = house.add(store, "Shearwater fact.")
    at = f"/memory_stores/{store}/facts/{fact['id']}"
    if how == "rest":
        house.ask("DELETE", at).done(204)
    elif how == "clear":
        house.ask("DELETE", f"/memory_stores/{store}/facts").done()
    elif how == "supersede":
        house.add(store, "Another.", supersedes=[fact["id"]])
    else:
        Path(fact["path"]).unlink()
    assert house.recall(store, "shearwater") == []
    versions = house.get(f"{at}/history").done()["versions"]
    assert versions[-1]["text"] == "Shearwater fact."
    restored = house.ask("POST", f"{at}/restore", {"commit": versions[-1]["commit"]}).done()
    assert (restored["id"], restored["path"]) == (fact["id"], fact["path"])
    assert house.texts(store, "shearwater") == ["Shearwater fact."]
    assert house.git("status", "--porcelain", fact["path"]) == ""


@pytest.mark.report("B13")
def test_history_of_a_store_tells_every_operation(house: House, project: Path, store: str) -> None:
    """Texts would come and go, and nobody could say when and by whom."""
    fact = house.add(store, "Petrel one.")
    at = f"/memory_stores/{store}/facts/{fact['id']}"
    house.ask("PATCH", at, {"text": "Petrel two."}).done()
    house.ask("DELETE", at).done(204)
    house.add(store, "Petrel three.")
    house.ask("DELETE", f"/memory_stores/{store}/facts").done()
    house.ask("PATCH", f"/memory_stores/{store}/label", {"label": "Petrels"}).done()
    history = house.get(f"/memory_stores/{store}/history").done()["commits"]
    operations = ["label", "clear", "remember", "delete", "edit", "remember"]
    assert [commit["op"] for commit in history] == operations
    assert [commit["commit"] for commit in history] == house.git(
        "log", "--format=%H", "--", str(house.store_dir(store))
    ).split()
    assert fact["path"] in history[-1]["paths"]

    inside = fact["path"].removeprefix(f"{house.store_dir(store)}/")
    touched = house.get(f"/memory_stores/{store}/history?path={inside}").done()["commits"]
    assert [commit["op"] for commit in touched] == ["delete", "edit", "remember"]
    older = house.get(f"/memory_stores/{store}/history?limit=2&before={history[2]['commit']}").done()
    assert older["commits"] == history[3:5]
    assert "Petrels" in house.coffer("memory", "history", folder=project)
    assert [event["event"] for event in house.events(store)] == [
        "store_labelled",
        "memory_cleared",
        "memory_added",
        "memory_deleted",
        "memory_updated",
        "memory_added",
        "store_created",
    ]
