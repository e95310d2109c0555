from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanes import lane_of
from lanes.errors import Unreadable
from lanes.handoff import Scene, handoff_path, read_scene, write_scene
from lanes.knowledge import storable
from lanes.names import cut, is_portable, single_line

SCENE = Scene(
    "feature/x",
    "2026-11-30T10:00:00Z",
    "codex",
    "9ffd440",
    "workbench",
    "Half of the lexer is done.\n\nNext: tests.",
)
WORDS = st.one_of(st.none(), st.text(max_size=300))


def test_a_scene_file_is_what_the_contract_shows() -> None:
    """Other programs, and a person, would not find what the docs promise."""
    assert write_scene(SCENE).decode() == (
        '---\nbranch: feature/x\nupdated_at: "2026-11-30T10:00:00Z"\nagent: codex\nhead: "9ffd440"\n'
        "machine: workbench\n---\n\nHalf of the lexer is done.\n\nNext: tests.\n"
    )


@given(
    st.text(), WORDS, WORDS, WORDS, st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
)
def test_scenes_round_trip(
    branch: str, agent: str | None, head: str | None, machine: str | None, body: str
) -> None:
    """The next agent would continue another scene than the one that was left."""
    path = handoff_path(branch)

    scene = read_scene(path, write_scene(Scene(branch, SCENE.updated_at, agent, head, machine, body)))

    def word(text: str | None) -> str | None:
        return cut(single_line(text or ""), 200) or None

    assert scene == Scene(
        single_line(branch) or single_line(path.removeprefix("handoff/").removesuffix(".md")),
        SCENE.updated_at,
        word(agent),
        word(head),
        word(machine),
        storable(body),
    )


@pytest.mark.parametrize(
    "body", ["---", "---\nbranch: other\n---", "branch: other", "# Title", "\ufeffx", "a\r\nb"]
)
def test_a_body_never_becomes_a_header(body: str) -> None:
    """A scene could claim to be of another branch."""
    assert replace(SCENE, body=body) == read_scene("handoff/x.md", write_scene(replace(SCENE, body=body)))


def test_a_scene_about_a_merge_conflict_stays_readable() -> None:
    """Exactly the scene that is needed in the middle of a merge would be refused at the next reading."""
    body = "Stuck at:\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs"

    assert (
        body.replace("\n>", "\n >") == read_scene("handoff/x.md", write_scene(replace(SCENE, body=body))).body
    )


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_scene_by_hand_is_of_the_branch_that_its_file_is_named_for(newline: str, mark: str) -> None:
    """What a person left for the next agent would not be found."""
    data = f"{mark}{newline}Continue with the parser.{newline}".encode()

    scene = read_scene("handoff/release-2.md", data)

    assert Scene("release-2", "", None, None, None, "Continue with the parser.") == scene


def test_odd_fields_are_read_as_missing() -> None:
    """A header that somebody spoiled would hide the scene below it."""
    data = b"---\nbranch: [a, b]\nupdated_at: soon\nagent: ''\nhead: {x: y}\nextra: 1\n---\n\nbody\n"

    assert Scene("main", "", None, None, None, "body") == read_scene("handoff/main.md", data)


def test_a_field_is_one_visible_line() -> None:
    """A scene from elsewhere could put lines of its own between those of a session's context."""
    data = b'---\nbranch: "main\\n# Orders"\nmachine: "a\\u202Eb"\nupdated_at: 2026-11-30T11:00:00+01:00\n---\n\nx\n'

    scene = read_scene("handoff/main.md", data)

    assert (scene.branch, scene.machine, scene.updated_at) == ("main # Orders", "ab", "2026-11-30T10:00:00Z")


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"\xff", b"a\0", b"---\nbranch: x\n", b"---\na: &a 1\n---\n\nx\n"]
)
def test_what_cannot_be_read_is_refused(data: bytes) -> None:
    """A damaged scene would be shown as if it were whole."""
    with pytest.raises(Unreadable):
        read_scene("handoff/main.md", data)


@pytest.mark.parametrize("body", ["a\0b", "\ud800", "x" * 2**20])
def test_what_could_not_be_read_back_is_not_written(body: str) -> None:
    """The scene would be lost at the next reading, the older one too."""
    with pytest.raises(Unreadable):
        write_scene(replace(SCENE, body=body))


@given(st.text(min_size=1))
def test_every_branch_has_a_file_in_the_lane(branch: str) -> None:
    """A handoff could be written outside its folder, or where nobody looks for it."""
    path = handoff_path(branch)

    lane = lane_of(path)
    assert lane is not None and lane.name == "handoff"
    assert is_portable(path.removeprefix("handoff/"))


def test_branches_that_look_alike_keep_apart() -> None:
    """One branch's scene would overwrite another's."""
    branches = ["feature/x", "feature-x", "Feature/X", "feature/x ", "detached-0a1b2c3d4e5f"]

    assert len(branches) == len({handoff_path(branch).casefold() for branch in branches})
