"""rest.md and errors.md tell every route and every error."""

from __future__ import annotations

from collections.abc import Iterator

from coffer.domain import errors
from coffer.domain.errors import CofferError
from coffer.surfaces.rest.app import ROUTES
from coffer.surfaces.rest.errors import API, STATUS
from coffer.surfaces.rest.openapi import errors_of
from tests.documents.pages import read


def test_every_route_has_its_entry() -> None:
    """A person would have to read the code to find out what can be asked."""
    text = read("rest.md")
    told = [line.removeprefix("### ").strip("`") for line in text.splitlines() if line.startswith("### ")]
    assert sorted(told) == sorted(f"{route.method} {API}{route.path}" for route in ROUTES)


def test_every_field_is_told() -> None:
    """A person would have to read the code to find out what a route takes, or which refusals are its own."""
    text = read("rest.md")
    for route in ROUTES:
        entry = text.partition(f"### `{route.method} {API}{route.path}`\n")[2].partition("\n#")[0]
        body = route.body["properties"] if route.body else {}
        for name in [*body, *route.query, *(name for name in route.headers if name == "If-Match")]:
            assert f"`{name}`" in entry, (route.method, route.path, name)
        for error in route.errors:
            assert f"`{error.code}`" in entry, (route.method, route.path, error.code)


def test_every_error_has_its_entry() -> None:
    """A person would meet an error and not find what to do."""
    text = read("errors.md")
    told = {
        cells[1].strip(" `"): int(cells[2])
        for line in text.splitlines()
        if len(cells := line.split("|")) == 6 and cells[2].strip().isdigit()
    }
    assert told == STATUS
    assert {error.code for error in every(CofferError)} == set(told)


def test_the_tree_of_errors_is_drawn_whole() -> None:
    """Who adds an error wouldn't see where it belongs."""
    drawn = errors.__doc__ or ""
    here = [error.__name__ for error in every(CofferError) if error.__module__ == errors.__name__]
    assert [name for name in here if f"── {name}" not in drawn] == []


def every(error: type[CofferError]) -> Iterator[type[CofferError]]:
    """Yield the errors below one."""
    for child in error.__subclasses__():
        yield child
        yield from every(child)


def test_errors_of_routes_are_distinct() -> None:
    """The description would list an error of a route twice."""
    for route in ROUTES:
        errors = errors_of(route)
        assert len(errors) == len(set(errors))
