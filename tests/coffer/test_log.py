"""The daemon's log: enough to find a fault by, nothing of what is remembered."""

from __future__ import annotations

import logging
import sys

from coffer.log import Discreet


def logged(fault: BaseException) -> str:
    try:
        raise fault
    except BaseException:
        record = logging.LogRecord("coffer", logging.ERROR, __file__, 1, "it failed", None, sys.exc_info())
    return Discreet().format(record)


def test_a_fault_is_told_by_its_place_and_kind_alone() -> None:
    """Messages of exceptions quote what was being worked on: a text, a query, a token."""
    line = logged(ValueError("CANARY"))
    assert "it failed" in line and "test_log.py" in line and "ValueError" in line
    assert "CANARY" not in line


def test_causes_and_groups_are_told_too() -> None:
    """The first fault of a chain is the one to mend, and Trio wraps most of them into groups."""
    cause = KeyError("CANARY one")
    group = ExceptionGroup("CANARY two", [OSError(28, "CANARY three"), ValueError("CANARY four")])
    group.__cause__ = cause
    line = logged(group)
    assert all(
        name in line for name in ("KeyError", "which led to", "ExceptionGroup", "OSError", "ValueError")
    )
    assert "CANARY" not in line


def test_what_another_handler_has_spelt_out_is_not_taken_over() -> None:
    """The standard formatter leaves its own text of the fault in the record."""
    record = logging.LogRecord("coffer", logging.ERROR, __file__, 1, "it failed", None, None)
    record.exc_text = "CANARY"
    assert "CANARY" not in Discreet().format(record)
