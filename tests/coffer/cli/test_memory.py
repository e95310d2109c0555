"""The commands that read and search memory."""

from __future__ import annotations

import json

import pytest

from tests.coffer.cli.fake_rest import FACT, PROJECT, Coffer, FakeRest, fact, store

METRICS = {
    "fact_count": 12,
    "topic_count": 3,
    "inbox_count": 9,
    "rule_count": 4,
    "journal_days": 2,
    "handoff_count": 1,
    "disk_bytes": 12345,
    "last_write_at": "2026-06-03T09:30:00Z",
}
HIT = {
    "id": FACT,
    "text": "Deploys go through make release,\nnever by pushing tags.",
    "score": 0.934,
    "source": "global:/memory/global/knowledge/inbox/2026-06/deploys.md",
    "time": "2026-06-03T09:30:00Z",
}


def test_list_shows_the_stores(rest: FakeRest, coffer: Coffer) -> None:
    """A person couldn't see which memories there are."""
    stores = [store("global"), store(PROJECT, display_name="shop", project_root="/code/shop", fact_count=140)]
    rest.reply("GET", "/memory_stores", 200, {"memory_stores": stores})
    assert coffer("memory", "list").out.splitlines() == [
        f"STORE{' ' * 31}NAME    FACTS  UPDATED               PROJECT",
        f"global{' ' * 30}global      2  2026-06-03T09:30:00Z",
        f"{PROJECT}  shop      140  2026-06-03T09:30:00Z  /code/shop",
    ]


def test_list_of_nothing_says_so(rest: FakeRest, coffer: Coffer) -> None:
    """A newcomer would think the command had failed."""
    rest.reply("GET", "/memory_stores", 200, {"memory_stores": []})
    assert coffer("memory", "list").out == "No stores yet; the first fact creates one.\n"


def test_show_tells_a_store_with_its_metrics(rest: FakeRest, coffer: Coffer) -> None:
    """A person couldn't see how much a store holds and where its files are."""
    rest.reply("GET", "/memory_stores/global/metrics", 200, METRICS)
    out = coffer("memory", "show", "global").out
    assert "store:        global\n" in out
    assert "facts:        12 (9 in the inbox)\n" in out
    assert "size:         12,345 bytes\n" in out
    assert "folder:       /memory/global\n" in out
    assert "exists" not in out
    both = json.loads(coffer("memory", "show", "global", "--json").out)
    assert both == {"store": store("global"), "metrics": METRICS}


def test_show_says_when_a_store_is_yet_to_come(rest: FakeRest, coffer: Coffer) -> None:
    """An empty project would look like a mistake."""
    rest.reply("GET", "/memory_stores/global", 200, store("global", exists=False, updated_at=None))
    rest.reply("GET", "/memory_stores/global/metrics", 200, METRICS | {"last_write_at": None})
    assert "exists:       not yet; the first fact creates it\n" in coffer("memory", "show", "global").out


def test_facts_are_listed_with_who_wrote_them(rest: FakeRest, coffer: Coffer) -> None:
    """A person couldn't find the id of the fact that is to be corrected."""
    page = {"facts": [fact(), fact(id="p-1", agent=None, actor="user", title="Tabs")], "total": 2}
    rest.reply("GET", "/memory_stores/global/facts", 200, page)
    assert coffer("memory", "facts", "global").out.splitlines() == [
        "ID                          UPDATED               BY     TITLE",
        f"{FACT}  2026-06-03T09:30:00Z  codex  Deploys go through make release",
        "p-1                         2026-06-03T09:30:00Z  user   Tabs",
    ]
    assert rest.last.query == {}


def test_facts_come_in_pages(rest: FakeRest, coffer: Coffer) -> None:
    """Nobody would notice that a list is cut, or could see the rest."""
    rest.reply("GET", "/memory_stores/global/facts", 200, {"facts": [fact()], "total": 5})
    out = coffer("memory", "facts", "--limit", "1", "--offset", "2", "global").out
    assert rest.last.query == {"limit": "1", "offset": "2"}
    assert out.splitlines()[-1] == "2 more: --offset 3"


@pytest.mark.parametrize(("total", "said"), [(0, "No facts."), (3, "No facts beyond the newest 3.")])
def test_a_page_without_facts_says_why(rest: FakeRest, coffer: Coffer, total: int, said: str) -> None:
    """An empty store and a page too far would look alike."""
    rest.reply("GET", "/memory_stores/global/facts", 200, {"facts": [], "total": total})
    assert coffer("memory", "facts", "global").out == f"{said}\n"


def test_get_prints_the_whole_text(rest: FakeRest, coffer: Coffer) -> None:
    """A fact couldn't be read without opening its file."""
    out = coffer("memory", "get", "global", FACT).out
    assert out.endswith("\n\nDeploys go through make release,\nnever by pushing tags.\n")
    assert "by:          codex\n" in out
    assert "pending" not in out
    assert json.loads(coffer("memory", "get", "global", FACT, "--json").out) == fact()


