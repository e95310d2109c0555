"""One store per project, seen through the doors: adoption, the merge scan, merging, and where old names lead."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from tests.acceptance.house import House

ORIGIN = "git@git.example.org:team/{}.git"


@pytest.mark.acceptance(
    spec="007-memory", scenario="project memory follows the repository across checkout paths"
)
async def test_a_store_by_path_is_adopted(house: House) -> None:
    """With its first remote a project would lose its memory, its place and its name."""
    project = house.project("harbour")
    old = house.store(project)
    async with house.agent("claude", project) as claude:
        await claude.remember("Pelican fact, from before the remote.")
    house.ask("PATCH", f"/memory_stores/{old}/label", {"label": "Pelican works"}).done()
    house.git("remote", "add", "origin", ORIGIN.format("pelican"), folder=project)

    with house.nothing_written():
        assert house.store(project) == old
        assert "Pelican fact" in house.coffer("memory", "recall", ".", "pelican", folder=project)
    async with house.agent("codex", project) as codex:
        assert await codex.texts("pelican") == ["Pelican fact, from before the remote."]
        await codex.remember("Pelican fact, from after it.")
        assert len(await codex.texts("pelican", scope="project")) == 2
    new = house.store(project)
    assert new != old
    shown = house.get(f"/memory_stores/{new}").done()
    assert shown["fact_count"] == 2 and shown["label"] == "Pelican works"
    assert shown["project_root"] == str(project) and shown["remote"] == "git.example.org/team/pelican"
    assert shown["merged_identities"] == [old.removeprefix("project-")]
    assert not house.store_dir(old).exists() and not house.get(f"/memory_stores/{old}").done()["exists"]


async def test_the_command_line_adopts_too(house: House) -> None:
    """Who adds by hand would write to the old store for ever, since the command looks its name up first."""
    project = house.project("egret")
    old = house.store(project)
    house.coffer("memory", "add", ".", "Egret fact one.", folder=project)
    house.git("remote", "add", "origin", ORIGIN.format("egret"), folder=project)
    house.coffer("memory", "add", ".", "Egret fact two.", folder=project)
    assert house.store(project) != old
    assert sorted(house.texts(house.store(project), "egret")) == ["Egret fact one.", "Egret fact two."]
    assert not house.store_dir(old).exists()


def test_the_start_adopts(own_house: House) -> None:
    """A project that is only read would never be found by its remote."""
    own_house.start()
    project = own_house.project("heron")
    old = own_house.store(project)
    own_house.coffer("memory", "add", ".", "Heron fact.", folder=project)
    own_house.coffer("daemon", "stop")
    own_house.git("remote", "add", "origin", ORIGIN.format("heron"), folder=project)
    own_house.start()
    for _ in range(500):
        if (new := own_house.store(project)) != old:
            break
    assert own_house.texts(new, "heron") == ["Heron fact."]


@pytest.mark.acceptance(spec="007-memory", scenario="merge scan degrades cleanly without an internal engine")
def test_scan_without_a_model(house: House) -> None:
    """Without a model the scan would fail, or hide what is certain; or it would merge on its own."""
    here, there = house.project("ibis"), house.project("ibis-old")
    house.git("remote", "add", "origin", ORIGIN.format("ibis-old"), folder=here)
    first = house.store(here)
    house.coffer("memory", "add", ".", "Ibis fact.", folder=here)
    house.git("remote", "set-url", "origin", ORIGIN.format("ibis"), folder=here)
    second = house.store(here)
    house.coffer("memory", "add", ".", "Ibis fact in the new place.", folder=here)
    house.coffer("memory", "add", ".", "Ibis fact of another project.", folder=there)
    with house.nothing_written():
        scan = house.ask("POST", "/memory_stores/merge_scan").done()
        told = house.coffer("memory", "merge-scan")
    assert scan["engine"] == "no_model" and scan["truncated"] is False
    ours = [one for one in scan["proposals"] if {one["source"], one["target"]} & {first, second}]
    assert len(ours) == 1 and {ours[0]["source"], ours[0]["target"]} == {first, second}
    assert ours[0]["confidence"] == "certain" and ours[0]["judged_by"] == "remote"
    assert ours[0]["source_evidence"]["remote"] == "git.example.org/team/ibis"
    command = re.search(r"coffer memory merge (\S+) (\S+)", told)
    assert command and "no model is connected" in told
    doctor = house.get("/doctor").done()["checks"]
    assert any(f"coffer memory merge {first} {second}" in (one["action"] or "") for one in doctor)


@pytest.mark.acceptance(
    spec="007-memory", scenario="merging two stores consolidates additively and retires the source"
)
def test_merging_keeps_everything(house: House) -> None:
    """What one of two stores knew would be gone once they are one."""
    projects = house.project("stork-old"), house.project("stork")
    source, target = map(house.store, projects)
    for store, word, headers in (
        (source, "old", {"X-Coffer-Cwd": quote(str(projects[0]))}),
        (target, "new", {}),  # its project isn't known on this machine
    ):
        for lane, status in (("facts", 201), ("journal", 201), ("rules", 200)):
            told = {"text": f"Stork {lane}, {word}."}
            house.ask("POST", f"/memory_stores/{store}/{lane}", told, headers).done(status)
        topic = house.store_dir(store) / "knowledge" / "stork.md"
        topic.write_text(f"Stork topic, {word}.\n")
    shared = "<!-- entry 2026-01-01T10:00:00Z user test -->\nStork entry, shared.\n"
    for store in (source, target):
        (house.store_dir(store) / "journal" / "2026-01-01.md").write_text(shared)
    house.coffer("memory", "label", source, "Storks")

    done = house.ask("POST", "/memory_stores/merge", {"source": source, "target": target}).done()

    assert done["target"] == target and done["label_moved"] and done["root_moved"]
    assert done["reorg_status"] == "no_model" and done["aliases"] == [source.removeprefix("project-")]
    kept = "\n".join(path.read_text() for path in house.store_dir(target).rglob("*.md"))
    for word in ("old", "new"):
        for kind in ("facts", "journal", "rules", "topic"):
            assert f"Stork {kind}, {word}." in kept
    assert kept.count("Stork entry, shared.") == 1
    assert {"Stork facts, old.", "Stork facts, new.", "Stork topic, old.", "Stork topic, new."} <= set(
        house.texts(target, "stork", top_k=20)
    )
    assert not house.store_dir(source).exists()
    assert source not in [one["name"] for one in house.get("/memory_stores").done()["memory_stores"]]
    shown = house.get(f"/memory_stores/{target}").done()
    assert shown["label"] == "Storks" and shown["project_root"] == str(projects[0])
    [event] = [one for one in house.events(target) if one["event"] == "memory_stores_merged"]
    assert event["details"]["source"] == source and "Stork" not in str(event)
    assert house.git("status", "--porcelain", "--", str(house.store_dir(source))) == ""
    refused = {"source": "global", "target": target}
    house.ask("POST", "/memory_stores/merge", refused).refusal(400, "MEMORY_STORE_MERGE_INVALID")
    again = {"source": source, "target": target}
    house.ask("POST", "/memory_stores/merge", again).refusal(404, "MEMORY_STORE_NOT_FOUND")


@pytest.mark.acceptance(spec="007-memory", scenario="a merged identity resolves to the surviving store")
async def test_old_names_lead_to_the_survivor(house: House) -> None:
    """The checkout whose store was merged would start an empty one anew."""
    old, kept = house.project("crane-old"), house.project("crane")
    source, target = house.store(old), house.store(kept)
    house.coffer("memory", "add", ".", "Crane fact, old.", folder=old)
    house.coffer("memory", "add", ".", "Crane fact, new.", folder=kept)
    assert "leads there now" in house.coffer("memory", "merge", source, target, "--no-organize")
    assert house.store(old) == target
    async with house.agent("claude", old) as claude:
        await claude.remember("Crane fact, late.")
        assert len(await claude.texts("crane", scope="project")) == 3
        await claude.answer("set_handoff", body="Crane work is half done.")
        assert (await claude.answer("resume"))["body"] == "Crane work is half done."
    house.add(source, "Crane fact, by name.")
    assert len(house.texts(target, "crane", top_k=20)) == 4
    assert not house.store_dir(source).exists()
    stores = house.get(f"/memory_stores?cwd={quote(str(old))}").done()["memory_stores"]
    assert [one["name"] for one in stores] == [target]
