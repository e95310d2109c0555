"""One memory, every agent: two official MCP clients, each behind the real shim."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import trio
import yaml

from tests.acceptance.house import ERAS, House

FACT = "Deploys go through make release, never by pushing tags."


@pytest.mark.acceptance(spec="007-memory", scenario="agent remembers a project fact")
@pytest.mark.parametrize("era", ERAS)
async def test_agent_remembers_a_project_fact(house: House, project: Path, store: str, era: str) -> None:
    """What an agent learned would not be a file that its user can open, or nobody could tell who wrote it."""
    async with house.agent("claude", project, era) as claude:
        answer = await claude.remember(FACT, scope="project")
    assert answer["status"] == "created" and answer["commit"] == "committed"
    assert answer["scope"] == "project" and answer["title"] == FACT

    fact = house.get(f"/memory_stores/{store}/facts/{answer['id']}").done()
    path = Path(fact["path"])
    assert re.fullmatch(r"knowledge/inbox/\d{4}-\d\d", str(path.parent.relative_to(house.store_dir(store))))
    _, header, body = path.read_text("utf-8").split("---\n", 2)
    fields = yaml.safe_load(header)
    assert body == f"\n{FACT}\n"
    assert fields["id"] == answer["id"] and fields["title"] == FACT and fields["description"] == FACT
    assert fields["metadata"] == {"actor": "agent", "agent": "claude"}
    assert fields["origin_session_id"] == fact["origin_session_id"] is not None

    assert house.texts(store, "deploys release") == [FACT]
    events = [(event["event"], event["actor"], event["agent"]) for event in house.events(store)]
    assert events == [("memory_added", "agent", "claude"), ("store_created", "agent", "claude")]


@pytest.mark.acceptance(spec="007-memory", scenario="agent recalls a project fact")
@pytest.mark.parametrize("era", ERAS)
async def test_another_agent_recalls_what_one_remembered(
    house: House, project: Path, store: str, era: str
) -> None:
    """Codex in the afternoon would not know what Claude learned in the morning."""
    async with house.agent("claude", project) as claude, house.agent("codex", project, era) as codex:
        kept = await claude.remember(FACT)
        await claude.remember("The build cache of this repository lives in /var/cache.")
        hits = await codex.recall("how does it deploy a release")
        assert hits[0]["text"] == FACT and hits[0]["id"] == kept["id"]
        assert [set(hit) for hit in hits] == [{"id", "text", "score", "source", "time"}] * len(hits)
        scores = [hit["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True)
        fact = house.get(f"/memory_stores/{store}/facts/{kept['id']}").done()
        assert hits[0]["source"] == f"project:{fact['path']}" and hits[0]["time"] == fact["updated_at"]

        path = Path(fact["path"])
        path.write_text(path.read_text("utf-8").replace("make release", "make ship"), "utf-8")
        assert (await codex.texts("how does it deploy a release"))[0] == FACT.replace("release", "ship")


@pytest.mark.acceptance(spec="007-memory", scenario="remembered items are stored in the knowledge lane")
async def test_remembered_items_are_in_the_inbox_and_nowhere_else(
    house: House, project: Path, store: str
) -> None:
    """A user would find loose files or a second copy of the truth in the store's folder."""
    async with house.agent("claude", project) as claude:
        await claude.remember(FACT)
        assert await claude.texts("deploys") == [FACT]
    files = [path.relative_to(house.store_dir(store)) for path in house.store_dir(store).rglob("*.md")]
    assert [path.parts[:2] for path in files] == [("knowledge", "inbox")]
    assert not list(house.tree.rglob("MEMORY.md"))


