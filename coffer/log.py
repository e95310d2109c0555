"""The daemon's log, on stderr: what went wrong and where, never what is remembered."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Iterator
from types import TracebackType


class Discreet(logging.Formatter):
    """Tells where a fault came from without its message, which may quote a text, a query or a token."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)sZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        record.exc_text = None  # as another handler may have spelt it out
        return super().format(record)

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
    ) -> str:
        return "".join(_trace(ei[1])) if ei[1] is not None else ""


def start_log() -> None:
    """Send warnings and worse of every library to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(Discreet())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _trace(fault: BaseException) -> Iterator[str]:
    earlier = fault.__cause__ or (None if fault.__suppress_context__ else fault.__context__)
    if earlier is not None:
        yield from _trace(earlier)
        yield "which led to:\n"
    yield from traceback.format_tb(fault.__traceback__)
    yield f"{type(fault).__qualname__}\n"
    for inner in fault.exceptions if isinstance(fault, BaseExceptionGroup) else ():
        yield from _trace(inner)
