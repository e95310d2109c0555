"""Which project a folder belongs to, looked up on every request."""

from __future__ import annotations

import os

import trio

from coffer.domain.stores import Project, StoreRef, project_id
from gitsync.distance import commits_since
from gitsync.identity import checkout, path_key, project_key


class GitIdentity:
    """Projects as git sees them; the user's home folder is never one."""

    def __init__(self, user_home: str | None) -> None:
        self._user_home = user_home

    async def project(self, folder: str) -> Project | None:
        return await trio.to_thread.run_sync(self._project, folder, abandon_on_cancel=True)

    async def commits_since(self, root: str, commit: str, head: str) -> int | None:
        return await trio.to_thread.run_sync(commits_since, root, commit, head, abandon_on_cancel=True)

    def _project(self, folder: str) -> Project | None:
        if not os.path.isabs(folder) or "\0" in folder:
            return None
        found = checkout(folder, self._user_home)
        if found is None:
            return None
        return Project(
            store=StoreRef(project_id(project_key(found))),
            root=found.root,
            branch=found.branch,
            head=found.head,
            remote=found.remote,
            path_store=None if found.remote is None else StoreRef(project_id(path_key(found))),
        )
