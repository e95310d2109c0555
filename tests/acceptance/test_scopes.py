"""Global and per-project memory: which store a caller's folder means, seen through the doors."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from mcp import types

from tests.acceptance.house import ERAS, House

GLOBAL_ID = "0" * 26


@pytest.mark.acceptance(spec="007-memory", scenario="recall spans project and global scope")
async def test_recall_spans_project_and_global(house: House, project: Path) -> None:
    """The user's habits would be missing inside a project, or the project's facts beside them."""
    async with house.agent("claude", project) as claude:
        await claude.remember("Quokka service: its API lives under /api/v2.")
        await claude.remember("Quokka habit: the user prefers tabs.", scope="global")
        hits = await claude.recall("quokka")
        assert {hit["source"].split(":")[0] for hit in hits} == {"project", "global"}
        assert {hit["source"].split(":")[0] for hit in await claude.recall("quokka", scope="both")} == {
            "project",
            "global",
        }
        assert await claude.texts("quokka", scope="project") == [
            "Quokka service: its API lives under /api/v2."
        ]
        assert await claude.texts("quokka", scope="global") == ["Quokka habit: the user prefers tabs."]


@pytest.mark.acceptance(spec="007-memory", scenario="remember at global scope")
async def test_global_fact_is_recalled_from_any_project(house: House, project: Path) -> None:
    """A preference would have to be told again in every project, and outside of one it would be lost."""
    text = "Axolotl preference: answer in German."
    async with house.agent("claude", project) as claude:
        kept = await claude.remember(text, scope="global")
        await claude.remember("Axolotl project detail, for this repository alone.")
    assert kept["scope"] == "global"
    for folder in (house.project("other"), house.folder("nowhere")):
        async with house.agent("codex", folder) as codex:
            assert await codex.texts("axolotl") == [text]
    shown = house.get("/memory_stores/global").done()
    assert shown["project_id"] == GLOBAL_ID and shown["store_dir"] == str(house.tree / "global")
    path = Path(house.get(f"/memory_stores/global/facts/{kept['id']}").done()["path"])
    assert path.is_relative_to(house.tree / "global" / "knowledge" / "inbox")


@pytest.mark.acceptance(
    spec="007-memory", scenario="project scope resolves from the agent's working directory"
)
@pytest.mark.parametrize("era", ERAS)
async def test_project_scope_resolves_from_the_working_directory(house: House, era: str) -> None:
    """A fact would go to the store of another folder, or the store would have to be made by hand first."""
    project = house.project("harbour")
    below = project / "src" / "deep"
    below.mkdir(parents=True)
    store = house.store(project)
    assert not house.get(f"/memory_stores/{store}").done()["exists"]
    async with house.agent("claude", below, era) as claude:
        await claude.remember("Kiwi fact, told from a folder deep inside.")
    shown = house.get(f"/memory_stores/{store}").done()
    assert shown["exists"] and shown["fact_count"] == 1
    assert shown["project_root"] == str(project) and shown["display_name"] == "harbour"
    assert store == f"project-{shown['project_id']}" and len(shown["project_id"]) == 26


@pytest.mark.acceptance(
    spec="007-memory", scenario="project memory follows the repository across checkout paths"
)
async def test_checkouts_of_one_repository_share_a_store(house: House, own_house: House) -> None:
    """Two checkouts, or two machines, would each have a memory of their own of the same repository."""
    here = house.project("app", "git@git.example.org:Team/app.git")
    there = house.project("application", "https://ada@git.example.org/team/app/")
    other = house.project("app", "https://git.example.org/team/another.git")
    assert house.store(here) == house.store(there) != house.store(other)
    async with house.agent("claude", here) as claude, house.agent("codex", there) as codex:
        await claude.remember("Lemur fact, told in one checkout.")
        assert await codex.texts("lemur") == ["Lemur fact, told in one checkout."]
    shown = house.get(f"/memory_stores/{house.store(there)}").done()
    assert shown["remote"] == "git.example.org/team/app"

    own_house.start()
    elsewhere = own_house.project("app", "ssh://git@git.example.org:22/team/app.git")
    assert own_house.store(elsewhere) == house.store(here)


async def test_projects_do_not_see_each_other(house: House, project: Path) -> None:
    """Details of one customer's repository would leak into another's."""
    neighbour = house.project()
    async with house.agent("claude", project) as here, house.agent("claude", neighbour) as there:
        await here.remember("Ocelot belongs to the first project.")
        assert await there.texts("ocelot") == []
        assert (await there.answer("list_memory"))["total"] == 0


@pytest.mark.report("B70")
async def test_calls_of_two_projects_never_cross(house: House, project: Path) -> None:
    """One daemon for all would answer an agent with the project of whoever called last."""
    neighbour = house.project()
    async with house.agent("claude", project) as here, house.agent("codex", neighbour) as there:
        for number in range(8):
            await here.remember(f"Tapir here {number}.")
            await there.remember(f"Tapir there {number}.")
            assert all(text.startswith("Tapir here") for text in await here.texts("tapir", top_k=20))
            assert all(text.startswith("Tapir there") for text in await there.texts("tapir", top_k=20))


@pytest.mark.report("B67")
async def test_worktree_subfolder_and_symlink_are_one_store(house: House, project: Path, store: str) -> None:
    """The same work, entered by another path, would start with an empty memory."""
    worktree, link = house.folder() / "wt", house.folder() / "link"
    house.git("worktree", "add", "-q", "-b", "side", str(worktree), folder=project)
    link.symlink_to(project)
    (project / "docs").mkdir()
    (worktree / "docs").mkdir()
    ways = [project / "docs", worktree, worktree / "docs", link, link / "docs"]
    assert [house.store(folder) for folder in ways] == [store] * len(ways)
    async with house.agent("claude", project / "docs") as claude:
        await claude.remember("Numbat fact.")
    async with house.agent("codex", worktree / "docs") as codex:
        assert await codex.texts("numbat") == ["Numbat fact."]


async def test_outside_a_project_only_global_is_there(house: House) -> None:
    """Whatever an agent says in a loose folder would land in some project, or be lost without a word."""
    folder = house.folder()
    async with house.agent("claude", folder) as claude:
        with house.nothing_written():
            for tool, arguments in (
                ("remember", {"text": "Gharial fact."}),
                ("remember", {"text": "Gharial fact.", "scope": "project"}),
                ("recall", {"query": "gharial", "scope": "project"}),
                ("list_memory", {}),
            ):
                error = await claude.refusal(tool, **arguments)
                assert error["code"] == "SCOPE_UNRESOLVED" and "scope=global" in error["message"]
        await claude.remember("Gharial fact.", scope="global")
        assert await claude.texts("gharial") == ["Gharial fact."]
    house.get(f"/memory_stores?cwd={folder}").refusal(422, "SCOPE_UNRESOLVED")
    assert "git project" in house.coffer("memory", "facts", folder=folder, status=1)


@pytest.mark.report("B69")
async def test_home_and_root_are_no_projects(house: House) -> None:
    """Everything below a home whose dotfiles are in git would be one project."""
    house.git("init", "-q", folder=house.user_home)
    loose = house.user_home / "notes"
    loose.mkdir()
    for folder in (house.user_home, loose, Path("/")):
        async with house.agent("claude", folder) as claude:
            error = await claude.refusal("remember", text="Pangolin fact.")
            assert error["code"] == "SCOPE_UNRESOLVED"
    inside = house.user_home / "src" / "app"
    inside.mkdir(parents=True)
    house.git("init", "-q", folder=inside)
    async with house.agent("claude", inside) as claude:
        await claude.remember("Pangolin fact.")
    assert house.get(f"/memory_stores/{house.store(inside)}").done()["project_root"] == str(inside)


@pytest.mark.parametrize("era", ERAS)
async def test_agent_without_the_shim_says_its_folder(
    house: House, project: Path, store: str, era: str
) -> None:
    """An agent that speaks HTTP could use the global memory alone."""
    headers = {"X-Coffer-Cwd": quote(str(project)), "X-Coffer-Agent": "web-agent"}
    async with house.web_agent(headers, era) as agent:
        await agent.remember("Dhole fact over HTTP.")
        assert await agent.texts("dhole", scope="project") == ["Dhole fact over HTTP."]
    facts = house.get(f"/memory_stores/{store}/facts").done()["facts"]
    assert [(fact["text"], fact["agent"]) for fact in facts] == [("Dhole fact over HTTP.", "web-agent")]
    async with house.web_agent({}, era) as agent:
        assert (await agent.refusal("remember", text="Dhole fact."))["code"] == "SCOPE_UNRESOLVED"


async def test_agent_that_offers_roots_is_asked_for_them(house: House, project: Path, store: str) -> None:
    """A client that can send no header of its own would be outside every project."""

    async def roots(context: object) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": [{"uri": project.as_uri()}]})

    async with house.web_agent({}, "2025", list_roots_callback=roots) as agent:
        await agent.remember("Fossa fact.")
    assert house.texts(store, "fossa") == ["Fossa fact."]


def test_reads_create_nothing(house: House, project: Path, store: str) -> None:
    """Looking at a project would leave empty stores everywhere."""
    unknown = "project-" + "7" * 26
    with house.nothing_written():
        for name in (store, unknown):
            at = f"/memory_stores/{name}"
            assert house.get(at).done()["exists"] is False
            assert house.get(f"{at}/metrics").done()["fact_count"] == 0
            assert house.get(f"{at}/facts").done() == {"facts": [], "total": 0}
            assert house.get(f"{at}/history").done() == {"commits": []}
            assert house.recall(name, "anything") == []
            house.get(f"{at}/facts/{'0' * 26}").refusal(404, "MEMORY_NOT_FOUND")
        house.coffer("memory", "show", folder=project)
        house.coffer("memory", "recall", ".", "anything", folder=project)
    assert not os.path.lexists(house.store_dir(store)) and not os.path.lexists(house.store_dir(unknown))
