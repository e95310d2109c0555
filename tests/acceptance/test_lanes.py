"""The lanes beside facts, through every door: handoff scenes, rules, journal, archive, the organizer's log."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.house import ERAS, House

SCENE = "The narwhal lexer is half done.\n\nNext: its tests."
SECRET = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
MARK = " <!-- learned 2026-11-30 by organizer -->"


async def save(house: House, folder: Path, body: str, agent: str = "claude") -> dict[str, Any]:
    async with house.agent(agent, folder) as one:
        return await one.answer("set_handoff", body=body)


async def resume(house: House, folder: Path, agent: str = "codex") -> dict[str, Any]:
    async with house.agent(agent, folder) as one:
        return await one.answer("resume")


def put(house: House, store: str, path: str, text: str) -> Path:
    """Write a file of a store as its user does, in an editor."""
    file = house.store_dir(store) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


# ── tools ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.acceptance(spec="007-memory", scenario="built-in memory tools appear in client tool list")
@pytest.mark.parametrize("era", ERAS)
async def test_the_memory_tools_are_listed(house: House, project: Path, era: str) -> None:
    """An agent wouldn't know that it can remember, or leave its work to another."""
    expected = {f"coffer__{name}" for name in ("recall", "remember", "list_memory", "set_handoff", "resume")}
    async with house.agent("claude", project, era) as claude, house.web_agent({}, era) as web:
        for agent in (claude, web):
            assert expected <= {tool.name for tool in (await agent.client.list_tools()).tools}


# ── handoff ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.acceptance(spec="007-memory", scenario="agent saves and resumes a working-state handoff")
@pytest.mark.parametrize("era", ERAS)
async def test_a_scene_is_saved_by_one_agent_and_resumed_by_another(
    house: House, project: Path, store: str, era: str
) -> None:
    """Work that one agent began would have to be told to the next one by hand."""
    async with house.agent("claude", project, era) as claude, house.agent("codex", project, era) as codex:
        await claude.answer("set_handoff", body="An older scene.")
        saved = await claude.answer("set_handoff", body=SCENE)
        resumed = await codex.answer("resume")
        assert (resumed["found"], resumed["branch"], resumed["body"]) == (True, "main", SCENE)
        assert resumed["updated_at"] == saved["updated_at"]
        assert "Saved by claude" in resumed["freshness"] and "hasn't moved" in resumed["freshness"]

        assert await codex.texts("narwhal lexer tests older scene") == []
        assert (await codex.answer("list_memory"))["total"] == 0

    file = Path(saved["path"])
    assert file == house.store_dir(store) / "handoff" / "main.md"
    assert [path.name for path in file.parent.iterdir()] == ["main.md"]
    _, header, body = file.read_text("utf-8").split("---\n", 2)
    assert {line.split(":")[0] for line in header.splitlines()} >= {"branch", "updated_at", "agent", "head"}
    assert body == f"\n{SCENE}\n"
    assert "An older scene." in house.history(str(file))
    assert house.git("status", "--porcelain", str(file)) == ""
    events = [(event["event"], event["agent"]) for event in house.events(store)]
    assert events == [("handoff_set", "claude"), ("handoff_set", "claude"), ("store_created", "claude")]
    assert "narwhal" not in str(house.events(store))


@pytest.mark.acceptance(spec="007-memory", scenario="resume reports no handoff for a fresh branch")
@pytest.mark.parametrize("era", ERAS)
async def test_a_fresh_branch_has_nothing_to_resume(house: House, project: Path, era: str) -> None:
    """An agent would be told another branch's scene, or an error where there is simply nothing."""
    await save(house, project, SCENE)
    house.git("checkout", "-q", "-b", "fresh", folder=project)
    for folder in (project, house.folder()):
        async with house.agent("codex", folder, era) as codex:
            with house.nothing_written():
                answer = await codex.answer("resume")
        assert set(answer) == {"found", "reason"} and answer["found"] is False and answer["reason"]
    async with house.web_agent({}, era) as nowhere:
        assert (await nowhere.answer("resume"))["found"] is False


