"""commands.md tells every command and option, and every command line in the documents can be typed."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from coffer.surfaces.cli import command_line
from tests.documents.pages import PAGES, blocks, read, section


def commands(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ("coffer",)
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield " ".join(words), parser
    for group in groups:
        for name, child in group.choices.items():
            yield from commands(child, (*words, name))


COMMANDS = dict(commands(command_line()))
HEADINGS = {
    re.split(r" (?=[A-Z\[])", heading, maxsplit=1)[0]: heading
    for heading in re.findall(r"^### `(coffer [^`]+)`$", read("commands.md"), re.MULTILINE)
}


def test_exactly_the_commands_that_exist_are_told() -> None:
    """A person wouldn't learn of a command, or would type one that isn't there."""
    assert sorted(HEADINGS) == sorted(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_commands_options_and_arguments_are_told(command: str) -> None:
    """A person who reads the documentation wouldn't learn of an option or argument."""
    heading = HEADINGS[command]
    text = heading + section(read("commands.md"), f"### `{heading}`")
    known = {name for action in COMMANDS[command]._actions for name in action.option_strings}
    for action in COMMANDS[command]._actions:
        if action.option_strings:
            assert {"--help", "--json"} & set(action.option_strings) or all(
                name in text for name in action.option_strings
            ), action.option_strings
        else:
            assert str(action.metavar or action.dest).strip("[]") in heading
    assert ("--json" in known) == ("--json" in heading)
    assert set(re.findall(r"--[a-z-]+", heading)) <= known


def test_options_of_all_commands_are_told() -> None:
    """Nobody would know how to ask which version they have."""
    for action in command_line()._actions:
        assert all(name in read("commands.md") for name in action.option_strings if name not in ("-h",))


def test_every_command_line_in_the_documents_can_be_typed() -> None:
    """A person would copy an example and be told that they used it wrongly."""
    typed = [
        line.removeprefix("$ ").split(" | ")[-1]
        for page in PAGES
        for block in blocks(page.read_text("utf-8"))
        for line in block.splitlines()
        if re.match(r"(\$ )?(.* \| )?coffer ", line) and line != "coffer/"
    ]
    assert len(typed) > 5
    for line in typed:
        command_line().parse_args(shlex.split(line)[1:])
