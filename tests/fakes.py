"""Stand-ins for what tests can't have for real."""

from __future__ import annotations

import builtins
import errno
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

_WRITABLE = os.O_WRONLY | os.O_RDWR | os.O_CREAT
# What needs room; a full disk still lets things be removed, renamed and flushed.
_TAKES_ROOM = {"open", "write", "mkdir", "makedirs", "link"}


class FailingDisk:
    """The disk as some modules see it, on which the N-th change fails, and with `until_mended` all that follow.

    A write that fails has written the first half. Reading always works.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, modules: list[ModuleType]) -> None:
        self._left: int | None = None
        self._error = 0
        self._until_mended = False
        self.failed = False
        for module in modules:
            if hasattr(module, "os"):
                monkeypatch.setattr(module, "os", _Os(self))
            monkeypatch.setattr(module, "open", self._open, raising=False)
            if hasattr(module, "_syncfs"):
                monkeypatch.setattr(module, "_syncfs", lambda: self._syncfs)

    def fail(self, number: int, error: int, until_mended: bool) -> None:
        """Let the `number`-th change from now on fail with `error`."""
        self._left, self._error, self._until_mended, self.failed = number, error, until_mended, False

    def mend(self) -> None:
        """Let everything work again."""
        self._left = None

    def fails(self, operation: str) -> bool:
        if self._left is None or (self._error == errno.ENOSPC and operation not in _TAKES_ROOM):
            return False
        self._left -= 1
        now = self._left == 0 or (self._left < 0 and self._until_mended)
        self.failed |= now
        return now

    def error(self, path: object) -> OSError:
        return OSError(self._error, os.strerror(self._error), path)

    def _open(self, file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        if not set(mode) & set("wax+"):
            return builtins.open(file, mode, *arguments, **named)
        if not isinstance(file, int) and self.fails("open"):
            raise self.error(file)
        return _File(self, builtins.open(file, mode, *arguments, **named))

    def _syncfs(self, handle: int) -> int:
        return -1 if self.fails("fsync") else 0


class _File:
    """A file open for writing."""

    def __init__(self, disk: FailingDisk, file: Any) -> None:
        self._disk, self._file = disk, file

    def write(self, data: Any) -> Any:
        if self._disk.fails("write"):
            self._file.write(data[: len(data) // 2])
            self._file.flush()
            raise self._disk.error(self._file.name)
        return self._file.write(data)

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *problem: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Os:
    """The module `os`, whose calls that change the disk ask first whether they fail."""

    def __init__(self, disk: FailingDisk) -> None:
        self._disk = disk

    def open(self, path: Any, flags: int, *arguments: Any, **named: Any) -> int:
        if flags & _WRITABLE and self._disk.fails("open"):
            raise self._disk.error(path)
        return os.open(path, flags, *arguments, **named)

    def write(self, handle: int, data: Any) -> int:
        if self._disk.fails("write"):
            os.write(handle, data[: len(data) // 2])
            raise self._disk.error(None)
        return os.write(handle, data)

    def makedirs(self, path: Any, *arguments: Any, **named: Any) -> None:
        if not os.path.isdir(path) and self._disk.fails("makedirs"):
            raise self._disk.error(path)
        os.makedirs(path, *arguments, **named)

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
        if self._disk.fails("unlink"):
            raise self._disk.error(path)
        os.unlink(path, dir_fd=dir_fd)

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in ("replace", "rename", "link", "mkdir", "rmdir", "fsync", "utime", "chmod"):
            return real
        return self._failing(name, real)

    def _failing(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if self._disk.fails(name):
                raise self._disk.error(arguments[0] if isinstance(arguments[0], str) else None)
            return real(*arguments, **named)

        return call
