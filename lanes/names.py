"""Names that are safe on every file system, and the ids that Coffer mints or derives.

ULIDs follow https://github.com/ulid/spec; the alphabet is Crockford's base 32 (no I, L, O, U).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from lanes.errors import LaneError

GLOBAL_PROJECT_ID = "0" * 26
RESERVED_TOPICS = frozenset({"index", "inbox"})

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_PATH_ID = re.compile(r"p-[0-9A-HJKMNP-TV-Z]{26}")

# Control characters that aren't white space, soft hyphen, zero-width and bidi controls, byte order mark,
# interlinear marks, non-characters, lone surrogates, and the tag block that smuggles invisible text.
INVISIBLE = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f"
)
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_FORBIDDEN = re.compile(rf'[\x00-\x1f<>:"/\\|?*\x85\u2028\u2029{INVISIBLE}]')

# git~1 is the short name that Windows gives to .git.
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$", "git~1"}
    | {port + digit for port in ("com", "lpt") for digit in "0123456789¹²³"}
)
# Letters that Unicode doesn't decompose into an ASCII letter and a mark.
_FOLD = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i"})


def encode_crockford(number: int, length: int = 26) -> str:
    """Write a number as upper-case Crockford base 32, padded with zeros; what doesn't fit is a ValueError."""
    if number < 0 or number >> (5 * length):
        raise ValueError(f"{number} doesn't fit into {length} Crockford digits")
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(5 * (length - 1), -1, -5))


def ulid(milliseconds: int, randomness: bytes) -> str:
    """Build a ULID from a Unix time in milliseconds and ten random bytes."""
    if len(randomness) != 10 or not 0 <= milliseconds < 1 << 48:
        raise ValueError("a ULID takes 48 bits of time and 10 bytes of randomness")
    return encode_crockford(milliseconds << 80 | int.from_bytes(randomness, "big"))


def is_ulid(text: str) -> bool:
    """Tell whether a text is a ULID as Coffer writes them: 26 upper-case digits, 128 bits."""
    return _ULID.fullmatch(text) is not None


def path_id(path: str) -> str:
    """Name a file that carries no id by its path inside the store, equal on every machine.

    The path is taken in NFC, since macOS may hand the same name back decomposed.
    """
    digest = hashlib.sha256(unicodedata.normalize("NFC", path).encode("utf-8", "surrogateescape")).digest()
    return "p-" + encode_crockford(int.from_bytes(digest, "big"), 52)[:26]


def is_fact_id(text: str) -> bool:
    """Tell whether a text can name a fact: a ULID or a path id. Anything else never reaches a path."""
    return is_ulid(text) or _PATH_ID.fullmatch(text) is not None


def slug(title: str, limit: int = 60) -> str:
    """Turn any title into a file name stem of `[a-z0-9-]`, at most `limit` long, never empty.

    Accents are folded to ASCII where that is possible; a title without a single Latin letter or digit
    becomes `note`. Names that Windows keeps for devices get `note-` in front.
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", title).casefold().translate(_FOLD))
    words = re.sub(r"[^a-z0-9]+", "-", re.sub(r"[^\x00-\x7f]", _mark_or_gap, folded)).strip("-")
    words = cut(words, limit, "-") or "note"
    return f"note-{words}"[:limit] if words in _DEVICES else words


def is_topic_slug(text: str) -> bool:
    """Tell whether a slug may name a topic: as `slug` writes it, and not one of the reserved two."""
    return text == slug(text) and text not in RESERVED_TOPICS


def fact_filename(title: str, fact_id: str) -> str:
    """Name a fact's file; the tail of its id keeps two facts of one title apart."""
    if not is_ulid(fact_id):
        raise LaneError(f"{fact_id!r} is not a ULID")
    return f"{slug(title)}-{fact_id[-8:].lower()}.md"


def branch_filename(branch: str) -> str:
    """Name a branch's handoff file: the branch itself when that is safe anywhere, else slug and hash.

    `feature/x`, `feature-x` and `Feature/X` get three different names.
    """
    if branch.isascii() and branch == branch.lower() and is_portable(branch + ".md"):
        return branch + ".md"
    digest = hashlib.sha256(branch.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{slug(branch)}-{digest[:8]}.md"


def is_portable(name: str) -> bool:
    """Tell whether a file name means the same on Linux, macOS and Windows, whoever wrote it."""
    return (
        name != ""
        and _FORBIDDEN.search(name) is None
        and name[0] != "."
        and name[-1] not in ". "
        and name.partition(".")[0].rstrip(" ").casefold() not in _DEVICES
        and unicodedata.is_normalized("NFC", name)
        and len(name.encode("utf-8")) <= 255
    )


def single_line(text: str) -> str:
    """Make a text one visible line: invisible characters go, each run of white space becomes a blank."""
    return " ".join((text if text.isprintable() else _INVISIBLE.sub("", text)).split())


def cut(text: str, limit: int, separator: str = " ") -> str:
    """Shorten a text to `limit` characters, at a separator when one stands in its second half."""
    if len(text) <= limit:
        return text
    end = text.rfind(separator, limit // 2, limit + 1)
    return text[: limit if end < 0 else end].rstrip(separator)


def _mark_or_gap(match: re.Match[str]) -> str:
    """Drop a combining mark, leave a gap for any other character outside ASCII."""
    return "" if unicodedata.combining(match.group()) else "-"
