"""Handoff scenes: where the work on a branch stands, for whoever continues it."""

from __future__ import annotations

from dataclasses import dataclass

from lanes import file_text, frontmatter
from lanes.checked_yaml import Value
from lanes.knowledge import storable
from lanes.layout import HANDOFF
from lanes.names import branch_filename, cut, single_line
from lanes.times import utc_time

_WORD_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Scene:
    """One branch's scene.

    `updated_at` is ISO 8601 in UTC with whole seconds, or empty where the file doesn't tell, which sorts before
    every time. `head` is the commit that was checked out, `machine` where that was.
    """

    branch: str
    updated_at: str
    agent: str | None
    head: str | None
    machine: str | None
    body: str


def handoff_path(branch: str) -> str:
    """Return where a branch's scene lies inside its store; two branches never share a file."""
    return f"{HANDOFF}/{branch_filename(branch)}"


def write_scene(scene: Scene) -> bytes:
    """Write a scene whole; `read_scene` gives it back, its body as `storable` leaves it.

    Raises `Unreadable` for a text that can't stand in a file.
    """
    fields: dict[str, Value] = {"branch": single_line(scene.branch), "updated_at": scene.updated_at}
    for name, value in (("agent", scene.agent), ("head", scene.head), ("machine", scene.machine)):
        if word := cut(single_line(value or ""), _WORD_LIMIT):
            fields[name] = word
    return file_text.encode(frontmatter.render(fields, storable(scene.body)))


def read_scene(path: str, data: bytes) -> Scene:
    """Read a scene; one written by hand without a header is of the branch that its file is named for.

    Raises `Unreadable`; the file then stays as it is.
    """
    scene = frontmatter.parse(file_text.decode(data))
    words = {key: single_line(value) for key, value in scene.fields.items() if isinstance(value, str)}
    return Scene(
        branch=words.get("branch") or single_line(path.rpartition("/")[2].removesuffix(".md")),
        updated_at=utc_time(words.get("updated_at", "")) or "",
        agent=words.get("agent") or None,
        head=words.get("head") or None,
        machine=words.get("machine") or None,
        body=scene.body.lstrip("\r\n").rstrip(),
    )
