"""No file of the repository holds what belongs to one machine or to nobody else."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from coffer.domain.secrets import find_secrets
from tests.documents.pages import ROOT

# Each in pieces, so that this file doesn't hold what it looks for.
MACHINE_PATHS = re.compile("|".join(("/ro" + "ot/", "/wo" + "rk/(?:main|shared|venv)", "/home/run" + "ner/")))
REGISTRIES = re.compile(
    r"(?:py" + r"pi|files\.python" + r"hosted|registry\.n" + r"pmjs|registry\.y" + r"arnpkg)\.(?:org|com)"
)
# What the rules have to find is in there, most of it in pieces.
ABOUT_SECRETS = "tests/coffer/test_secrets.py"


def tracked() -> list[tuple[str, str]]:
    """Return the repository's files, also those that aren't committed yet."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = [name for name in listed.split("\0") if (ROOT / name).is_file() and name]
    return [(name, (ROOT / name).read_bytes().decode("utf-8", "replace")) for name in names]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_no_file_holds_a_machines_paths_a_registry_or_a_secret() -> None:
    """The repository would only work where it was written, or tell the world what it shouldn't."""
    home = str(Path.home())
    local = re.compile("|".join(re.escape(path) for path in {str(ROOT), home} if path.count("/") > 1) or "$^")
    found = []
    for name, text in tracked():
        for pattern in (MACHINE_PATHS, local, REGISTRIES):
            found += [(name, match[0]) for match in pattern.finditer(text)]
        if name != ABOUT_SECRETS:
            found += [(name, secret.kind) for secret in find_secrets(text)]
    assert [each for each in found if each[0] != ABOUT_SECRETS] == []
