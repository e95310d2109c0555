"""What may come into the memory tree and leave it, and when a person is asked first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from coffer.domain.errors import SyncFailed, SyncPaused
from coffer.domain.secrets import find_secrets
from coffer.domain.sync import REMOVAL, SECRET
from coffer.infrastructure.signatures import edit_message
from coffer.infrastructure.tree_repository import ATTRIBUTES_TEXT
from coffer.infrastructure.tree_vetting import Accepted, check_outgoing, check_removal, check_tree
from gitsync.commit import Step
from gitsync.objects import EMPTY_TREE, blob_id
from tests.gitsync.conftest import tree as tree
from tests.gitsync.conftest import user_home as user_home
from tests.gitsync.tree import TIME, USER, Tree

STORE = "projects/01J9Z3K4M5N6P7Q8R9S0T1V2W3"
SECRET_LINE = b"the key AKI" + b"AQ3Z7WM5NK2JH4TGP is for the bucket\n"
OTHER_SECRET = b"the key AKI" + b"AQ3Z7WM5NK2JH4TGX is for staging\n"

Files = Mapping[str, bytes | None]


def facts(count: int, store: str = STORE) -> dict[str, bytes | None]:
    return {
        f"{store}/knowledge/{number:03}.md": b"fact %d of %b\n" % (number, store.encode())
        for number in range(count)
    }


def head(tree: Tree) -> str:
    return tree.git("rev-parse", "main")


def by_hand(tree: Tree, edits: Files) -> str:
    """Commit what a person did on disk, as the daemon does."""
    step = Step(edits, edit_message(edits), USER, TIME)
    outcome = tree.commit([step])
    assert outcome.pending is None
    return outcome.commits[-1]


def trees(tree: Tree, before: Files, after: Files) -> tuple[str, str]:
    objects = tree.repo.objects
    first, second = (
        objects.add_tree(
            None, {path: objects.add_blob(data) for path, data in files.items() if data is not None}
        )
        for files in (before, after)
    )
    return first, second


def asked(tree: Tree, before: Files, after: Files, accepted: Accepted = ()) -> str:
    """Return what a person is asked when one set of files becomes another, an empty text for nothing."""
    try:
        check_removal(tree.repo.objects, *trees(tree, before, after), "subject", accepted)
    except SyncPaused as pause:
        assert (pause.reason, pause.subjects) == (REMOVAL, ("subject",))
        return str(pause)
    return ""


# ── what comes in ─────────────────────────────────────────────────────────────────────────────────────────


def refused(tree: Tree, files: Files, first: bool = False) -> str:
    _, new = trees(tree, {}, files)
    objects = tree.repo.objects
    for oid, (kind, data) in objects.fresh.items():
        assert str(tree.repo.git.odb.write({b"blob": 3, b"tree": 2}[kind], data)) == oid
    try:
        check_tree(objects, None, new, first)
    except SyncFailed as refusal:
        return str(refusal)
    return ""


def test_memory_comes_in(tree: Tree) -> None:
    """A remote with nothing in it but memory, and what its host's web page put there, would be refused."""
    assert not refused(
        tree,
        {
            **facts(3),
            **facts(3, "global"),
            f"{STORE}/store.yaml": b"name: pond\n",
            f"{STORE}/rules/rules.md": b"- one\n",
            f"{STORE}/journal/2026-10-01.md": b"x\n",
            f"{STORE}/handoff/main.md": b"x\n",
            f"{STORE}/superseded/a-20261001T000000Z.md": b"x\n",
            f"{STORE}/knowledge/inbox/2026-10/odd: name?.md": b"x\n",
            ".gitattributes": ATTRIBUTES_TEXT,
            "README.md": b"# memory\n",
            "LICENSE": b"mine\n",
        },
    )


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("src/main.py", "isn't a file of any lane"),
        ("global/notes.txt", "isn't a file of any lane"),
        ("global/.hidden.md", "isn't a file of any lane"),
        ("projects/pond/knowledge/a.md", "isn't a file of any lane"),
        (f"{STORE}/knowledge/INDEX.md", "isn't a file of any lane"),
        (f"{STORE}/knowledge/a\\..\\b.md", "isn't a file of any lane"),
        (f"{STORE}/.gitattributes", "isn't a file of any lane"),
        (".gitignore", "isn't a file of any lane"),
        (".gitattributes", "would change how git writes files"),
        ("global/.git/config.md", "has a name that git keeps for itself"),
        (f"{STORE}/knowledge/a.md/b.md", "is a file inside of something named like a file"),
        (f"{STORE}/knowledge/{'d/' * 35}{'n' * 990}.md", "has too long a path"),
    ],
)
def test_what_is_no_memory_stays_out(tree: Tree, path: str, why: str) -> None:
    """A remote could change how git works here, or fill the tree with what nobody would ever read."""
    said = refused(tree, {**facts(1), path: b"* filter=x\n"})
    assert said.startswith("The remote holds what can't be memory: ") and said.count(why) == 1
    assert "Take it out of the remote with git" in said
    assert "an empty one to begin with" in refused(tree, {path: b"x\n"}, first=True)


