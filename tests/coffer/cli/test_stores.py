"""What STORE may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.coffer.cli.fake_rest import OTHER, PROJECT, Coffer, FakeRest, store


@pytest.fixture(autouse=True)
def labels(rest: FakeRest) -> None:
    """Two projects, of which one has a label and both have folders of the same name."""
    stores = [
        store("global"),
        store(PROJECT, label="Shop", display_name="Shop", project_root="/code/shop"),
        store(OTHER, display_name="api", project_root="/code/api"),
    ]
    rest.reply("GET", "/memory_stores", 200, {"memory_stores": stores})
    for name in ("global", PROJECT, OTHER):
        rest.reply("GET", f"/memory_stores/{name}/facts", 200, {"facts": [], "total": 0})


@pytest.mark.parametrize(
    ("given", "meant"), [("global", "global"), (OTHER, OTHER), ("Shop", PROJECT), ("api", OTHER)]
)
def test_a_store_goes_by_name_label_or_display_name(
    rest: FakeRest, coffer: Coffer, given: str, meant: str
) -> None:
    """A person would have to copy 26 characters to name a project."""
    assert coffer("memory", "facts", given).status == 0
    assert rest.last.path == f"/api/v1/memory_stores/{meant}/facts"


@pytest.mark.parametrize("dot", [["."], []], ids=["dot", "left out"])
def test_a_dot_or_nothing_means_the_project_of_this_folder(
    rest: FakeRest, coffer: Coffer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dot: list[str]
) -> None:
    """Inside a project its memory couldn't be reached without its name."""
    folder = tmp_path / "a b&c=%é\udcff"
    folder.mkdir()
    monkeypatch.chdir(folder)
    rest.reply("GET", "/memory_stores", 200, {"memory_stores": [store(PROJECT, exists=False)]})
    assert coffer("memory", "facts", *dot).status == 0
    assert [asked.query.get("cwd") for asked in rest.asked if asked.path.endswith("/memory_stores")] == [
        str(folder)
    ]
    assert rest.last.path == f"/api/v1/memory_stores/{PROJECT}/facts"


def test_a_dot_outside_a_project_is_refused(rest: FakeRest, coffer: Coffer) -> None:
    """A fact meant for a project would land somewhere else."""
    rest.refuse("GET", "/memory_stores", 422, "SCOPE_UNRESOLVED", "No project.")
    ran = coffer("memory", "facts")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("coffer: The current folder isn't inside a git project")
    assert ran.err.count("\n") == 1


def test_a_dot_in_a_folder_that_is_gone_is_refused(
    rest: FakeRest, coffer: Coffer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person would get a traceback instead of a sentence."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    ran = coffer("memory", "facts")
    assert (ran.status, ran.err) == (
        1,
        "coffer: The current folder is gone; go to another one, or name a store.\n",
    )


def test_an_ambiguous_label_lists_the_candidates(rest: FakeRest, coffer: Coffer) -> None:
    """The wrong project's memory would be changed."""
    twins = [
        store(PROJECT, display_name="api", project_root="/code/api"),
        store(OTHER, display_name="api", remote="example.org/api"),
    ]
    rest.reply("GET", "/memory_stores", 200, {"memory_stores": twins})
    ran = coffer("memory", "clear", "api", "--yes")
    assert ran.status == 1
    assert ran.err == (
        "coffer: Several stores are called 'api', so give one by its name: "
        f"{PROJECT} (/code/api); {OTHER} (example.org/api).\n"
    )
    assert {asked.method for asked in rest.asked} == {"GET"}


@pytest.mark.parametrize("name", ["nowhere", "Global", "project-short", "../global", "", "\x1b[2J"])
def test_an_unknown_store_is_refused(coffer: Coffer, name: str) -> None:
    """A slip in a store's name would look like an empty memory."""
    ran = coffer("memory", "facts", name)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("coffer: No store is called ")
    assert "\x1b" not in ran.err