async def test_two_agents_share_through_two_worktrees(house: House, project: Path, store: str) -> None:
    """The figure this product stands for: agent B in another worktree wouldn't know what agent A wrote."""
    worktree = house.folder() / "feature"
    house.git("worktree", "add", "-q", "-b", "feature", str(worktree), folder=project)
    async with house.agent("claude", project) as claude, house.agent("codex", worktree) as codex:
        kept = await claude.remember(FACT)
        assert await codex.texts("deploys via make") == [FACT]
        listed = await codex.answer("list_memory")
        assert listed["total"] == 1 and listed["facts"][0]["id"] == kept["id"]
    path = house.get(f"/memory_stores/{store}/facts/{kept['id']}").done()["path"]

    told = house.git("log", "-1", "--format=%an <%ae>|%cn <%ce>|%s", "--", path).strip().split("|")
    assert told == [
        "claude <claude@coffer.localhost>",
        "Coffer <coffer@localhost>",
        f"remember: {FACT}",
    ]
    trailers = house.git("log", "-1", "--format=%(trailers)", "--", path).splitlines()
    assert {
        "Coffer-Op: remember",
        f"Coffer-Store: {store}",
        "Coffer-Actor: agent",
        "Coffer-Agent: claude",
    } <= {*trailers}
    assert house.git("status", "--porcelain", str(house.store_dir(store))) == ""


async def test_every_call_is_recorded_without_what_was_said(house: House, project: Path) -> None:
    """A user couldn't see what their agents ask for, or the record would be a second copy of the content."""
    async with house.agent("recorded", project) as agent:
        await agent.remember("The recorded fact is about narwhals.")
        await agent.recall("narwhals")
        await agent.refusal("recall", query="narwhals", scope="nowhere")
    rows = house.get("/invocations?agent=recorded").done()["invocations"]
    assert [(row["tool"], row["outcome"], row["error_code"]) for row in rows] == [
        ("coffer__recall", "error", "CONFIG_INVALID"),
        ("coffer__recall", "ok", None),
        ("coffer__remember", "ok", None),
    ]
    assert "narwhals" not in str(rows)


async def test_the_same_text_is_kept_once(house: House, project: Path) -> None:
    """An agent that retries would fill the memory with copies."""
    async with house.agent("claude", project) as claude:
        first = await claude.remember(FACT)
        again = await claude.remember(f"  {FACT}\n")
    assert again["status"] == "exists" and again["id"] == first["id"]


@pytest.mark.report("B01", "B31")
@pytest.mark.parametrize("era", ERAS)
async def test_parallel_calls_are_all_kept(house: House, project: Path, store: str, era: str) -> None:
    """Tools called in one message would overwrite each other's facts."""
    async with house.agent("claude", project, era) as claude:

        async def remember(number: int) -> None:
            assert (await claude.remember(f"Otter fact number {number}."))["status"] == "created"
            assert f"Otter fact number {number}." in await claude.texts("otter number", top_k=20)

        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(remember, number)
        page = await claude.answer("list_memory", limit=3, offset=2)
        everything = await claude.answer("list_memory")
    assert page["total"] == 8 and page["facts"] == everything["facts"][2:5]
    files = house.git("ls-tree", "-r", "--name-only", "HEAD", str(house.store_dir(store) / "knowledge"))
    assert len(files.splitlines()) == 8
    assert house.git("status", "--porcelain", str(house.store_dir(store))) == ""


@pytest.mark.parametrize("era", ERAS)
async def test_tools_are_listed_with_schemas_and_hints(house: House, project: Path, era: str) -> None:
    """A client wouldn't offer the tools, or would ask for permission before every recall."""
    async with house.agent("claude", project, era) as claude:
        tools = {tool.name: tool for tool in (await claude.client.list_tools()).tools}
        assert claude.client.instructions
    assert {"coffer__recall", "coffer__remember", "coffer__list_memory"} <= set(tools)
    reading = {}
    for name, tool in tools.items():
        assert tool.description and tool.output_schema and tool.annotations is not None
        assert tool.annotations.destructive_hint is False
        reading[name] = tool.annotations.read_only_hint
    assert reading["coffer__recall"] is reading["coffer__list_memory"] is True
    assert reading["coffer__remember"] is False