def test_many_refused_are_told_in_short(tree: Tree) -> None:
    """Somebody who gave the address of their source code would get a page of paths."""
    said = refused(tree, {f"src/{number}.py": b"x\n" for number in range(50)}, first=True)
    assert said.count("src/") == 3 and "and 17 more" in said


# ── what would vanish here ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("held", "gone", "told"), [(20, 9, ""), (20, 10, "10 of 20"), (50, 10, ""), (50, 11, "11 of 50")]
)
def test_how_many_may_vanish(tree: Tree, held: int, gone: int, told: str) -> None:
    """Memory that was emptied on one machine would be emptied on all of them before anybody noticed."""
    before = facts(held)
    after = dict(list(before.items())[gone:])
    said = asked(tree, before, after)
    assert bool(said) == bool(told) and told in said
    assert not asked(tree, before, after, [(REMOVAL, "subject")])
    assert bool(asked(tree, before, after, [(REMOVAL, "another"), (SECRET, "subject")])) == bool(told)


def test_each_store_counts_for_itself(tree: Tree) -> None:
    """A small store would go unasked beside a large one."""
    other = "projects/01J9Z3K4M5N6P7Q8R9S0T1V2W4"
    before = {**facts(500, "global"), **facts(12), **facts(9, other)}
    said = asked(tree, before, facts(500, "global"))
    assert f"12 of 12 texts of {STORE}" in said and other not in said and "global" not in said


def test_moved_merged_and_archived_texts_are_still_there(tree: Tree) -> None:
    """Every consolidation on one machine would stop sync on the others."""
    before = facts(30)
    lines = b"".join(data for data in before.values() if data)
    assert not asked(tree, before, {f"{STORE}/knowledge/topic.md": b"---\ntitle: T\n---\n\n# All\n" + lines})
    assert not asked(
        tree, before, {path.replace("/knowledge/", "/superseded/"): data for path, data in before.items()}
    )
    assert not asked(tree, before, {path.replace(STORE, "global"): data for path, data in before.items()})
    assert "30 of 30" in asked(tree, before, {f"{STORE}/knowledge/topic.md": b"# All\nin short\n"})


def test_the_archive_and_settings_are_no_texts(tree: Tree) -> None:
    """Emptying the archive on purpose would need a yes on every machine."""
    before = {f"{STORE}/superseded/{number}.md": b"%d\n" % number for number in range(40)}
    assert not asked(tree, {**before, f"{STORE}/store.yaml": b"x\n"}, {})


# ── what goes out ─────────────────────────────────────────────────────────────────────────────────────────


def outgoing(tree: Tree, theirs: str | None, accepted: Accepted = ()) -> SyncPaused | None:
    try:
        check_outgoing(tree.repo, head(tree), theirs, accepted)
    except SyncPaused as pause:
        return pause
    return None


