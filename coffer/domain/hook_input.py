"""What an agent tells its hooks: one JSON object, of which nothing can be relied upon."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HookInput:
    """The part that Coffer uses; None for what the agent didn't say, or not as text."""

    session: str | None = None
    folder: str | None = None
    prompt: str | None = None


def read_hook_input(given: bytes) -> HookInput:
    """Read what a hook got on its standard input; what can't be understood was not said."""
    try:
        told = json.loads(given)
    except (ValueError, RecursionError):
        return HookInput()
    if not isinstance(told, dict):
        return HookInput()

    roots = told.get("workspace_roots")  # Cursor's
    return HookInput(
        _first_text(told.get("session_id"), told.get("conversation_id")),
        _first_text(told.get("cwd"), *(roots if isinstance(roots, list) else ())),
        _first_text(told.get("prompt"), told.get("user_prompt")),
    )


def _first_text(*values: object) -> str | None:
    """Return the first value that is a text, without halves of surrogate pairs, which nothing can store."""
    found = next((value for value in values if isinstance(value, str) and value), None)
    return None if found is None else found.encode("utf-8", "replace").decode()
