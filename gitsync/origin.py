"""Find a repository's origin in git's configuration, and remember it until that changes.

Files are read under limits and includes are followed here, since a checkout's configuration may come from
anybody: circles, devices, endless files and patterns made to be slow end quickly, as if they weren't there.
"""

from __future__ import annotations

import fnmatch
import io
import os
from dataclasses import dataclass, field

from dulwich.config import ConfigFile

from gitsync.plain_files import Signature, read_plain, signature
from gitsync.remote_url import may_be_shorthand, normalise_remote

# dulwich reads about a megabyte of configuration a second, so this holds for all files of a project together.
_MOST_BYTES = 1 << 20
_MOST_FILES = 64
_MOST_CACHED = 256


@dataclass(slots=True)
class Origin:
    """What identity takes from the configuration of one git folder, and the files that it stands in.

    `remote` is the normalised origin, `worktree` the value of core.worktree.
    """

    gitdir: str
    home: str | None
    remote: str | None = None
    worktree: bytes | None = None
    files: dict[str, Signature | None] = field(default_factory=dict)
    _bytes_left: int = _MOST_BYTES
    _urls: list[str] = field(default_factory=list)
    _rewrites: list[tuple[str, str]] = field(default_factory=list)

    def read(self) -> None:
        """Settle `remote` from the first origin URL, the one git fetches from.

        A network URL stays as it is, whatever mirror the user's insteadOf rules put in its place on this
        machine. They decide only about a value that isn't one, or may be a shorthand in the form of one.
        """
        self._read_file(os.path.join(self.gitdir, "config"), own=True)
        if not self._urls:
            return
        url = self._urls[0]
        self.remote = normalise_remote(url)
        if self.remote is not None and not may_be_shorthand(url):
            return
        if self.home is not None:
            for name in (".gitconfig", ".config/git/config"):
                self._read_file(os.path.join(self.home, name), own=False)
        rules = [rule for rule in self._rewrites if url.startswith(rule[0])]
        if rules:
            prefix, base = max(rules, key=lambda rule: len(rule[0]))
            self.remote = normalise_remote(base + url[len(prefix) :]) or self.remote

    def _read_file(self, path: str, own: bool) -> None:
        """Add what one file says, then what it includes; a file that can't be parsed says nothing.

        `own` marks the repository's files: only these name an origin.
        """
        path = os.path.normpath(path)
        if path in self.files or len(self.files) == _MOST_FILES:
            return
        self.files[path] = signature(path)
        data = read_plain(path, self._bytes_left)
        if data is None:
            return
        self._bytes_left -= len(data)
        try:
            parsed = ConfigFile.from_file(io.BytesIO(data), expand_includes=False)
        except ValueError:
            return
        for names in parsed.sections():
            subsection = _text(names[1]) if len(names) > 1 else ""
            for key, value in parsed.items(names):
                self._take(path, own, (names[0].lower(), subsection, key.lower()), value)

    def _take(self, path: str, own: bool, name: tuple[bytes, str, bytes], value: bytes) -> None:
        match name:
            case (b"remote", "origin", b"url") if own:
                if value:
                    self._urls.append(_text(value))
                else:
                    self._urls.clear()  # git's way to take back what was said before
            case (b"core", "", b"worktree") if own:
                self.worktree = value
            case (b"url", base, b"insteadof") if value:
                self._rewrites.append((_text(value), base))
            case (b"include", "", b"path"):
                self._read_file(self._included(path, value), own)
            case (b"includeif", condition, b"path") if self._holds(condition):
                self._read_file(self._included(path, value), own)

    def _included(self, path: str, value: bytes) -> str:
        return os.path.join(os.path.dirname(path), self._expand(os.fsdecode(value)))

    def _expand(self, path: str) -> str:
        return self.home + path[1:] if self.home is not None and path.startswith("~/") else path

    def _holds(self, condition: str) -> bool:
        """Tell whether an includeIf applies: the repository's place counts, its branch of the moment doesn't.

        Simpler than git in that `*` matches a slash too; such a pattern can't be made to backtrack.
        """
        kind, _, pattern = condition.partition(":")
        if kind not in ("gitdir", "gitdir/i"):
            return False
        pattern = self._expand(pattern)
        if not pattern.startswith("/"):
            pattern = "*/" + pattern
        if pattern.endswith("/"):
            pattern += "*"
        gitdir = os.path.realpath(self.gitdir)
        if kind == "gitdir/i":
            pattern, gitdir = pattern.lower(), gitdir.lower()
        return fnmatch.fnmatchcase(gitdir, pattern)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


_origins: dict[tuple[str, str | None], Origin] = {}


def origin_of(gitdir: str, home: str | None) -> Origin:
    """Read the configuration of a git folder, or return what it said when none of its files has changed."""
    known = _origins.get((gitdir, home))
    if known is not None and all(signature(path) == seen for path, seen in known.files.items()):
        return known
    origin = Origin(gitdir, home)
    origin.read()
    if len(_origins) >= _MOST_CACHED:
        _origins.clear()
    _origins[gitdir, home] = origin
    return origin
