"""Doctor: everything that a person should know about this memory's health, in one list."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from coffer.application.agent_findings import agent_findings
from coffer.application.lane_files import lane_files
from coffer.application.merge_scan import split_findings
from coffer.application.sync import sync_findings
from coffer.application.threads import in_thread
from coffer.domain.activity import Finding
from coffer.domain.ports import Ports
from coffer.domain.secrets import find_secrets
from coffer.domain.stores import StoreRef
from lanes.errors import Unreadable
from lanes.handoff import read_scene
from lanes.layout import HANDOFF, RULES
from lanes.rules import read_rules

# The index looks at the lanes that are recalled; these two reach agents by other ways.
_NOT_INDEXED: dict[str, Callable[[str, bytes], object]] = {
    RULES: lambda path, content: read_rules(content),
    HANDOFF: read_scene,
}


async def diagnose(ports: Ports) -> list[Finding]:
    """Return findings on the repository, the index and the agents, after every store was brought up to date."""
    files = []
    for store in await ports.tree.stores():
        await ports.index.refresh(store)
        files += await _rules_and_scenes(ports, store)
    return [
        *await ports.tree.findings(),
        *await ports.index.findings(),
        *files,
        *await split_findings(ports),
        *await sync_findings(ports),
        *await agent_findings(ports),
    ]


async def _rules_and_scenes(ports: Ports, store: StoreRef) -> list[Finding]:
    files = [
        (path, content, read)
        for lane, read in _NOT_INDEXED.items()
        for path, content in await lane_files(ports, store, lane)
    ]
    return await in_thread(
        lambda: [
            Finding(
                "file",
                "warning",
                f"{path}: {reason}.",
                "Mend the file in an editor; what can't be read reaches no agent.",
            )
            for path, content, read in files
            for reason in _reasons(path, content, read)
        ]
    )


def _reasons(path: str, content: bytes, read: Callable[[str, bytes], object]) -> Iterator[str]:
    """Yield why a person should look at a file."""
    for secret in find_secrets(content.decode(errors="replace"))[:1]:
        yield f"seems to hold a secret ({secret.kind})"
    try:
        read(path, content)
    except Unreadable as problem:
        yield problem.reason
