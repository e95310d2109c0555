"""Edit one fact in the user's editor, losing neither their text nor anybody else's."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from coffer.surfaces.cli.client import Client, Failed, Json


def edit_fact(client: Client, route: str) -> Json | None:
    """Return the fact as it stands after the editor, or None when its text was left as it was.

    The edit counts only for the version that was shown. A new text that can't be stored stays in a file
    that the error names.
    """
    try:
        editor = shlex.split(client.environ.get("EDITOR", ""))
    except ValueError as error:
        raise Failed(f"EDITOR can't be understood ({error}); set it to a command.") from None
    if not editor:
        raise Failed(
            "EDITOR isn't set; set it, or give the new text on the command line or on standard input."
        )
    answer = client.get(route)
    before = answer.json()["text"].encode()
    draft = Path(tempfile.mkdtemp(prefix="coffer-edit-"), "fact.md")
    draft.write_bytes(before + b"\n")
    stopped = _run(editor, draft)
    after = draft.read_bytes()
    fact = None
    if after.strip() != before.strip():
        try:
            if stopped:
                raise Failed(stopped)
            fact = client.send("PATCH", route, {"text": after.decode()}, answer.headers.get("etag")).json()
        except UnicodeDecodeError:
            raise Failed(f"What the editor saved isn't valid UTF-8; it is kept in {draft}.") from None
        except Failed as failed:
            raise Failed(f"{failed} Your text is kept in {draft}.") from None
    draft.unlink()
    # An editor's swap or backup file may still be there; then the folder stays with it.
    if not any(draft.parent.iterdir()):
        draft.parent.rmdir()
    if stopped:
        raise Failed(stopped)
    return fact


def _run(editor: list[str], draft: Path) -> str:
    """Wait for the editor; return what went wrong, "" when nothing did."""
    try:
        status = subprocess.run([*editor, os.fspath(draft)], check=False).returncode
    except OSError as error:
        return f"The editor {editor[0]!r} can't be started ({error.strerror}); set EDITOR."
    return f"The editor ended with status {status}; nothing was changed." if status else ""