def test_what_vanished_from_the_disk_is_asked_about(tree: Tree) -> None:
    """A folder that was deleted by mistake would be deleted on every machine a few seconds later."""
    tree.write(facts(20))
    theirs = head(tree)
    commit = by_hand(tree, dict.fromkeys(facts(15)))
    pause = outgoing(tree, theirs)
    assert pause and (pause.reason, pause.subjects) == (REMOVAL, (commit,))
    assert f"15 of 20 texts of {STORE}" in str(pause) and f"memory undo {commit[:12]}" in str(pause)
    tree.write({f"{STORE}/knowledge/after.md": b"after\n"}, "after")
    assert outgoing(tree, theirs), "whatever came after it"
    assert outgoing(tree, theirs, [(REMOVAL, commit)]) is None
    assert outgoing(tree, commit) is None, "the remote has it by now"


def test_what_came_back_is_not_asked_about(tree: Tree) -> None:
    """Having undone a mistake, a person would still be asked about it."""
    tree.write(facts(20))
    theirs = head(tree)
    by_hand(tree, dict.fromkeys(facts(15)))
    tree.write(dict(list(facts(15).items())[:8]), "undo")
    assert outgoing(tree, theirs) is None
    tree.write(dict.fromkeys(list(facts(15))[:8]), "forget")
    assert outgoing(tree, theirs), "they are away again"


def test_what_was_asked_for_by_name_is_not_asked_about(tree: Tree) -> None:
    """Clearing a store on purpose would have to be confirmed twice."""
    tree.write(facts(20))
    theirs = head(tree)
    tree.write(dict.fromkeys(facts(20)), "clear")
    assert outgoing(tree, theirs) is None


def test_files_moved_by_hand_are_not_asked_about(tree: Tree) -> None:
    """Tidying up with a file manager would stop sync."""
    tree.write(facts(20))
    theirs = head(tree)
    moved = {path.replace("/knowledge/", "/knowledge/old/"): data for path, data in facts(20).items()}
    by_hand(tree, {**dict.fromkeys(facts(20)), **moved})
    assert outgoing(tree, theirs) is None


def test_a_secret_in_any_commit_is_found(tree: Tree) -> None:
    """A key that was written and taken out again would be pushed with the history, where it stays."""
    path = f"{STORE}/knowledge/key.md"
    tree.write({path: b"harmless\n"})
    theirs = head(tree)
    tree.write({path: SECRET_LINE})
    tree.write({path: b"harmless again\n"})
    pause = outgoing(tree, theirs)
    assert pause and (pause.reason, pause.subjects) == (SECRET, (blob_id(SECRET_LINE),))
    assert path in str(pause) and "AWS" in str(pause)
    assert SECRET_LINE.split()[2].decode() not in str(pause)
    assert outgoing(tree, None), "the first push has all of history"
    assert outgoing(tree, head(tree)) is None


def test_a_yes_is_for_one_text_alone(tree: Tree) -> None:
    """Having once said yes, a person would never be asked again."""
    paths = [f"{STORE}/knowledge/{name}.md" for name in "abcde"]
    for number, path in enumerate(paths):
        tree.write({path: SECRET_LINE + b"%d\n" % number})
    pause = outgoing(tree, None)
    assert pause and len(pause.subjects) == 5 and "and 2 more" in str(pause)
    yes = [(SECRET, subject) for subject in pause.subjects]
    assert outgoing(tree, None, yes) is None
    assert outgoing(tree, None, [(REMOVAL, subject) for subject in pause.subjects])
    tree.write({paths[0]: OTHER_SECRET})
    pause = outgoing(tree, None, yes)
    assert pause and pause.subjects == (blob_id(OTHER_SECRET),)