async def test_outside_a_project_no_scene_is_taken(house: House) -> None:
    """A scene would land in some project's store, or be lost without a word."""
    async with house.agent("claude", house.folder()) as claude:
        with house.nothing_written():
            assert (await claude.refusal("set_handoff", body=SCENE))["code"] == "SCOPE_UNRESOLVED"
    assert not (house.tree / "global" / "handoff").exists()


async def test_a_scene_is_resumed_in_another_worktree(house: House, project: Path) -> None:
    """Work on a branch would be bound to the folder in which it was begun."""
    worktree = house.folder() / "wt"
    house.git("checkout", "-q", "-b", "feature/x", folder=project)
    await save(house, project, SCENE)
    house.git("checkout", "-q", "main", folder=project)
    house.git("worktree", "add", "-q", str(worktree), "feature/x", folder=project)
    for number in (1, 2):
        house.git("commit", "-q", "--allow-empty", "-m", str(number), folder=worktree)
    resumed = await resume(house, worktree)
    assert (resumed["branch"], resumed["body"]) == ("feature/x", SCENE)
    assert "2 more commits since" in resumed["freshness"]
    assert (await resume(house, project))["found"] is False


async def test_every_state_of_a_checkout_has_its_own_scene(house: House, project: Path, store: str) -> None:
    """One branch's scene would overwrite another's, or be resumed in its place."""
    scenes: dict[str, str] = {}

    async def left(branch: str) -> None:
        assert (await resume(house, project))["found"] is False, branch
        saved = await save(house, project, f"The scene of {branch}.")
        assert saved["branch"] == branch
        scenes[branch] = saved["path"]

    await left("main")
    for branch in ("feature-x", "Feature/X"):
        house.git("checkout", "-q", "-b", branch, folder=project)
        await left(branch)
    house.git("checkout", "-q", "-b", "feature/x", folder=project)
    await left("feature/x")
    head = house.git("rev-parse", "HEAD", folder=project).strip()
    house.git("checkout", "-q", "--detach", folder=project)
    await left(f"detached-{head[:12]}")
    house.git("checkout", "-q", "--orphan", "unborn", folder=project)
    await left("unborn")

    assert len(set(scenes.values())) == len({path.lower() for path in scenes.values()}) == len(scenes) == 6
    for branch in scenes:
        where = head if branch.startswith("detached-") else branch
        if branch == "unborn":
            house.git("symbolic-ref", "HEAD", "refs/heads/unborn", folder=project)
        else:
            house.git("checkout", "-q", where, folder=project)
        resumed = await resume(house, project)
        assert (resumed["branch"], resumed["body"]) == (branch, f"The scene of {branch}.")
    listed = house.get(f"/memory_stores/{store}/handoff").done()["scenes"]
    assert {scene["branch"]: scene["path"] for scene in listed} == scenes


async def test_in_the_middle_of_a_rebase_it_is_the_branch_being_rebased(house: House, project: Path) -> None:
    """The scene that explains the conflict would be bound to a commit that is gone when the rebase is over."""
    house.git("checkout", "-q", "-b", "topic", folder=project)
    (project / "file").write_text("ours\n")
    house.git("add", "file", folder=project)
    house.git("commit", "-q", "-m", "ours", folder=project)
    await save(house, project, "Before the rebase.")
    house.git("checkout", "-q", "main", folder=project)
    (project / "file").write_text("theirs\n")
    house.git("add", "file", folder=project)
    house.git("commit", "-q", "-m", "theirs", folder=project)
    with pytest.raises(subprocess.CalledProcessError):
        house.git("rebase", "-q", "main", "topic", folder=project)
    assert (await resume(house, project))["body"] == "Before the rebase."
    assert (await save(house, project, "In conflict.\n<<<<<<< a\nx\n=======\ny\n>>>>>>> b"))[
        "branch"
    ] == "topic"
    house.git("rebase", "--abort", folder=project)
    resumed = await resume(house, project)
    assert resumed["branch"] == "topic" and resumed["body"].startswith("In conflict.\n<<<<<<< a")


