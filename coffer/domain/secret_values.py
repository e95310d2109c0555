"""Tell a password or key from what merely stands in its place: a placeholder, a variable, a path, a word."""

from __future__ import annotations

import re

_MADE_UP = re.compile(
    r"(?i)x{6}|\*{3}|\.{3}|…|example|place-?holder|change[-_]?(?:me|this|it)|redacted|removed"
    r"|(?<![a-z0-9])(?:your|dummy|fake|x{4})"
)
_STAND_IN = re.compile(
    r"(?i)(?:sample|test|todo|foo|bar|my|some|insert|replace|enter|put|new|old|the|super)[-_].*"
    r"|(?:test|pass|password|passw0rd|secret|foo|foobar|abc|token|key|string|value)[-_]?\d{0,6}!?"
)
# Beginnings of code, templates, paths, flags and colours.
_WORD_FOR_ONE = re.compile(r"(?i)pass(?:word|wd)?\d{0,3}|pwd?|secret|token|key|user|\w{1,3}")
_NO_BEGINNING = re.compile(r"\$[A-Za-z_{(]|%[A-Za-z({]|[-#@&*{<(\[|:=?/~.,\\]|[A-Za-z]:\\")
_NO_PART = re.compile(r"://|::|\$\{|\{\{|\}\}|->|=>|\(\)")
# Algorithms, encodings, types, versions and addresses: letters and digits that name something public.
_TECHNICAL = re.compile(
    r"(?i)(?:sha|md|base|utf|argon|pbkdf|blake|[rhepb]s|oauth|ed|x|ipv|secp|http|uuid|aes|rsa|hmac|tls|iso|rfc"
    r"|varchar|char|u?int|float|string|bytes|v|py|k8s|i18n|l10n)[-_]?\d{1,5}[a-z]{0,4}(?![a-z0-9])"
    r"|0x(?![0-9a-f]{64}\b)"
)
_DATE_OR_NUMBER = re.compile(r"\d{4}-\d\d-\d\d|[\d.,:x×%+-]{1,40}[A-Za-z]{0,3}$")
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){0,4}\.[A-Za-z]{2,12}$")
_DOTTED_NAME = re.compile(r"[A-Za-z_]\w{0,40}(?:\??\.[A-Za-z_]\w{0,40}){1,8}$")
_CAMEL_NAME = re.compile(r"[A-Za-z][a-z]{1,20}(?:[A-Z][a-z]{1,20}){1,6}\d{0,2}$")
_CREDENTIAL_WORD = re.compile(r"(?i)passw|secret|token|key|credential|auth")
_SEPARATORS = re.compile(r"[-_./:@+]")
_WORD = re.compile(
    r"[A-Za-z][a-z]{0,20}(?:[A-Z][a-z]{1,20}){0,3}\d{0,4}|[A-Z]{1,20}\d{0,4}|\d{1,6}[A-Za-z]{0,3}|[A-Za-z]\d{1,3}[A-Za-z]|"
)
# A value shows what it is early; a text may be made to have one looked at every few characters.
_ENOUGH = 72


def is_genuine(value: str, quoted: bool = False) -> bool:
    """Accept what has a provider's own form, unless it is written as an example."""
    return _MADE_UP.search(value, 0, _ENOUGH) is None


def is_issued(value: str, quoted: bool = False) -> bool:
    """Accept what a machine may have made, not words joined by dashes."""
    return re.search(r"[A-Z0-9]", value) is not None and is_genuine(value)


def is_key_block(value: str, quoted: bool = False) -> bool:
    """Accept a block that has at least one run of base64 in it."""
    return re.search(r"[A-Za-z0-9+/]{32}", value) is not None


def is_url_password(value: str, quoted: bool = False) -> bool:
    """Accept what stands between a URL's user and host, unless it is a variable or only the word for one."""
    return (
        _WORD_FOR_ONE.fullmatch(value) is None
        and _NO_BEGINNING.match(value) is None
        and _NO_PART.search(value) is None
        and is_genuine(value)
    )


def is_password(value: str, quoted: bool) -> bool:
    """Accept what a person may have chosen as a password: a lone word without digits isn't told from prose."""
    value = value[:_ENOUGH]
    marked = re.search(r"[0-9]|[!@#$%^&*?]." if quoted else r"[0-9]", value)
    return marked is not None and _stands_for_itself(value) and (quoted or not _names_something(value))


def is_token(value: str, quoted: bool) -> bool:
    """Accept ten characters and more, a digit among them, that nobody would choose as a name."""
    value = value[:_ENOUGH]
    marked = len(value) >= 10 and re.search(r"[0-9]", value)
    return bool(marked) and _stands_for_itself(value) and not _names_something(value)


def _stands_for_itself(value: str) -> bool:
    return (
        re.search(r"[^\W\d_]", value) is not None
        and _NO_BEGINNING.match(value) is None
        and _TECHNICAL.match(value) is None
        and _DATE_OR_NUMBER.match(value) is None
        and _ADDRESS.match(value) is None
        and _STAND_IN.fullmatch(value) is None
        and len(set(value)) > 3
        and _NO_PART.search(value) is None
        and is_genuine(value)
    )


def _names_something(value: str) -> bool:
    if _DOTTED_NAME.match(value) or _CAMEL_NAME.match(value) or _CREDENTIAL_WORD.search(value):
        return True
    parts = _SEPARATORS.split(value)
    return len(parts) > 1 and all(map(_WORD.fullmatch, parts))
