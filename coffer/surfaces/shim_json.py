"""JSON for a program that must start at once: the C parts of `json` without the package around them.

Importing `json` brings `re` and `enum` and takes as long as starting Python itself. Its two C types have had
the same arguments since Python 3.3; where they are missing or have changed, `json` does the work.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


def _refuse(value: object) -> Any:
    raise ValueError(f"JSON has no {value}")


class _Rules:
    """What the C scanner asks of the decoder that it belongs to."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int, parse_constant = float, int, _refuse


_scan: Callable[[str, int], tuple[Any, int]]
_chunks: Callable[[Any, Any], Iterable[str]]
_ascii_chunks: Callable[[Any, Any], Iterable[str]]
try:
    from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner

    _scan = make_scanner(_Rules)  # type: ignore[arg-type]
    _chunks = make_encoder(None, _refuse, encode_basestring, None, ":", ",", False, False, False)
    _ascii_chunks = make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", False, False, False)
except (ImportError, AttributeError, TypeError):
    from json import JSONDecoder, JSONEncoder

    _scan = JSONDecoder(parse_constant=_refuse).raw_decode
    _chunks = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).iterencode
    _ascii_chunks = JSONEncoder(allow_nan=False, separators=(",", ":")).iterencode


def decode(data: bytes) -> Any:
    """Return what one line of UTF-8 holds. ValueError when it isn't JSON, RecursionError when too deep."""
    text = data.decode().strip(" \t\r\n")
    try:
        value, end = _scan(text, 0)
    except (StopIteration, SystemError):  # the second by Python 3.11, for want of json's own error class
        raise ValueError("it isn't JSON") from None
    if end != len(text):
        raise ValueError("it's more than one value")
    return value


def encode(value: object) -> bytes:
    """Return a value on one line of UTF-8. ValueError for a number that JSON hasn't, RecursionError again."""
    try:
        return "".join(_chunks(value, 0)).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can escape and UTF-8 can't hold
        return "".join(_ascii_chunks(value, 0)).encode()
