"""settings.md tells every environment variable that the code reads, and no others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.documents.pages import CODE, quoted, read, rows, section


def variables(tree: ast.AST) -> Iterator[str]:
    """Yield the variables that a module reads, and whatever looks like one of Coffer's own."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=owner), args=[ast.Constant(value=str(name)), *_]) if (
                ast.unparse(owner).endswith("environ")
            ):
                yield name
            case ast.Subscript(value=owner, slice=ast.Constant(value=str(name))) if ast.unparse(
                owner
            ).endswith("environ"):
                yield name
            case ast.Call(
                func=ast.Attribute(attr="getenv" | "getenvb"), args=[ast.Constant(value=str(name)), *_]
            ):
                yield name
            case ast.Constant(value=str(text)):
                yield from re.findall(r"\bCOFFER_[A-Z_]+", text)


def test_exactly_the_variables_that_are_read_are_told() -> None:
    """A person couldn't find a setting, or would set one that does nothing."""
    read_by_code = {name for path in CODE for name in variables(ast.parse(path.read_text("utf-8")))}
    told = [quoted(row[0])[0] for row in rows(section(read("settings.md"), "## Environment"))]
    assert sorted(told) == sorted(read_by_code)
