"""Reports of memories that fell over what else touches their files: a pull, an editor, their own children."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.house import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    try:
        yield house
    finally:
        house.stop()


@pytest.mark.report("B04")
def test_what_was_pulled_stays_though_the_index_never_saw_it(house: House, tmp_path: Path) -> None:
    """Facts of another machine would be taken for deleted ones, because the index had not heard of them."""
    house.start()
    house.add("global", "The blue server is in Bergen.")
    other = tmp_path / "other"
    house.git("clone", "-q", str(house.tree), str(other), folder=tmp_path)
    (other / "global/knowledge/red.md").write_text("The red server is in Rome.\n")
    house.git("add", "-A", folder=other)
    house.git("commit", "-q", "-m", "from another machine", folder=other)

    house.git("pull", "-q", str(other), "main")
    os.kill(house.pid(), signal.SIGKILL)
    house.start()
    house.add("global", "The green server is in Graz.")

    found = [
        text for color in ("blue", "red", "green") for text in house.texts("global", f"{color} server")[:1]
    ]
    assert [text.split()[-1] for text in found] == ["Bergen.", "Rome.", "Graz."]
    assert len(house.git("ls-files", "global/knowledge").split()) == 3
    assert house.git("status", "--porcelain") == ""


@pytest.mark.report("B37")
def test_an_editor_that_coffer_started_may_use_coffer(house: House, tmp_path: Path) -> None:
    """The editor would be told that another instance is running, by the very command that started it."""
    house.start()
    fact = house.add("global", "The cache is warm.")
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import sys\n"
        "from coffer.surfaces.cli import main\n"
        "assert main(['memory', 'facts', 'global']) == 0\n"
        "assert main(['memory', 'add', 'global', 'Said from the editor.']) == 0\n"
        "open(sys.argv[1], 'w').write('The cache is cold.')\n"
    )
    house.environ["EDITOR"] = f"{sys.executable} {editor}"
    house.coffer("memory", "edit", "global", fact["id"])
    answer = json.loads(house.coffer("memory", "facts", "global", "--json"))
    assert {each["text"] for each in answer["facts"]} == {"The cache is cold.", "Said from the editor."}
