"""Settings files as people have them: our fixtures, real ones if they are stored beside the repository."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from coffer.domain.agents import AgentKind, AgentType, Commands
from coffer.infrastructure.agents.kinds import KnownAgents
from coffer.infrastructure.settings.files import DiskSettings

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "fixtures" / "agents"
REAL = ROOT.parent / "shared" / "data" / "agents"

COMMANDS = Commands("/opt/cof fer/bin/coffer-mcp-shim", "/opt/cof fer/bin/coffer-hook")
DISK = DiskSettings(lambda: "2026-11-30T12:00:00Z")

FOLDERS: dict[AgentType, str] = {
    "claude_code": ".claude",
    "codex": ".codex",
    "opencode": ".config/opencode",
    "cursor": ".cursor",
}
# Where files of each shape are read from, and below which name their agent has them in a home.
PLACES: dict[tuple[AgentType, str], tuple[str, ...]] = {
    ("claude_code", ".claude/settings.json"): ("settings/hooks/*", "home/.claude/*", "hooks-settings/*.json"),
    ("claude_code", ".claude.json"): ("settings/servers/*", "home/.claude.json", "hooks-settings/10*"),
    ("codex", ".codex/hooks.json"): ("settings/hooks/*", "home/.codex/hooks.json", "hooks-settings/*codex*"),
    ("codex", ".codex/config.toml"): ("settings/config/*", "home/.codex/config.toml", "codex/config/*"),
    ("opencode", ".config/opencode/opencode.json"): ("settings/opencode/*", "opencode/config/*"),
    ("opencode", ".config/opencode/opencode.jsonc"): ("settings/opencode/*", "home/.config/opencode/*"),
    ("cursor", ".cursor/hooks.json"): (
        "settings/cursor-hooks/*",
        "home/.cursor/hooks.json",
        "cursor/0[1-6]*",
    ),
    ("cursor", ".cursor/mcp.json"): ("settings/servers/*", "home/.cursor/mcp.json", "cursor/08*"),
}


@dataclass(frozen=True)
class Sample:
    """A file of an agent's: `path` is where it is below a home."""

    type: AgentType
    path: str
    content: bytes
    name: str

    def variants(self) -> Iterator[Sample]:
        """Yield the same file as other editors would have saved it."""
        text = self.content.decode()
        lines = text.replace("\r\n", "\n")
        for name, other in {
            "as it is": text,
            "without a last line end": lines.rstrip("\n"),
            "with a last line end": lines.rstrip("\n") + "\n",
            "from Windows": lines.replace("\n", "\r\n"),
            "with a byte order mark": "\ufeff" + text,
        }.items():
            yield replace(self, content=other.encode(), name=f"{self.name} {name}")


def samples(root: Path) -> list[Sample]:
    """Return the files below one of the two folders."""
    return [
        Sample(type, path, found.read_bytes(), f"{path}: {found.relative_to(root)}")
        for (type, path), patterns in PLACES.items()
        for pattern in patterns
        for found in sorted(root.glob(pattern))
        if found.is_file()
    ]


@dataclass(frozen=True)
class Home:
    """A scratch home with the folder of one agent."""

    root: Path
    kind: AgentKind
    folder: str

    @classmethod
    def make(cls, root: Path, type: AgentType) -> Home:
        """Make the agent's folder, as its first start does."""
        folder = root / FOLDERS[type]
        folder.mkdir(parents=True)
        return cls(root, KnownAgents({}, str(root)).kind(type), str(folder))

    def install(self) -> int:
        """Connect the agent and install its hooks; return how many files that changed."""
        changed = self.kind.connect(self.folder, COMMANDS, "ada")
        DISK.apply(changed)
        hooks = self.kind.install_hooks(self.folder, COMMANDS, "ada")
        DISK.apply(hooks)
        return len(changed) + len(hooks)

    def uninstall(self) -> int:
        """Undo `install`; return how many files that changed."""
        hooks = self.kind.uninstall_hooks(self.folder)
        DISK.apply(hooks)
        changed = self.kind.disconnect(self.folder)
        DISK.apply(changed)
        return len(changed) + len(hooks)

    def files(self) -> dict[str, bytes]:
        """Return every file in the home."""
        found = (path for path in self.root.rglob("*") if path.is_file())
        return {str(path.relative_to(self.root)): path.read_bytes() for path in found}
