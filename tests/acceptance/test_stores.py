"""Stores: what one holds, what it is called, and emptying it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.house import House

TOPIC = (
    "---\ntitle: Waterfowl\ndescription: What lives on the pond\n---\n\n# Waterfowl\n\nMallard and teal.\n"
)


@pytest.mark.acceptance(spec="007-memory", scenario="clear a memory scope")
@pytest.mark.parametrize("door", ["rest", "command"])
def test_clear_removes_every_fact_and_keeps_the_store(
    house: House, project: Path, store: str, door: str
) -> None:
    """Starting over would leave facts behind, lose the store with its name, or take other stores along."""
    neighbour = house.store(house.project())
    for name in (store, neighbour):
        house.add(name, "Mallard fact.")
        house.add(name, "Teal fact.")
    knowledge = house.store_dir(store) / "knowledge"
    (knowledge / "waterfowl.md").write_text(TOPIC, "utf-8")
    house.ask("PATCH", f"/memory_stores/{store}/label", {"label": "The pond"}).done()

    if door == "rest":
        assert house.ask("DELETE", f"/memory_stores/{store}/facts").done() == {"cleared": 3}
    else:
        assert "--yes" in house.coffer("memory", "clear", ".", folder=project, status=1)
        assert "3 facts" in house.coffer("memory", "clear", ".", "--yes", folder=project)
    assert not list(knowledge.rglob("*.md")) and house.recall(store, "mallard teal") == []
    shown = house.get(f"/memory_stores/{store}").done()
    assert shown["exists"] and shown["label"] == "The pond" and shown["fact_count"] == 0
    assert store in [each["name"] for each in house.get("/memory_stores").done()["memory_stores"]]
    assert len(house.recall(neighbour, "mallard teal")) == 2
    assert house.events(store)[0]["event"] == "memory_cleared"
    assert house.events(store)[0]["details"] == {"count": 3}

    house.add(store, "Wigeon fact, after the clearing.")
    assert house.texts(store, "wigeon mallard") == ["Wigeon fact, after the clearing."]
    assert house.git("status", "--porcelain") == ""


@pytest.mark.acceptance(spec="007-memory", scenario="user renames a memory store")
def test_user_renames_a_store(house: House) -> None:
    """A store from another machine would show as 26 letters for ever."""
    store = "project-" + "3" * 26
    at = f"/memory_stores/{store}"
    house.ask("PATCH", f"{at}/label", {"label": "Ghost"}).refusal(404, "MEMORY_STORE_NOT_FOUND")
    assert not house.get(at).done()["exists"]

    house.add(store, "A fact whose folder nobody recorded.")
    assert house.get(at).done()["display_name"] == store
    assert house.ask("PATCH", f"{at}/label", {"label": "  Old website \n"}).done()["label"] == "Old website"
    listed = house.get("/memory_stores").done()["memory_stores"]
    assert [each["display_name"] for each in listed if each["name"] == store] == ["Old website"]
    assert house.get(at).done()["display_name"] == "Old website"
    assert "Old website" in house.coffer("memory", "list")
    assert "nobody recorded" in house.coffer("memory", "recall", "Old website", "recorded")
    assert house.events(store)[0]["event"] == "store_labelled" and "website" not in str(house.events(store))

    house.coffer("memory", "label", "Old website", "Archive")
    assert house.get(at).done()["label"] == "Archive"
    cleared = house.ask("PATCH", f"{at}/label", {"label": " \t "}).done()
    assert cleared["label"] is None and cleared["display_name"] == store


def test_label_falls_back_to_the_folder(house: House, project: Path, store: str) -> None:
    """Taking a label away would leave a store without a readable name."""
    house.coffer("memory", "add", ".", "Shelduck fact.", folder=project)
    at = f"/memory_stores/{store}"
    house.ask("PATCH", f"{at}/label", {"label": "Mine"}).done()
    assert house.ask("PATCH", f"{at}/label", {"label": ""}).done()["display_name"] == project.name


def test_metrics_count_what_is_there(house: House, project: Path, store: str) -> None:
    """A person would judge the size of a memory by wrong numbers."""
    at = f"/memory_stores/{store}/metrics"
    assert house.get(at).done() == {
        "fact_count": 0,
        "topic_count": 0,
        "inbox_count": 0,
        "rule_count": 0,
        "journal_days": 0,
        "handoff_count": 0,
        "disk_bytes": 0,
        "last_write_at": None,
    }
    first = house.add(store, "Gadwall fact.")
    last = house.add(store, "Pintail fact.")
    folder = house.store_dir(store)
    (folder / "knowledge" / "waterfowl.md").write_text(TOPIC, "utf-8")
    for name, text in (
        ("rules/rules.md", "# Rules\n\n- Feed them bread.\n- Never at night.\n"),
        ("journal/2026-01-02.md", "# 2026-01-02\n"),
        ("handoff/main.md", "---\nbranch: main\n---\n\nHere.\n"),
    ):
        (folder / name).parent.mkdir()
        (folder / name).write_text(text, "utf-8")
    metrics = house.get(at).done()
    assert metrics["disk_bytes"] == sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert metrics["last_write_at"] >= last["created_at"] >= first["created_at"]
    counts = {name: metrics[name] for name in metrics if name not in ("disk_bytes", "last_write_at")}
    assert counts == {
        "fact_count": 3,
        "topic_count": 1,
        "inbox_count": 2,
        "rule_count": 2,
        "journal_days": 1,
        "handoff_count": 1,
    }
    shown = house.coffer("memory", "show", folder=project)
    assert "3 (2 in the inbox)" in shown and str(folder) in shown


def test_limit_of_a_store_holds_at_every_door(house: House, project: Path, store: str) -> None:
    """A limit that a person set would bind some writers and not others."""
    fact = house.add(store, "Smew fact.")
    house.ask("PATCH", f"/memory_stores/{store}", {"max_fact_chars": 64}).done()
    for method, at in (("POST", "facts"), ("PATCH", f"facts/{fact['id']}")):
        reply = house.ask(method, f"/memory_stores/{store}/{at}", {"text": "smew " * 13 + "."})
        details = reply.refusal(422, "MEMORY_REJECTED")["details"]
        assert details == {"reason": "too_long", "length": 66, "limit": 64}
    assert house.get(f"/memory_stores/{store}").done()["config"]["max_fact_chars"] == 64
    assert house.texts(store, "smew") == ["Smew fact."]
