"""mcp.md tells what each tool takes and gives."""

from __future__ import annotations

import pytest

from coffer.surfaces.mcp.tools import TOOLS, Schema, Tool
from tests.documents.pages import quoted, read, rows, section


def names(schema: Schema) -> set[str]:
    """Return the names of all fields of an answer, also of those in its lists; `error` is told for all tools."""
    found: set[str] = set()
    for name, value in schema.get("properties", {}).items():
        if name != "error":
            found |= {name} | names(value.get("items", {}))
    return found


def test_exactly_the_tools_that_exist_are_told() -> None:
    """An agent's user would look for a tool in vain."""
    told = [quoted(line)[0] for line in read("mcp.md").splitlines() if line.startswith("### ")]
    assert told == [tool.name for tool in TOOLS]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tools_arguments_and_answer_are_told(tool: Tool) -> None:
    """A person who writes a client would have to read the code."""
    text = section(read("mcp.md"), f"### `{tool.name}`")
    arguments = {quoted(row[0])[0]: row[1] for row in rows(text)}
    properties = tool.input_schema["properties"]
    assert list(arguments) == list(properties)
    for name, told in arguments.items():
        assert told.startswith("required") == (name in tool.input_schema.get("required", ()))
        assert set(properties[name].get("enum", ())) <= set(quoted(told))
        for bound in ("maximum", "maxItems", "default"):
            value = properties[name].get(bound)
            assert value is None or str(value) in told, (name, bound)
    assert names(tool.output_schema) <= set(quoted(text))