def test_get_of_an_odd_id_stays_one_part_of_the_path(rest: FakeRest, coffer: Coffer) -> None:
    """An id with a slash would ask for something else than a fact."""
    ran = coffer("memory", "get", "global", "../../x?y")
    assert ran.status == 1
    assert rest.last.path == "/api/v1/memory_stores/global/facts/..%2F..%2Fx%3Fy"
    assert rest.last.query == {}


def test_recall_shows_the_best_hit_first_with_its_source(rest: FakeRest, coffer: Coffer) -> None:
    """A hit without source, time and confidence couldn't be judged."""
    weak = HIT | {"id": "p-1", "score": 0.31, "text": "Tabs.\n"}
    rest.reply("POST", "/memory_stores/global/recall", 200, {"hits": [HIT, weak]})
    assert coffer("memory", "recall", "global", "how do we deploy").out == (
        f"[0.93] {FACT}  2026-06-03T09:30:00Z\n"
        "global:/memory/global/knowledge/inbox/2026-06/deploys.md\n"
        "    Deploys go through make release,\n"
        "    never by pushing tags.\n"
        "\n"
        "[0.31 weak] p-1  2026-06-03T09:30:00Z\n"
        "global:/memory/global/knowledge/inbox/2026-06/deploys.md\n"
        "    Tabs.\n"
    )
    assert rest.last.body == {"query": "how do we deploy"}


def test_recall_passes_its_options_on(rest: FakeRest, coffer: Coffer) -> None:
    """A search would be wider or deeper than it was asked to be."""
    rest.reply("POST", "/memory_stores/global/recall", 200, {"hits": []})
    options = ("--scope", "project", "--top-k", "3", "--json")
    ran = coffer("memory", "recall", "global", *options, "--", "->")
    assert ran.out == '{"hits": []}\n'
    assert rest.last.body == {"query": "->", "scope": "project", "top_k": 3}


def test_history_of_a_store_and_of_a_path(rest: FakeRest, coffer: Coffer) -> None:
    """Nobody could see who changed the memory, and when."""
    commit = {
        "commit": "c" * 40,
        "time": "2026-06-03T09:30:00Z",
        "op": "remember",
        "actor": "agent",
        "agent": "codex",
        "subject": "remember: Deploys go through make release",
        "paths": ["global/knowledge/inbox/2026-06/deploys.md"],
    }
    by_hand = commit | {"commit": "d" * 40, "op": None, "actor": None, "agent": None, "subject": "tidy up"}
    rest.reply("GET", "/memory_stores/global/history", 200, {"commits": [commit, by_hand]})
    assert coffer("memory", "history", "global").out.splitlines() == [
        f"COMMIT{' ' * 8}TIME                  WHAT      BY     SUBJECT",
        f"{'c' * 12}  2026-06-03T09:30:00Z  remember  codex  remember: Deploys go through make release",
        f"{'d' * 12}  2026-06-03T09:30:00Z                   tidy up",
    ]
    assert rest.last.query == {}
    coffer("memory", "history", "global", "--path", "knowledge/a b.md", "--json")
    assert rest.last.query == {"path": "knowledge/a b.md"}


def test_history_of_a_fact_lists_its_versions(rest: FakeRest, coffer: Coffer) -> None:
    """Nobody could find the commit to restore a fact from."""
    version = {
        "commit": "c" * 40,
        "time": "2026-06-03T09:30:00Z",
        "op": "edit",
        "actor": "user",
        "agent": None,
        "subject": "edit: Deploys",
        "path": "global/knowledge/inbox/2026-06/deploys.md",
        "text": "Deploys.",
    }
    rest.reply("GET", f"/memory_stores/global/facts/{FACT}/history", 200, {"versions": [version]})
    assert f"{'c' * 12}  2026-06-03T09:30:00Z  edit  user  edit: Deploys" in (
        coffer("memory", "history", "global", "--fact", FACT).out
    )


def test_history_of_every_store(rest: FakeRest, coffer: Coffer) -> None:
    """Who has many stores would have to ask for each."""
    rest.reply("GET", "/history", 200, {"commits": []})
    assert coffer("memory", "history", "--all").out == "No history.\n"
    assert rest.last.path == "/api/v1/history"


