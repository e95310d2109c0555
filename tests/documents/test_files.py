"""files.md shows files as Coffer reads and writes them."""

from __future__ import annotations

from dataclasses import fields

from coffer.application.remember import MAX_DESCRIPTION_CHARS
from coffer.application.stores import MAX_LABEL_CHARS
from coffer.domain.facts import MAX_QUERY_CHARS, MAX_TITLE_CHARS
from lanes import LANES
from lanes.knowledge import new_fact, read_note, render_index
from lanes.layout import superseded_path
from lanes.names import fact_filename, slug
from lanes.store_config import FACT_CHARS, StoreConfig, read_config, update_config
from tests.documents.pages import blocks, quoted, read, rows, section

PAGE = read("files.md")


def test_the_fact_is_one_that_coffer_would_write() -> None:
    """A program that reads the files by this page would meet others."""
    example = blocks(PAGE, "markdown")[0].encode()
    path = quoted(section(PAGE, "## A fact"))[0]
    note = read_note(path, example)
    written = new_fact(
        fact_id=note.id,
        title=note.title,
        description=None,
        text=note.body,
        actor=note.actor,
        agent=note.agent,
        origin_session_id=note.origin_session_id,
        now=str(note.updated_at),
    )
    assert written == example and note.minted
    assert path == f"knowledge/inbox/{str(note.created_at)[:7]}/{fact_filename(note.title, note.id)}"
    archived = quoted(section(PAGE, "## An archived fact"))[0]
    assert archived == superseded_path(path, archived[-19:-3], ())


def test_the_other_examples_are_what_coffer_reads_and_writes() -> None:
    """A person would copy settings that are refused."""
    example = blocks(PAGE, "yaml")[0].encode()
    assert read_config(example).label == "The web shop"
    assert update_config(example, {}) == example
    told = {name for row in rows(section(PAGE, "## store.yaml")) for name in quoted(row[0])}
    assert told == {field.name for field in fields(StoreConfig)}
    index = render_index([("deploy", "Deploying", "How a release gets to production.")])
    assert blocks(PAGE, "markdown")[1] == index


def test_every_lane_has_its_place() -> None:
    """A person would find a file that no page explains."""
    assert [lane.folder for lane in LANES if lane.folder.split("/")[0] not in PAGE] == []


def test_limits_are_the_real_ones() -> None:
    """A person would be refused what the page allows."""
    limits = section(PAGE, "## Limits")
    default = StoreConfig().max_fact_chars
    longest = len(fact_filename("x" * 500, "0" * 26))
    for number in (default, *FACT_CHARS[:: len(FACT_CHARS) - 1], MAX_DESCRIPTION_CHARS, MAX_QUERY_CHARS):
        assert f"{number:,} " in limits or f"{number:,}" in limits.split(), number
    for number in (MAX_TITLE_CHARS, MAX_LABEL_CHARS, longest):
        assert f"{number} " in limits, number
    assert slug("x" * 500) == "x" * 60
