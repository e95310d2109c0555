"""What may come into the memory tree and leave it: names, kinds and sizes, masses that vanish, secrets."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from coffer.domain.errors import SyncFailed, SyncPaused
from coffer.domain.secrets import find_secrets
from coffer.domain.sync import REMOVAL, SECRET, is_mass_removal, is_text, vanished
from coffer.infrastructure.tree_repository import ATTRIBUTES, ATTRIBUTES_TEXT
from gitsync.ancestry import only_in
from gitsync.objects import EMPTY_TREE, Commit, Objects, blob_id
from gitsync.repo import Repository
from gitsync.vet import vet
from lanes import lane_of
from lanes.layout import portable_path, store_of

# What people put into a repository when they make it, on the web page of a host.
BESIDE = ("README.md", "README", "LICENSE", "LICENSE.md", "LICENSE.txt")
MAX_TOLD = 3
_LONGEST_PATH = 1024

Accepted = Collection[tuple[str, str]]


def check_tree(objects: Objects, known: str | None, tree: str, first: bool = False) -> None:
    """Raise SyncFailed naming what of a remote's tree isn't let in; `known` is the part that was looked at before."""
    refused = vet(objects, known, tree, _unfit).refused
    if refused:
        hint = (
            "Give Coffer a repository of its own, an empty one to begin with."
            if first
            else "Take it out of the remote with git, then sync goes on; nothing of it was written here."
        )
        raise SyncFailed(f"The remote holds what can't be memory: {_told(refused)}. {hint}")


def check_outgoing(repo: Repository, here: str, theirs: str | None, accepted: Accepted) -> None:
    """Raise what keeps the commits up to `here` from being pushed to a remote that is at `theirs`."""
    objects = repo.objects
    refused = vet(objects, objects.tree_of(theirs) if theirs else None, objects.tree_of(here), _unfit).refused
    if refused:
        raise SyncFailed(
            f"The memory tree holds what other machines refuse: {_told(refused)}. Move it out of the tree, commit "
            "that, and sync goes on."
        )
    secrets: dict[str, str] = {}
    for commit in only_in(objects, here, theirs):
        parents = [objects.tree_of(parent) for parent in commit.parents] or [EMPTY_TREE]
        if b"\nCoffer-Op: edit\n" in commit.message and len(parents) < 2:
            _check_edit(objects, commit, parents[0], objects.tree_of(here), accepted)
        secrets |= _secrets(objects, parents, commit.tree, accepted)
    if secrets:
        where = ", ".join(sorted(secrets.values())[:MAX_TOLD])
        more = f" and {len(secrets) - MAX_TOLD} more" if len(secrets) > MAX_TOLD else ""
        raise SyncPaused(
            SECRET,
            f"What would be pushed seems to hold secrets: {where}{more}. Once pushed they stay in the remote's "
            "history.",
            tuple(sorted(secrets)),
        )


def check_removal(objects: Objects, before: str, after: str, subject: str, accepted: Accepted) -> None:
    """Raise SyncPaused where one tree becomes another by which too many of a store's texts vanish."""
    told = _mass_removals(objects, before, after)
    if told and (REMOVAL, subject) not in accepted:
        raise SyncPaused(REMOVAL, f"The remote would remove {told} from this machine's memory.", (subject,))


def _check_edit(objects: Objects, commit: Commit, parent: str, now: str, accepted: Accepted) -> None:
    """Raise SyncPaused where files vanished on disk, and weren't brought back since."""
    if (REMOVAL, commit.id) in accepted:
        return
    gone = {path for path, _, new in objects.differences(parent, commit.tree) if new is None}
    if any(is_text(path) for path in gone) and (told := _mass_removals(objects, parent, commit.tree, now)):
        raise SyncPaused(
            REMOVAL,
            f"{told} vanished from the disk of this machine, and would from every other. `coffer memory undo "
            f"{commit.id[:12]}` brings them back.",
            (commit.id,),
        )


def _mass_removals(objects: Objects, before: str, after: str, now: str | None = None) -> str:
    """Say from which stores too many texts vanish on the way to `after` and are still away in `now`."""
    changes = list(objects.differences(before, now or after))
    lost = {path for path, _, new in objects.differences(before, after) if new is None} if now else None
    removed = {
        path: objects.read(old)
        for path, old, new in changes
        if old and new is None and is_text(path) and (lost is None or path in lost)
    }
    if not removed:
        return ""
    gone = vanished(removed, (objects.read(new) for _, _, new in changes if new))
    told = []
    for folder, count in sorted(gone.items()):
        held = sum(
            is_text(f"{folder}/{path}") for path, _, _ in objects.files(objects.folder_at(before, folder))
        )
        if is_mass_removal(count, held):
            told.append(f"{count} of {held} texts of {folder}")
    return ", ".join(told)


def _secrets(objects: Objects, parents: Sequence[str], new: str, accepted: Accepted) -> dict[str, str]:
    """Return blob and place of what seems to hold a secret that none of a commit's parents has there."""
    found = {}
    for path, _, oid in objects.differences(parents[0], new):
        versions = {was for tree in parents if (was := objects.blob_at(tree, path))}
        if not oid or oid in versions or (SECRET, oid) in accepted:
            continue
        text = _text(objects, oid)
        if findings := find_secrets(text):
            before = [_text(objects, was) for was in versions]
            for finding in findings:
                if not any(text[finding.start : finding.end] in version for version in before):
                    found[oid] = f"{path} ({finding.kind})"
                    break
    return found


def _text(objects: Objects, oid: str) -> str:
    return objects.read(oid).decode("utf-8", "replace")


def _unfit(path: str, oid: str) -> str | None:
    """Say why a path isn't memory; None where it is."""
    if path == ATTRIBUTES:
        return None if oid == _ATTRIBUTES_ID else "would change how git writes files"
    if path in BESIDE:
        return None
    if len(path.encode("utf-8", "replace")) > _LONGEST_PATH:
        return "has too long a path"
    located = store_of(path)
    lane = lane_of(located[1]) if located else None
    if lane is None or not lane.synced:
        return "isn't a file of any lane"
    folders = portable_path(path).split("/")[:-1]
    return (
        "is a file inside of something named like a file" if any(f.endswith(".md") for f in folders) else None
    )


_ATTRIBUTES_ID = blob_id(ATTRIBUTES_TEXT)


def _told(refused: Collection[tuple[str, str]]) -> str:
    shown = [f"{path!r} {why}" for path, why in list(refused)[:MAX_TOLD]]
    more = len(refused) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