async def test_freshness_counts_commits_and_knows_when_it_cannot(house: House, project: Path) -> None:
    """An agent would do again what is done, or build on commits that were taken back."""
    await save(house, project, SCENE)
    begin = house.git("rev-parse", "HEAD", folder=project).strip()
    for number in range(1, 4):
        house.git("commit", "-q", "--allow-empty", "-m", str(number), folder=project)
        assert f"{number} more commit" in (await resume(house, project))["freshness"]
    await save(house, project, SCENE)
    house.git("reset", "-q", "--hard", begin, folder=project)
    assert f"moved back to {begin[:12]}" in (await resume(house, project))["freshness"]


@pytest.mark.acceptance(spec="007-memory", scenario="handoff scenes are listed per branch for a store")
async def test_scenes_are_listed_by_branch(house: House, project: Path, store: str) -> None:
    """A person couldn't see which work waits where."""
    empty = house.get(f"/memory_stores/{store}/handoff").done()
    assert empty == {"scenes": []}
    assert house.coffer("memory", "handoff", folder=project) == "No handoffs.\n"
    await save(house, project, "On main.")
    house.git("checkout", "-q", "-b", "feature/x", folder=project)
    saved = await save(house, project, "On a feature.", "codex")
    scenes = {
        scene["branch"]: scene for scene in house.get(f"/memory_stores/{store}/handoff").done()["scenes"]
    }
    assert set(scenes) == {"main", "feature/x"}
    assert scenes["feature/x"] == {
        "branch": "feature/x",
        "text": "On a feature.",
        "updated_at": saved["updated_at"],
        "agent": "codex",
        "path": saved["path"],
        "folder_path": str(house.store_dir(store) / "handoff"),
    }
    printed = house.coffer("memory", "handoff", folder=project)
    assert f"feature/x  {saved['updated_at']}  codex\n    On a feature." in printed
    assert house.get(f"/memory_stores/{store}/metrics").done()["handoff_count"] == 2


# ── rules ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.acceptance(spec="007-memory", scenario="the rules read surface returns the stored rules")
def test_rules_are_told_verbatim(house: House, project: Path, store: str) -> None:
    """A session would begin without the rules, or with others than those in the file."""
    at = f"/memory_stores/{store}/rules"
    assert house.get(at).done() == {"text": None, "files": []}
    assert house.coffer("memory", "rules", folder=project) == "No rules.\n"
    text = f"# Rules\n\nWe agreed on these in May:\n\n- Run the tests.\n- Use tabs.{MARK}\n\nAsk Bea.\n"
    file = put(house, store, "rules/rules.md", text)
    told = house.get(at).done()
    assert told["text"] == text
    assert [(one["path"], one["folder_path"]) for one in told["files"]] == [(str(file), str(file.parent))]
    assert [(rule["text"], rule["learned"]) for rule in told["files"][0]["rules"]] == [
        ("Run the tests.", False),
        ("Use tabs.", True),
    ]
    assert house.coffer("memory", "rules", store) == text
    assert json.loads(house.coffer("memory", "rules", store, "--json")) == told
    put(house, store, "rules/git/commit.md", "- Sign commits.\n")
    assert house.get(at).done()["text"] == f"- Sign commits.\n\n{text}"


def test_a_rule_is_added_once(house: House, project: Path, store: str) -> None:
    """A script that is run twice would put the same rule before every session twice."""
    for _ in range(2):
        said = house.coffer("memory", "rules-add", ".", "Run  the tests.", folder=project)
        assert said == "Rule: Run the tests.\n"
    house.ask("POST", f"/memory_stores/{store}/rules", {"text": "Run the tests."}).done()
    file = house.store_dir(store) / "rules" / "rules.md"
    assert file.read_text("utf-8") == "# Rules\n\n- Run the tests.\n"
    subjects = house.git("log", "--format=%an: %s", "--", str(file)).splitlines()
    assert subjects == ["Ada: rule: Run the tests."]
    assert house.get(f"/memory_stores/{store}/metrics").done()["rule_count"] == 1


