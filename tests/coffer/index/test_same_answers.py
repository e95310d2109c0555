"""However the index came to be, it answers like one that was made from the files just now."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from coffer.infrastructure.index.mirror import SearchIndex
from tests.coffer.index.home import LANES, PROJECT, Home

_WORDS = (
    *(
        "deploy",
        "deploys",
        "release",
        "postgres",
        "Postgres",
        "the",
        "backoff",
        "computeBackoff",
        "gdpr_scrub",
    ),
    *("部署", "服务器", "naïve", "C++", "->", "2026", "walrus"),
)
_STORES = ("global", PROJECT)
_QUERIES = (
    *(
        "deploy release",
        "postgers",
        "backof",
        "部署",
        "部",
        "walruss the",
        "C++",
        "->",
        "gdprscrub",
        "march 2026",
    ),
    "what does global deploy to postgres",
)
_FILES = st.sampled_from(
    ["knowledge/a.md", "knowledge/inbox/b.md", "knowledge/inbox/2026-01/c.md", "knowledge/x/d.md"]
)
_STORE = st.sampled_from(_STORES)
_TEXTS = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=150).map(" ".join)
_HEADERS = st.sampled_from(
    [
        "",
        "---\nid: 01ARZ3NDEKTSV4RRFFQ69G5FAV\ncreated_at: 2026-01-01T00:00:00Z\n---\n",
        "---\nid: 01ARZ3NDEKTSV4RRFFQ69G5FAV\ntitle: walrus release\nmetadata:\n  agent: postgres\n---\n",
        "---\ntitle: deploy\ndescription: something computeBackoff\nupdated_at: 2026-02-01T00:00:00Z\n---\n",
    ]
)
_STEPS = st.one_of(
    st.tuples(st.just("write"), _STORE, _FILES, st.tuples(_HEADERS, _TEXTS).map("".join)),
    st.tuples(st.just("touch"), _STORE, _FILES, st.integers(1_600_000_000, 1_900_000_000)),
    st.tuples(st.just("remove"), _STORE, _FILES),
    st.tuples(st.just("move"), _STORE, _FILES, _FILES),
    st.tuples(st.just("reconcile"), st.just(_STORES) | st.just(_STORES[:1])),
    st.tuples(
        st.just("delete index"), st.sampled_from([("",), ("", "-wal", "-shm"), ("-wal", "-shm"), ("-wal",)])
    ),
    st.tuples(st.just("restart")),
    st.tuples(st.just("crash")),
    st.tuples(st.just("forget"), _STORE),
)


def take(step: tuple, home: Home, index: SearchIndex) -> SearchIndex:  # type: ignore[type-arg]
    match step:
        case ("write", store, path, content):
            home.write(path, content, store, mtime=1_700_000_000)
        case ("touch", store, path, second) if home.file(path, store).exists():
            home.write(path, home.file(path, store).read_bytes(), store, mtime=second)
        case ("remove", store, path):
            home.file(path, store).unlink(missing_ok=True)
        case ("move", store, path, target) if home.file(path, store).exists():
            home.file(target, store).parent.mkdir(parents=True, exist_ok=True)
            home.file(path, store).rename(home.file(target, store))
        case ("reconcile", stores):
            index.reconcile(home.files(stores))
        case ("delete index", parts):
            for part in parts:
                Path(home.path + part).unlink(missing_ok=True)
        case ("restart",):
            index.close()
            return home.open()
        case ("crash",):
            return home.open()
        case ("forget", store):
            index.forget(store)
    return index


def answers(home: Home, index: SearchIndex) -> list[object]:
    """Return everything that can be asked, and the statistics that ranking and mending rest on."""
    index.reconcile(home.files(_STORES))
    told: list[object] = [index.search(query, _STORES, 20) for query in _QUERIES]
    told += [index.search(query, [PROJECT], 20) for query in _QUERIES]
    told += [index.documents(store, LANES, 100, 0) for store in _STORES]
    told += [index.holders(store, "walrus") for store in _STORES] + [index.problems()]
    db = index._database.connections.writer
    told.append(
        db.execute(
            "SELECT name, word, df FROM vocabulary JOIN stores ON store = number ORDER BY 1, 2"
        ).fetchall()
    )
    db.execute("INSERT INTO passages(passages) VALUES('integrity-check')")
    return told


@settings(max_examples=30, deadline=None)
@given(st.lists(_STEPS, min_size=3, max_size=25))
def test_an_edited_index_answers_like_a_fresh_one(steps: list[tuple]) -> None:  # type: ignore[type-arg]
    """Recall would depend on the order of past edits, and change when the index is deleted."""
    folder = Path(tempfile.mkdtemp())
    try:
        home = Home(folder)
        index = home.open()
        for step in steps:
            index = take(step, home, index)
        told = answers(home, index)
        index.close()
        home.path = str(folder / "fresh.sqlite")
        fresh = home.open()
        assert told == answers(home, fresh)
        fresh.close()
    finally:
        shutil.rmtree(folder)


def test_row_numbers_decide_nothing(home: Home) -> None:
    """Equal facts would come in another order after a rebuild."""
    for number in range(300):
        home.fact(
            f"fact{number % 7}{number}", "The walrus sleeps.", time=f"2026-11-{number % 5 + 1:02}T00:00:00Z"
        )
    index = home.open()
    told = answers(home, index)
    ranked = home.found(index, "walrus")
    index.close()
    home.path += "2"
    for number in reversed(range(300)):
        file = home.file(f"knowledge/inbox/2026-11/fact{number % 7}{number}.md")
        file.rename(file.with_suffix(".aside"))
    again = home.open()
    for number in range(300):
        file = home.file(f"knowledge/inbox/2026-11/fact{number % 7}{number}.md")
        file.with_suffix(".aside").rename(file)
        again.reconcile(home.files())
    assert home.found(again, "walrus") == ranked
    assert answers(home, again) == told
    again.close()
