from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanes.errors import LaneError
from lanes.layout import inbox_path, is_inside, store_folder, store_of, superseded_path
from lanes.names import GLOBAL_PROJECT_ID, is_portable

PROJECT = "2ZYRM1DGFA7FCX6T2VJDKW8Z4M"


@pytest.mark.parametrize("project_id", [GLOBAL_PROJECT_ID, PROJECT])
def test_a_store_is_found_again_by_its_folder(project_id: str) -> None:
    """A changed file would not be known as its store's."""
    folder = store_folder(project_id)

    assert (folder, "knowledge/a.md") == store_of(f"{folder}/knowledge/a.md")


@pytest.mark.report("B57")
@pytest.mark.parametrize("project_id", ["", "..", "../" + PROJECT, PROJECT.lower(), PROJECT + "/x", "global"])
def test_other_ids_have_no_folder(project_id: str) -> None:
    """A store name could lead outside the tree."""
    with pytest.raises(LaneError, match="not a project id"):
        store_folder(project_id)


@pytest.mark.report("B57")
@pytest.mark.parametrize(
    "path",
    [
        "",
        "global",
        "global/",
        "README.md",
        ".gitattributes",
        "projects",
        f"projects/{PROJECT}",
        f"projects/{PROJECT.lower()}/store.yaml",
        f"projects/{GLOBAL_PROJECT_ID}/store.yaml",
        "projects/x/store.yaml",
        "global/../projects/x.md",
        "global//store.yaml",
        "/global/store.yaml",
        "global/a\\b.md",
        "global/a\0.md",
    ],
)
def test_paths_outside_every_store(path: str) -> None:
    """A file outside the stores would be read or written as memory."""
    assert store_of(path) is None


def test_is_inside() -> None:
    """A joined path could climb out of its folder."""
    assert is_inside("a/b.md")
    assert is_inside("..a/b..")
    for bad in ("", "/a", "a/", "a//b", "../a", "a/./b", "a/..", "a\\b", "a\0"):
        assert not is_inside(bad)


def test_inbox_path() -> None:
    """New facts would all land in one folder, or in a wrong month."""
    assert inbox_path("2026-11-30T10:00:00Z", "a-7v6b1ca.md") == "knowledge/inbox/2026-11/a-7v6b1ca.md"


@pytest.mark.report("B57")
@pytest.mark.parametrize(
    ("time", "name"), [("../../x", "a.md"), ("2026-11-30", "../a.md"), ("2026-11-30", ".a.md"), ("", "a.md")]
)
def test_inbox_path_refuses_other_names(time: str, name: str) -> None:
    """A fact could be written outside the inbox."""
    with pytest.raises(LaneError, match="no place in the inbox"):
        inbox_path(time, name)


def test_superseded_path() -> None:
    """An archived text would overwrite an earlier one."""
    first = superseded_path("knowledge/inbox/2026-11/a-7v6b1ca.md", "20261130T101500Z", ())
    second = superseded_path("knowledge/A-7v6b1ca.md", "2026-11-30T10:15:00Z", {first.upper()})
    third = superseded_path("knowledge/a-7v6b1ca.md", "20261130T101500Z", [first, second])

    assert first == "superseded/a-7v6b1ca-20261130T101500Z.md"
    assert second == "superseded/A-7v6b1ca-20261130T101500Z-2.md"
    assert third == "superseded/a-7v6b1ca-20261130T101500Z-3.md"


def test_superseded_path_refuses_other_stamps() -> None:
    """An archive name could carry anything."""
    with pytest.raises(LaneError, match="not a UTC time"):
        superseded_path("knowledge/a.md", "yesterday/..", ())


@given(st.text(min_size=1, max_size=300).filter(lambda name: "/" not in name))
def test_archive_names_are_portable(stem: str) -> None:
    """A file that a person gave an odd name could not be archived."""
    path = superseded_path(f"knowledge/{stem}.md", "20261130T101500Z", ())

    assert is_portable(path.removeprefix("superseded/"))
