"""bug-reports.md names, for every public report, tests that exist and are marked with it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache

from tests.documents.pages import ROOT, quoted, read, rows

PAGE = read("bug-reports.md")
COLLECTED = {f"B{number:02}" for number in range(1, 83)}


@cache
def marked() -> dict[str, set[str]]:
    """Return the tests that are marked with each report, read from the sources."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for test in ast.walk(ast.parse(path.read_text("utf-8"))):
            for decorator in getattr(test, "decorator_list", ()):
                for call in ast.walk(decorator):
                    if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("mark.report"):
                        for report in call.args:
                            name = f"{path.relative_to(ROOT)}::{test.name}"  # type: ignore[attr-defined]
                            found[ast.literal_eval(report)].add(name)
    return found


def test_every_row_names_tests_that_carry_its_mark() -> None:
    """The table would promise a guard that isn't there, or that guards something else."""
    marks = marked()
    told = {row[0]: quoted(row[3]) for row in rows(PAGE)}
    assert [report for report, tests in told.items() if not tests] == []
    lost = {report: set(tests) - marks[report] for report, tests in told.items()}
    assert {report: tests for report, tests in lost.items() if tests} == {}


def test_every_report_is_guarded_or_said_to_be_about_what_is_not_built() -> None:
    """A report would be forgotten, or a test be marked with one that nobody can look up."""
    guarded = [row[0] for row in rows(PAGE)]
    [line] = [line for line in PAGE.splitlines() if line.startswith("About parts that aren't built yet:")]
    assert sorted([*guarded, *re.findall(r"B\d\d", line)]) == sorted(COLLECTED)
    assert set(marked()) <= set(guarded), "marked tests of reports without a row"