def test_diff_prints_what_changed(rest: FakeRest, coffer: Coffer) -> None:
    """Nobody could see what became of a store, and what is too much to show would be missing without a word."""
    moment = {"commit": "c" * 40, "time": "2026-06-03T09:30:00Z"}
    text = "--- a/knowledge/a.md\n+++ b/knowledge/a.md\n@@ -1 +1 @@\n-old\n+new \x1b[2J\n"
    files = [
        {"path": "/memory/global/knowledge/a.md", "status": "changed", "diff": text},
        {"path": "/memory/global/knowledge/b.md", "status": "removed", "diff": None},
    ]
    answer = {"from": moment, "to": moment, "files": files, "total": 3}
    rest.reply("GET", "/memory_stores/global/diff", 200, answer)
    assert coffer("memory", "diff", "global", "2026-06-01", "cccc").out.splitlines() == [
        *text.replace("\x1b", "\\x1b").splitlines(),
        "removed: /memory/global/knowledge/b.md (not shown)",
        "1 more files differ.",
    ]
    assert rest.last.query == {"from": "2026-06-01", "to": "cccc"}
    rest.reply("GET", "/memory_stores/global/diff", 200, answer | {"files": [], "total": 0})
    assert coffer("memory", "diff", "global", "2026-06-01").out == "No difference.\n"
    assert rest.last.query == {"from": "2026-06-01"}


def test_blame_tells_who_wrote_each_line(rest: FakeRest, coffer: Coffer) -> None:
    """Nobody could tell which agent wrote a line."""
    line = {"commit": "c" * 40, "time": "2026-06-03T09:30:00Z", "actor": "agent", "agent": "codex"}
    by_hand = {"commit": "d" * 40, "time": "2026-06-04T09:30:00Z", "actor": None, "agent": None}
    lines = [line | {"session": None, "text": "  Deploys."}, by_hand | {"session": None, "text": ""}]
    rest.reply("GET", f"/memory_stores/global/facts/{FACT}/blame", 200, {"lines": lines})
    assert coffer("memory", "blame", "global", FACT).out.splitlines() == [
        f"COMMIT{' ' * 8}TIME{' ' * 18}BY     LINE",
        f"{'c' * 12}  2026-06-03T09:30:00Z  codex    Deploys.",
        f"{'d' * 12}  2026-06-04T09:30:00Z",
    ]


def test_undo_tells_its_commit(rest: FakeRest, coffer: Coffer) -> None:
    """Nobody would know what was taken back, or how to take that back."""
    undone = {
        "commit": "e" * 40,
        "undone": "c" * 40,
        "subject": "undo: edit: Deploys",
        "paths": ["/memory/global/knowledge/a.md"],
        "pending_reason": None,
    }
    rest.reply("POST", "/memory_stores/undo", 200, undone)
    assert coffer("memory", "undo", "cccc").out == f"Undone by {'e' * 12} in 1 file: undo: edit: Deploys\n"
    assert rest.last.body == {"commit": "cccc"}
    rest.reply(
        "POST", "/memory_stores/undo", 200, undone | {"commit": None, "pending_reason": "a merge waits"}
    )
    assert coffer("memory", "undo", "cccc").out.splitlines() == [
        "Undone in 1 file: undo: edit: Deploys",
        "The files are as they were; the commit is pending: a merge waits",
    ]


def test_the_memory_as_it_was(rest: FakeRest, coffer: Coffer) -> None:
    """The answer would be today's, whatever time is asked for."""
    page = {"facts": [fact()], "total": 1, "commit": "c" * 40, "time": "2026-06-03T09:30:00Z"}
    rest.reply("GET", "/memory_stores/global/at/2026-06-03T09%3A30Z/facts", 200, page)
    assert FACT in coffer("memory", "facts", "global", "--at", "2026-06-03T09:30Z").out
    rest.reply("POST", "/memory_stores/global/recall", 200, {"hits": [HIT]})
    coffer("memory", "recall", "global", "deploys", "--at", "2026-06-03")
    assert rest.last.body == {"query": "deploys", "at": "2026-06-03"}


def test_no_history_says_so(rest: FakeRest, coffer: Coffer) -> None:
    """An empty answer would look like a failure."""
    rest.reply("GET", "/memory_stores/global/history", 200, {"commits": []})
    assert coffer("memory", "history", "global").out == "No history.\n"


def test_a_refusal_is_one_sentence_and_status_1(rest: FakeRest, coffer: Coffer) -> None:
    """A person would get a traceback or a body of JSON instead of what to do."""
    rest.refuse(
        "GET", f"/memory_stores/global/facts/{FACT}", 404, "MEMORY_NOT_FOUND", "It isn't\nthere.\x1b[2J"
    )
    ran = coffer("memory", "get", "global", FACT)
    assert (ran.status, ran.out, ran.err) == (1, "", "coffer: It isn't there.\\x1b[2J\n")


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"error": "no"}'])
def test_an_answer_that_is_not_the_daemons_is_one_sentence_too(
    rest: FakeRest, coffer: Coffer, body: bytes
) -> None:
    """Something else on the socket would end in a traceback."""
    rest.reply("GET", "/memory_stores", 500, body)
    ran = coffer("memory", "list")
    assert ran.status == 1
    assert ran.err.startswith("coffer: The daemon")
    assert "500" in ran.err
    assert ran.err.count("\n") == 1
