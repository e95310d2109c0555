"""The documents tell every route and every error."""

from __future__ import annotations

from pathlib import Path

from coffer.surfaces.rest.app import ROUTES
from coffer.surfaces.rest.errors import API, STATUS
from coffer.surfaces.rest.openapi import errors_of

DOCS = Path(__file__).parents[3] / "docs"


def test_every_route_has_its_entry() -> None:
    """A person would have to read the code to find out what can be asked."""
    text = (DOCS / "rest.md").read_text()
    told = [line.removeprefix("### ").strip("`") for line in text.splitlines() if line.startswith("### ")]
    assert sorted(told) == sorted(f"{route.method} {API}{route.path}" for route in ROUTES)


def test_every_field_is_told() -> None:
    """A person would have to read the code to find out what a route takes, or which refusals are its own."""
    text = (DOCS / "rest.md").read_text()
    for route in ROUTES:
        entry = text.partition(f"### `{route.method} {API}{route.path}`\n")[2].partition("\n#")[0]
        body = route.body["properties"] if route.body else {}
        for name in [*body, *route.query, *(name for name in route.headers if name == "If-Match")]:
            assert f"`{name}`" in entry, (route.method, route.path, name)
        for error in route.errors:
            assert f"`{error.code}`" in entry, (route.method, route.path, error.code)


def test_every_error_has_its_entry() -> None:
    """A person would meet an error and not find what to do."""
    text = (DOCS / "errors.md").read_text()
    told = {
        cells[1].strip(" `"): int(cells[2])
        for line in text.splitlines()
        if len(cells := line.split("|")) == 6 and cells[2].strip().isdigit()
    }
    assert told == STATUS


def test_errors_of_routes_are_distinct() -> None:
    """The description would list an error of a route twice."""
    for route in ROUTES:
        errors = errors_of(route)
        assert len(errors) == len(set(errors))