def test_a_learned_rule_becomes_the_users_own(house: House, project: Path, store: str) -> None:
    """What a transcript yielded would speak with the user's authority unasked, or never could."""
    file = put(house, store, "rules/rules.md", f"- One.{MARK}\n- Two.{MARK}\n- Three.{MARK}\n- Four.{MARK}\n")

    def learned() -> list[str]:
        files = house.get(f"/memory_stores/{store}/rules").done()["files"]
        return [rule["text"] for rule in files[0]["rules"] if rule["learned"]]

    assert learned() == ["One.", "Two.", "Three.", "Four."]
    house.coffer("memory", "rules-accept", ".", "One.", folder=project)
    assert learned() == ["Two.", "Three.", "Four."]
    file.write_text(file.read_text("utf-8").replace(f"Two.{MARK}", "Two."), "utf-8")
    assert learned() == ["Three.", "Four."]
    house.coffer("memory", "rules-accept", ".", "--all", folder=project)
    assert learned() == [] and file.read_text("utf-8") == "- One.\n- Two.\n- Three.\n- Four.\n"
    assert house.coffer("memory", "rules-accept", ".", "Five.", folder=project, status=1)
    assert house.git("status", "--porcelain", str(file)) == ""


# ── journal ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.acceptance(spec="007-memory", scenario="journal lane entries are readable for a store")
def test_the_journal_is_told_newest_day_first(house: House, project: Path, store: str) -> None:
    """What happened would be kept where nobody can read it."""
    assert house.get(f"/memory_stores/{store}/journal").done() == {"files": []}
    assert house.coffer("memory", "journal", folder=project) == "The journal is empty.\n"
    assert not house.store_dir(store).exists()
    old = put(house, store, "journal/2026-01-02.md", "# 2026-01-02\n\nThe cache was cleared.\n")
    house.coffer("memory", "journal-add", ".", "The port moved to 8080.", folder=project)
    files = house.get(f"/memory_stores/{store}/journal").done()["files"]
    assert files[1] == {
        "period": "2026-01-02",
        "text": old.read_text("utf-8"),
        "path": str(old),
        "folder_path": str(old.parent),
    }
    assert files[0]["text"] == Path(files[0]["path"]).read_text("utf-8")
    assert Path(files[0]["path"]).name == f"{files[0]['period']}.md" and files[0]["period"] > "2026-01-02"
    printed = house.coffer("memory", "journal", folder=project)
    assert printed.index("The port moved to 8080.") < printed.index("The cache was cleared.")
    assert house.get("/memory_stores/global/journal").done() == {"files": []}


async def test_entries_are_recalled_one_by_one_with_their_file(
    house: House, project: Path, store: str
) -> None:
    """A recall would give the whole day, or not say that it is of the journal and no fact."""
    texts = ["Heron: the cache was cleared.", "Heron: the port moved to 8080.", "Lunch."]
    for text in texts:
        house.ask("POST", f"/memory_stores/{store}/journal", {"text": text}).done(201)
    (day,) = house.get(f"/memory_stores/{store}/journal").done()["files"]
    async with house.agent("claude", project) as claude:
        await claude.remember("Heron fact: it listens on a port.")
        hits = await claude.recall("heron port moved", scope="project")
        listed = await claude.answer("list_memory")
    assert hits[0]["text"] == texts[1] and hits[0]["source"] == f"project:{day['path']}"
    assert {hit["text"] for hit in hits[:3]} == {*texts[:2], "Heron fact: it listens on a port."}
    # What happened next to it may help to understand, so it is a hit too, but never before the rest.
    assert [hit["text"] for hit in hits[3:]] == ["Lunch."]
    fact = next(hit for hit in hits if "fact" in hit["text"])
    assert "/journal/" not in fact["source"] and "/knowledge/" in fact["source"]

    assert listed["total"] == 1
    metrics = house.get(f"/memory_stores/{store}/metrics").done()
    assert (metrics["fact_count"], metrics["journal_days"]) == (1, 1)
    assert house.get(f"/memory_stores/{store}").done()["fact_count"] == 1
    assert house.get(f"/memory_stores/{store}/facts").done()["total"] == 1

    path = Path(day["path"])
    path.write_text(path.read_text("utf-8").replace("8080", "9090"), "utf-8")
    assert house.texts(store, "heron port moved")[0] == texts[1].replace("8080", "9090")