def test_a_text_that_a_person_said_yes_to_may_be_gone_on_with(tree: Tree) -> None:
    """An example that only looks like a key would have to be confirmed again after every correction."""
    path = f"{STORE}/knowledge/key.md"
    tree.write({path: SECRET_LINE})
    tree.write({path: b"# Buckets\n" + SECRET_LINE + b"more\n"})
    assert outgoing(tree, head(tree)) is None
    assert outgoing(tree, tree.git("rev-parse", "main~1")) is None
    assert outgoing(tree, None, [(SECRET, blob_id(SECRET_LINE))]) is None
    both = SECRET_LINE + OTHER_SECRET
    tree.write({path: both})
    pause = outgoing(tree, tree.git("rev-parse", "main~1"))
    assert pause and pause.subjects == (blob_id(both),)


def test_a_secret_in_a_merge_that_a_person_made(tree: Tree) -> None:
    """A key that came in while a conflict was resolved by hand would be pushed unseen."""
    path = f"{STORE}/knowledge/key.md"
    tree.write({path: b"one\n"})
    theirs = head(tree)
    tree.git("checkout", "-qb", "side")
    tree.edit(f"{STORE}/knowledge/side.md", b"side\n")
    tree.git("add", "-A")
    tree.git("commit", "-qm", "side")
    tree.git("checkout", "-q", "main")
    tree.edit(f"{STORE}/knowledge/main.md", b"main\n")
    tree.git("add", "-A")
    tree.git("commit", "-qm", "main")
    tree.git("merge", "-q", "--no-commit", "--no-ff", "side")
    assert outgoing(tree, theirs) is None
    tree.edit(path, SECRET_LINE)
    tree.git("add", "-A")
    tree.git("commit", "-qm", "merged")
    pause = outgoing(tree, theirs)
    assert pause and pause.subjects == (blob_id(SECRET_LINE),)


def test_what_a_merge_took_in_is_not_searched_again(tree: Tree) -> None:
    """A text that another machine's user has said yes to would stop this one, at every sync."""
    tree.write({f"{STORE}/knowledge/a.md": b"a\n"})
    tree.git("checkout", "-qb", "theirs")
    tree.edit(f"{STORE}/knowledge/key.md", SECRET_LINE)
    tree.git("add", "-A")
    tree.git("commit", "-qm", "theirs")
    theirs = tree.git("rev-parse", "theirs")
    tree.git("checkout", "-q", "main")
    tree.write({f"{STORE}/knowledge/b.md": b"b\n"})
    tree.git("merge", "-q", "--no-ff", "--no-edit", "theirs")
    assert outgoing(tree, theirs) is None
    both = SECRET_LINE + b"ours\n"
    assert set(find_secrets(both.decode())), "as it is when the lines of both were merged"
    tree.edit(f"{STORE}/knowledge/key.md", both)
    tree.git("commit", "-qa", "--amend", "--no-edit")
    assert outgoing(tree, theirs) is None


def test_what_others_refuse_does_not_go_out(tree: Tree) -> None:
    """One machine's stray file would stop sync on every other one, with no way to mend it there."""
    tree.write(facts(1))
    theirs = head(tree)
    (tree.root / "link.md").symlink_to("/etc/passwd")
    tree.edit("notes.txt", b"mine\n")
    tree.git("add", "-A")
    tree.git("commit", "-qm", "by hand")
    with pytest.raises(
        SyncFailed, match=r"'link\.md' is a symbolic link, 'notes\.txt' isn't a file of any lane"
    ):
        outgoing(tree, theirs)
    tree.git("rm", "-q", "--cached", "link.md", "notes.txt")
    tree.git("commit", "-qm", "out again")
    assert outgoing(tree, theirs) is None


def test_nothing_to_look_at(tree: Tree, tmp_path: Path) -> None:
    """The first push of an empty memory, or of one that the remote has, would fail."""
    tree.write(facts(1))
    tree.write(dict.fromkeys(facts(1)))
    assert tree.git("rev-parse", "main^{tree}") == EMPTY_TREE
    assert outgoing(tree, None) is None
