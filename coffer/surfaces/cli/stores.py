"""Find the store that a person means by a name, a label, or `.`."""

from __future__ import annotations

import re

from coffer.surfaces.cli.client import Client, Failed, escaped, user_folder

_NAME = r"global|project-[0-9A-HJKMNP-TV-Z]{26}"


def store_route(client: Client, store: str) -> str:
    """Return the route of the store that `store` means.

    `.` is the project of the current folder. A store's name stands for itself, even when it doesn't exist
    yet; anything else must be the label or display name of exactly one store.
    """
    return "/memory_stores/" + escaped(store_name(client, store))


def store_name(client: Client, store: str) -> str:
    """Return the name of the store that `store` means, as for `store_route`."""
    if store == ".":
        return _store_here(client)
    if re.fullmatch(_NAME, store):
        return store
    candidates = [
        found
        for found in client.get("/memory_stores").json()["memory_stores"]
        if store in (found["label"], found["display_name"])
    ]
    if len(candidates) == 1:
        return str(candidates[0]["name"])
    if not candidates:
        raise Failed(f"No store is called {store!r}; `coffer memory list` shows them.")
    several = "; ".join(
        f"{found['name']} ({found['project_root'] or found['remote'] or 'no folder here'})"
        for found in candidates
    )
    raise Failed(f"Several stores are called {store!r}, so give one by its name: {several}.")


def _store_here(client: Client) -> str:
    try:
        answer = client.get("/memory_stores", cwd=user_folder())
    except Failed as failed:
        if failed.code == "SCOPE_UNRESOLVED":
            raise Failed(
                "The current folder isn't inside a git project, so `.` means no store; "
                "go to a project, or name a store such as `global`."
            ) from None
        raise
    return str(answer.json()["memory_stores"][0]["name"])