# ── what isn't recalled, and what isn't kept ──────────────────────────────────────────────────────────────────


async def test_only_facts_topics_and_the_journal_are_recalled(
    house: House, project: Path, store: str
) -> None:
    """An agent would be given rules, scenes and outdated facts as answers to its questions."""
    async with house.agent("claude", project) as claude:
        old = await claude.remember("Ibis fact: the port is 80.")
        new = await claude.remember("Ibis fact: the port is 8080.", supersedes=[old["id"]])
        await claude.answer("set_handoff", body="Ibis scene: the port.")
        house.coffer("memory", "rules-add", ".", "Ibis rule: the port.", folder=project)
        put(house, store, "consolidation-log.md", "- Ibis log: the port.\n")
        put(house, store, "superseded/old-20260101T000000Z.md", "Ibis, of old: the port.\n")
        for query in ("ibis port", "`Ibis scene: the port`", '"Ibis, of old: the port"'):
            assert [hit["id"] for hit in await claude.recall(query, top_k=20)] == [new["id"]]
    assert len(list((house.store_dir(store) / "superseded").glob("*.md"))) == 2


@pytest.mark.acceptance(spec="007-memory", scenario="the consolidation changelog is readable for a store")
def test_the_organizers_log_is_told(house: House, project: Path, store: str) -> None:
    """Nobody could check what became of a note."""
    at = f"/memory_stores/{store}/consolidation-log"
    path = house.store_dir(store) / "consolidation-log.md"
    absent = {"text": None, "path": str(path), "folder_path": str(path.parent)}
    assert house.get(at).done() == absent
    assert house.coffer("memory", "log", folder=project) == "Nothing was organized yet.\n"
    assert not path.parent.exists()
    text = "- 2026-11-30T12:00:00Z · merged into · deploy · inbox/a.md\n"
    put(house, store, path.name, text)
    assert house.get(at).done() == {**absent, "text": text}
    assert house.coffer("memory", "log", store) == text


async def test_secrets_are_refused_at_these_doors_too(house: House, project: Path, store: str) -> None:
    """Git never forgets: a key in any lane would be in every clone of the memory."""
    text = f"Log in with {SECRET}."
    async with house.agent("claude", project) as claude:
        await claude.answer("set_handoff", body=SCENE)
        with house.nothing_written():
            error = await claude.refusal("set_handoff", body=text)
            assert (error["code"], error["details"]["reason"]) == ("MEMORY_REJECTED", "secret")
            assert SECRET not in str(error)
            for lane in ("rules", "journal"):
                reply = house.ask("POST", f"/memory_stores/{store}/{lane}", {"text": text})
                assert reply.refusal(422, "MEMORY_REJECTED")["details"]["reason"] == "secret"
                said = house.coffer("memory", f"{lane}-add", ".", text, folder=project, status=1)
                assert "secret" in said and SECRET not in said
    assert (await resume(house, project))["body"] == SCENE


def test_a_damaged_file_of_a_lane_is_named_by_doctor(own_house: House) -> None:
    """Rules that reach no session because of a merge gone wrong would be missed by nobody."""
    own_house.start()
    folder = own_house.project()
    store = own_house.store(folder)
    own_house.coffer("memory", "rules-add", ".", "Run the tests.", folder=folder)
    damaged = "<<<<<<< a\n- x\n=======\n- y\n>>>>>>> b\n"
    put(own_house, store, "rules/git.md", damaged)
    put(own_house, store, "handoff/main.md", damaged)
    assert own_house.get(f"/memory_stores/{store}/rules").done()["text"] == "# Rules\n\n- Run the tests.\n"
    assert own_house.get(f"/memory_stores/{store}/handoff").done() == {"scenes": []}
    named = [
        check["message"] for check in own_house.get("/doctor").done()["checks"] if check["name"] == "file"
    ]
    assert len(named) == 2 and "rules/git.md" in named[0] and "handoff/main.md" in named[1]
