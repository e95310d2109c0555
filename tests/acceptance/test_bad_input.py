"""What bad input gets, at each door: its code, a sentence that says what to do, and nothing written."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.acceptance.house import House

SECRET = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
ULID = "01" + "A" * 24

BAD_NAMES = [
    "Global",
    "project-",
    "project-short",
    "project-" + "A" * 27,
    "project-" + "i" * 26,
    "project-" + "8" + "A" * 25,
    "project-" + "0" * 26,
    "..",
    "../global",
    "global/../global",
    "..\\global",
    "project-../../../../etc/passwd",
    "%2e%2e",
    "global\x00",
    "global\n",
    "/etc",
    "memory",
    "ｇlobal",
]
BAD_IDS = [
    "x",
    "..",
    "../x",
    "../../store.yaml",
    "..\\x",
    "/etc/passwd",
    "%2e%2e%2fx",
    ULID.lower(),
    ULID + "A",
    ULID + "\n",
    "\x00",
    "p-" + "A" * 25,
    "p-../../../../../../../etc",
    "INDEX",
    "💥",
]
BAD_PATHS = ["..", "../global", "knowledge/../../..", "/etc/passwd", "a\x00b", "..\\x"]


async def test_empty_text_is_refused_everywhere(house: House, project: Path, store: str) -> None:
    """A memory would fill with empty notes."""
    fact = house.add(store, "Weevil fact.")
    async with house.agent("claude", project) as claude:
        with house.nothing_written():
            for text in ("", " \n\t "):
                error = await claude.refusal("remember", text=text)
                assert (error["code"], error["details"]) == ("MEMORY_REJECTED", {"reason": "empty"})
                for method, path in (("POST", "facts"), ("PATCH", f"facts/{fact['id']}")):
                    reply = house.ask(method, f"/memory_stores/{store}/{path}", {"text": text})
                    assert reply.refusal(422, "MEMORY_REJECTED")["details"] == {"reason": "empty"}
            assert "empty" in house.coffer("memory", "add", ".", "", folder=project, status=1)
            assert "empty" in house.coffer("memory", "edit", ".", fact["id"], "", folder=project, status=1)


async def test_too_long_text_is_refused_everywhere(house: House, project: Path, store: str) -> None:
    """One pasted log would drown everything else, or be cut without a word."""
    fact = house.add(store, "Beetle fact.")
    longest = ("beetle " * 1171)[:8191] + "."
    async with house.agent("claude", project) as claude:
        with house.nothing_written():
            error = await claude.refusal("remember", text=longest + "!")
            assert error["code"] == "MEMORY_REJECTED"
            assert error["details"] == {"reason": "too_long", "length": 8193, "limit": 8192}
            for method, path in (("POST", "facts"), ("PATCH", f"facts/{fact['id']}")):
                reply = house.ask(method, f"/memory_stores/{store}/{path}", {"text": longest + "!"})
                assert reply.refusal(422, "MEMORY_REJECTED")["details"]["reason"] == "too_long"
            said = house.coffer("memory", "add", ".", "-", folder=project, status=1, stdin=longest + "!")
            assert "8192" in said
        assert (await claude.remember(longest))["status"] == "created"


@pytest.mark.report("B77")
async def test_secrets_are_refused_everywhere(house: House, project: Path, store: str) -> None:
    """A key would be in the git history for good, and go wherever the memory is synced to."""
    fact = house.add(store, "Cicada fact.")
    facts, one = f"/memory_stores/{store}/facts", f"/memory_stores/{store}/facts/{fact['id']}"
    told = f"The cicada deploy key is {SECRET}, keep it."
    async with house.agent("claude", project) as claude:
        with house.nothing_written():
            errors = [await claude.refusal("remember", text=told)]
            for method, path, body in (
                ("POST", facts, {"text": told}),
                ("POST", facts, {"text": "Cicada.", "title": told}),
                ("POST", facts, {"text": "Cicada.", "description": told}),
                ("PATCH", one, {"text": told}),
                ("PATCH", one, {"title": told}),
                ("PATCH", one, {"description": told}),
            ):
                errors.append(house.ask(method, path, body).refusal(422, "MEMORY_REJECTED"))
            agent = {"X-Coffer-Actor": "agent", "X-Coffer-Agent": "claude"}
            for method, path in (("POST", facts), ("PATCH", one)):
                reply = house.ask(method, path, {"text": told, "allow_secret": True}, agent)
                errors.append(reply.refusal(422, "MEMORY_REJECTED"))
            assert (await claude.refusal("remember", text=told, allow_secret=True))[
                "code"
            ] == "CONFIG_INVALID"
            said = house.coffer("memory", "add", ".", told, folder=project, status=1)
        for error in errors:
            assert error["details"]["reason"] == "secret" and error["details"]["kind"] in error["message"]
        assert "--allow-secret" in said and SECRET not in said + str(errors)
        assert await claude.texts("cicada", scope="project") == ["Cicada fact."]
    assert SECRET not in house.git("log", "--all", "-p")
    written = [
        path for path in house.home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()
    ]
    assert written == []


def test_a_person_may_insist_on_a_secret(house: House, project: Path, store: str) -> None:
    """A false alarm would leave a person no way to keep their own text."""
    told = f"Locust: the sample key {SECRET} from the manual is void."
    house.add(store, told, allow_secret=True)
    house.coffer("memory", "add", ".", f"{told} Twice.", "--allow-secret", folder=project)
    assert sorted(house.texts(store, "locust")) == [told, f"{told} Twice."]


async def test_unknown_scope_is_an_error(house: House, project: Path, store: str) -> None:
    """A fact meant for one project would be filed under another scope by default."""
    async with house.agent("claude", project) as claude:
        with house.nothing_written():
            for tool, arguments in (
                ("remember", {"text": "Mantis fact.", "scope": "both"}),
                ("remember", {"text": "Mantis fact.", "scope": "Project"}),
                ("recall", {"query": "mantis", "scope": "everything"}),
                ("list_memory", {"scope": "both"}),
                ("remember", {"text": 7}),
                ("remember", {}),
                ("remember", {"text": "Mantis fact.", "store": "global"}),
                ("list_memory", {"limit": 0}),
            ):
                assert (await claude.refusal(tool, **arguments))["code"] == "CONFIG_INVALID"
            body = {"query": "mantis", "scope": "everything"}
            reply = house.ask("POST", f"/memory_stores/{store}/recall", body)
            assert reply.refusal(422, "CONFIG_INVALID")["details"]["field"] == "scope"
            house.coffer("memory", "recall", ".", "x", "--scope", "everything", folder=project, status=2)


@pytest.mark.report("B57")
@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_store_name_is_refused(house: House, name: str) -> None:
    """A name could lead a read or a write out of the memory tree, or make a store that nothing reads."""
    house.ask("POST", "/memory_stores/global/facts", {"text": "The fact that makes the store."})
    with house.nothing_written():
        for spelt in {quote(name, safe=""), quote(name, safe="/%\\")}:
            at = f"/memory_stores/{spelt}"
            for method, path, body in (
                ("GET", "", None),
                ("GET", "/facts", None),
                ("GET", "/metrics", None),
                ("GET", "/history", None),
                ("POST", "/facts", {"text": "Cricket fact."}),
                ("POST", "/recall", {"query": "cricket"}),
                ("PATCH", "", {"max_fact_chars": 100}),
                ("PATCH", "/label", {"label": "Cricket"}),
                ("DELETE", "/facts", None),
            ):
                reply = house.ask(method, at + path, body)
                assert reply.status == 404, (method, at + path, reply)
                assert reply.json["error"]["code"] in ("MEMORY_STORE_NOT_FOUND", "NOT_FOUND")
    if "\0" not in name:
        house.coffer("memory", "facts", name, status=1)


@pytest.mark.report("B57")
@pytest.mark.parametrize("fact_id", BAD_IDS)
def test_bad_fact_id_is_refused(house: House, fact_id: str) -> None:
    """An id could name a file outside the store."""
    house.ask("POST", "/memory_stores/global/facts", {"text": "The fact that makes the store."})
    with house.nothing_written():
        for spelt in {quote(fact_id, safe=""), quote(fact_id, safe="/%\\")}:
            at = f"/memory_stores/global/facts/{spelt}"
            for method, path, body in (
                ("GET", "", None),
                ("PATCH", "", {"text": "Cricket fact."}),
                ("DELETE", "", None),
                ("GET", "/history", None),
                ("POST", "/restore", {"commit": "abcdef12"}),
            ):
                reply = house.ask(method, at + path, body)
                assert reply.status == 404, (method, at + path, reply)
                assert reply.json["error"]["code"] in (
                    "MEMORY_NOT_FOUND",
                    "NOT_FOUND",
                    "MEMORY_STORE_NOT_FOUND",
                )
        superseding = {"text": "Cricket fact.", "supersedes": [fact_id]}
        house.ask("POST", "/memory_stores/global/facts", superseding).refusal(404, "MEMORY_NOT_FOUND")


@pytest.mark.report("B57")
def test_paths_and_commits_stay_inside(house: House) -> None:
    """History could be asked for files that aren't the store's, or git be handed an option."""
    fact = house.add("global", "Katydid fact.")
    at = f"/memory_stores/global/facts/{fact['id']}"
    with house.nothing_written():
        for path in BAD_PATHS:
            reply = house.get(f"/memory_stores/global/history?path={quote(path, safe='')}")
            assert reply.status == 422 or reply.done() == {"commits": []}, path
            assert reply.status == 422 or ".." not in path.split("/")
        for commit in ("HEAD", "../HEAD", "--all", "main", "abc", "g" * 40, "a" * 41, ""):
            reply = house.ask("POST", f"{at}/restore", {"commit": commit})
            assert reply.refusal(422, "CONFIG_INVALID")["details"]["field"] == "commit"
            house.get(f"/memory_stores/global/history?before={quote(commit)}").refusal(422, "CONFIG_INVALID")
        house.ask("POST", f"{at}/restore", {"commit": "0" * 40}).refusal(404, "MEMORY_NOT_FOUND")
        house.get(f"/memory_stores?cwd={quote('../..')}").refusal(422, "CONFIG_INVALID")
        house.get("/memory_stores/global/facts?lane=../rules").refusal(422, "CONFIG_INVALID")
        house.get("/memory_stores/global/facts?limit=201").refusal(422, "CONFIG_INVALID")
        house.get("/audit?store=../x").refusal(404, "MEMORY_STORE_NOT_FOUND")


@pytest.mark.report("B57")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_symlinks_lead_nowhere(house: House, project: Path, store: str, what: str) -> None:
    """A link in a tree that came from elsewhere could make a private file a fact, or be written through."""
    house.add(store, "Earwig fact.")
    outside = house.folder() / "private.md"
    outside.write_text("Earwig secret outside of the tree.\n", "utf-8")
    link = house.store_dir(store) / "knowledge" / ("linked.md" if what == "file" else "linked")
    link.symlink_to(outside if what == "file" else outside.parent)
    assert house.texts(store, "earwig outside") == ["Earwig fact."]
    assert house.ask("DELETE", f"/memory_stores/{store}/facts").status == 200
    assert outside.read_text("utf-8") == "Earwig secret outside of the tree.\n"


@pytest.mark.parametrize(
    "body, field",
    [
        ({}, "text"),
        ({"text": 1}, "text"),
        ({"text": None}, "text"),
        ({"text": "x", "typo": 1}, "typo"),
        ({"text": "x", "title": "y" * 201}, "title"),
        ({"text": "x", "supersedes": "y"}, "supersedes"),
        ({"text": "x\0y"}, "text"),
        ({"text": "half \ud83d"}, "text"),
        ([], "body"),
        (b"{", "body"),
        (b'{"text": "\xff"}', "body"),
        (b"[" * 100_000, "body"),
    ],
)
def test_wrong_shape_is_named(house: House, body: object, field: str) -> None:
    """A program would have to guess which of its fields was wrong."""
    with house.nothing_written():
        reply = house.ask("POST", "/memory_stores/global/facts", body)
        assert reply.refusal(422, "CONFIG_INVALID")["details"]["field"] == field
