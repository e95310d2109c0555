"""The code explains itself."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.documents.pages import CODE, ROOT

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_their_public_names_say_what_they_are_for(path: Path) -> None:
    """A newcomer would have to guess. Errors may be told by the tree at the top of their module."""
    tree = ast.parse(path.read_text("utf-8"))
    about = ast.get_docstring(tree)
    assert about
    for node in tree.body:
        if isinstance(node, DEFINITIONS) and not node.name.startswith("_"):
            assert ast.get_docstring(node) or f"── {node.name}" in about, node.name


@pytest.mark.parametrize("package", ["lanes", "gitsync"])
def test_a_packages_map_is_complete(package: str) -> None:
    """The map at a package's entrance would leave out a module, or show one that is gone."""
    about = ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text("utf-8"))) or ""
    modules = {path.stem for path in (ROOT / package).glob("*.py")} - {"__init__"}
    assert {name for name in modules if not re.search(rf"\b{name}\b", about)} == set()
