"""The first change to the disk fails, then the second, the third … until an operation gets through."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Awaitable, Callable
from importlib import import_module
from itertools import count
from pathlib import Path

import pytest

import gitsync
from coffer.application.curate import Edit, delete_fact, edit_fact, list_facts
from coffer.application.remember import NewFact, remember
from coffer.bootstrap import open_ports
from coffer.domain.errors import CofferError
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports
from coffer.domain.stores import GLOBAL
from tests import invariants
from tests.fakes import FailingDisk

pytestmark = pytest.mark.faults

WRITERS = [
    import_module(name)
    for name in (
        "coffer.infrastructure.tree_files",
        "coffer.infrastructure.tree_git",
        "coffer.infrastructure.tree_repository",
        *(
            f"gitsync.{path.stem}"
            for path in Path(gitsync.__file__).parent.glob("*.py")
            if path.stem != "__init__"
        ),
    )
]
AGENT = Caller("agent", "claude-code")
OLD, NEW, LATER = "Deploys happen on Monday.", "Deploys happen on Tuesday.", "Zeppelins land on Friday."
CODES = {errno.ENOSPC: "DISK_FULL", errno.EROFS: "STORE_READ_ONLY", errno.EIO: "STORE_READ_ONLY"}

Operation = Callable[[Ports, str], Awaitable[object]]
OPERATIONS: dict[str, tuple[Operation, list[str]]] = {
    "supersede": (lambda ports, fact: remember(ports, AGENT, GLOBAL, NewFact(NEW, supersedes=[fact])), [NEW]),
    "edit": (lambda ports, fact: edit_fact(ports, AGENT, GLOBAL, fact, Edit(text=NEW)), [NEW]),
    "delete": (lambda ports, fact: delete_fact(ports, AGENT, GLOBAL, fact), []),
}


async def texts(ports: Ports) -> list[str]:
    facts, _ = await list_facts(ports, GLOBAL)
    return sorted(fact.text for fact in facts)


@pytest.mark.report("B21")
@pytest.mark.parametrize(
    ("operation", "error"),
    [
        *(("supersede", error) for error in CODES),
        *(("edit", error) for error in (errno.ENOSPC, errno.EROFS)),
        ("delete", errno.EROFS),
    ],
    ids=lambda value: errno.errorcode.get(value, value),
)
async def test_every_write_may_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, error: int
) -> None:
    """A full, read-only or failing disk would cost a text that was there before, or stop Coffer until a restart."""
    run, after = OPERATIONS[operation]
    template = tmp_path / "template"
    template.mkdir()
    async with open_ports(str(template), {"HOME": str(tmp_path)}) as ports:
        fact = (await remember(ports, AGENT, GLOBAL, NewFact(OLD))).fact.id
        await texts(ports)
    disk = FailingDisk(monkeypatch, WRITERS)
    for number in count(1):
        home = tmp_path / str(number)
        shutil.copytree(template, home)
        async with open_ports(str(home), {"HOME": str(tmp_path)}) as ports:
            await texts(ports)
            disk.fail(number, error, until_mended=error != errno.EIO)
            refused = None
            try:
                await run(ports, fact)
            except CofferError as problem:
                refused = problem
            disk.mend()
            found = await texts(ports)
            assert refused is None or refused.code == CODES[error]
            if refused is None:
                assert found == after
            else:
                assert found in ([OLD], after, sorted([OLD, *after]))
                # Room was made: no restart is needed.
                if found != after:
                    await run(ports, fact)
                    assert await texts(ports) == after
            await remember(ports, AGENT, GLOBAL, NewFact(LATER))
            assert await ports.tree.pending() == {}
        assert OLD in invariants.texts_ever(home / "memory")
        async with open_ports(str(home), {"HOME": str(tmp_path)}) as ports:
            assert await texts(ports) == sorted([LATER, *after])
        invariants.check(home)
        shutil.rmtree(home)
        if not disk.failed:
            break
    assert number > 10
