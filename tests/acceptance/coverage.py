"""Fail when an acceptance scenario that is built has no test, or a test names a scenario that isn't.

Run as `python -m tests.acceptance.coverage`; reads the markers from the sources, so it needs no test run.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from tests.acceptance.scenarios import BUILT, SPEC

HERE = Path(__file__).parent


def marked() -> dict[str, list[str]]:
    """Return the scenarios that tests are marked with, each with the tests' places."""
    found: dict[str, list[str]] = {}
    for file in sorted(HERE.glob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            for decorator in getattr(node, "decorator_list", ()):
                called = ast.unparse(decorator.func) if isinstance(decorator, ast.Call) else ""
                if not called.endswith("mark.acceptance"):
                    continue
                named = {word.arg: ast.literal_eval(word.value) for word in decorator.keywords}
                if named.get("spec") == SPEC:
                    found.setdefault(named["scenario"], []).append(f"{file.name}:{node.name}")  # type: ignore[attr-defined]
    return found


def main() -> int:
    covered = marked()
    missing = [title for title in BUILT if title not in covered]
    unknown = [title for title in covered if title not in BUILT]
    for title in missing:
        print(f"no test for the scenario: {title}")
    for title in unknown:
        print(f"not a built scenario: {title} ({', '.join(covered[title])})")
    if not missing and not unknown:
        print(f"{len(BUILT)} acceptance scenarios, {sum(map(len, covered.values()))} tests")
    return 1 if missing or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
