"""Files that nobody can read, among many that are fine: only the bad ones suffer, and each is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.home import AGENT, Home, Json, without_privileges

pytestmark = pytest.mark.faults

GOOD = 200

HEADED = b"---\nid: %b\ntitle: A hand-made note\n---\n\nA body under %b.\n"
UNREADABLE: dict[str, bytes] = {
    "conflict": b"Before.\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n",
    "conflict in the header": b"---\n<<<<<<< HEAD\ntitle: a\n=======\ntitle: b\n>>>>>>> other\n---\n\nBody.\n",
    "header cut": b"---\nid: 01ARZ3NDEKTSV4RRFFQ69G5FAV\ntitle: half sav",
    "header never closed": b"---\ntitle: x\n\nBody.\n",
    "open bracket": b"---\ntitle: [\n---\n\nBody.\n",
    "open quote": b'---\ntitle: "x\n---\n\nBody.\n',
    "tabs": b"---\nmetadata:\n\tactor: x\n---\n\nBody.\n",
    "alias bomb": b"---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\n\nBody.\n",
    "tag": b"---\ntitle: !!python/object/apply:os.system [touch /tmp/x]\n---\n\nBody.\n",
    "doubled key": b"---\ntitle: a\ntitle: b\n---\n\nBody.\n",
    "deep": b"---\na: " + b"[" * 3000 + b"\n---\n\nBody.\n",
    "list": b"---\n- a\n- b\n---\n\nBody.\n",
    "long header": b"---\ntitle: " + b"x" * 9000 + b"\n---\n\nBody.\n",
    "latin-1": "Größe und Maß\n".encode("latin-1"),
    "utf-16": "A note in UTF-16.\n".encode("utf-16"),
    "surrogate": b"A lone surrogate \xed\xa0\x80 here.\n",
    "zeros": bytes(4096),
    "nul": b"Before\0after.\n",
    "empty": b"",
    "blank": b" \n\n\t\n",
    "large": b"x" * (1 << 20) + b"\n",
}
READABLE = (
    b"A plain text without a header.\n",
    b"\xef\xbb\xbfA byte order mark comes first.\n",
    b"Windows\r\nline\r\nends.\r\n",
    b"---\n---\n\nAn empty header.\n",
    b"```\n" * 50 + b"fences that never close\n",
    b"# " * 200 + b"\n",
    "\u202edrawkcab \u200bzero\u200dwidth \U0001f680 \u4e2d\u6587\n".encode(),
    b"<script>alert(1)</script> {{template}} $(touch x) `id`\n",
    b"| a | b |\n|---|\n" * 100,
    b"[[[[[[" * 300 + b"\n",
)
NAMES = (
    *(
        "a note.md",
        "UPPER.md",
        "\U0001f680.md",
        "\u4e2d\u6587.md",
        "e\u0301.md",
        "-rf.md",
        "--help.md",
        "$(id).md",
    ),
    *("a;b.md", "a'b.md", 'a"b.md', "a:b.md", "CON.md", "nul.md", "a .md", "a..md", "*.md", "?.md"),
    *(
        "%2e%2e.md",
        "x\ny.md",
        "x\ty.md",
        "\u202egpj.md",
        "~.md",
        "#x.md",
        "@{0}.md",
        "HEAD.md",
        "x" * 240 + ".md",
    ),
    *(
        "1.10.md",
        "no.md",
        "a.md.md",
        "index.md.md",
        "\u00e9.md",
        "\u212b.md",
        "&amp;.md",
        "<b>.md",
        "|.md",
        "^.md",
    ),
)
# Read all the same, but another system would refuse the name or change it.
UNPORTABLE = {
    name
    for name in NAMES
    if any(c in name for c in '<>:"/\\|?*\n\t\u202e')
    or name in ("CON.md", "nul.md", "e\u0301.md", "\u212b.md")
}


@pytest.fixture
def filled(home: Home) -> Home:
    """A home of many good facts, most of them written by hand."""
    home.start().remember("Good fact 0 is readable.")
    folder = home.tree / "global" / "knowledge"
    for number in range(1, GOOD):
        (folder / f"good-{number}.md").write_text(f"# Good {number}\n\nGood fact {number} is readable.\n")
    return home


def knowledge(home: Home) -> Path:
    return home.tree / "global" / "knowledge"


@pytest.mark.report("B02", "B17", "B53", "B54", "B55")
def test_three_hundred_bad_files_among_two_hundred_good_ones(filled: Home) -> None:
    """One cut-off line would make every tool fail; one bad header would hide all other notes."""
    folder = knowledge(filled) / "hostile"
    folder.mkdir()
    bad = set()
    for round_ in range(11):
        for number, content in enumerate(UNREADABLE.values()):
            name = f"bad-{round_}-{number}.md"
            (folder / name).write_bytes(content)
            bad.add(f"global/knowledge/hostile/{name}")
    for number, name in enumerate(NAMES):
        (folder / name).write_bytes(READABLE[number % len(READABLE)] + b"\nHostile name %d.\n" % number)
    (folder / "a\\b.md").write_text("A separator elsewhere.\n")
    for number, content in enumerate(READABLE * 5):
        (folder / f"odd-{number}.md").write_bytes(content + b"\nOdd content %d.\n" % number)
    assert len(bad) + len(NAMES) + 50 > 300

    texts = filled.texts_of()
    assert sum("is readable." in text for text in texts) == GOOD
    hostile = "\n".join(text for text in texts if "Hostile name" in text)
    assert [name for number, name in enumerate(NAMES) if f"Hostile name {number}." not in hostile] == []
    assert sum("Odd content" in text for text in texts) == 50
    assert len(texts) == GOOD + len(NAMES) + 50
    assert filled.texts("global", "good 137")[0].count("137") >= 1
    messages = [check["message"] for check in filled.findings("file")]
    unportable = {f"global/knowledge/hostile/{name}" for name in (*UNPORTABLE, "a\\b.md")}
    for path in bad | unportable:
        assert sum(message.startswith(f"{path}: ") for message in messages) == 1, path
    assert len(messages) == len(bad | unportable), [m for m in messages if "bad-" not in m]

    # They are committed as they are, by the next start, as the user's.
    filled.restart()
    assert filled.texts_of() == texts
    assert filled.remember("A new fact among bad files.")["commit"] == "committed"
    filled.texts_of()
    filled.check(unreadable=bad, status=[r'?? "global/knowledge/hostile/a\\b.md"'])


@pytest.mark.report("B15")
@pytest.mark.parametrize("kind", ["conflict", "header cut", "open bracket", "latin-1", "zeros", "empty"])
def test_a_spoilt_fact_keeps_its_last_version(filled: Home, kind: str) -> None:
    """A fact that an editor or a merge left half done would be gone, or be quoted with its conflict markers."""
    fact: Json = filled.remember("The pelican sleeps in the cellar.")
    assert filled.texts("global", "pelican cellar")
    path, whole = Path(fact["path"]), Path(fact["path"]).read_bytes()
    path.write_bytes(UNREADABLE[kind])
    assert "The pelican sleeps in the cellar." in filled.texts("global", "pelican cellar")
    assert any(check["message"].startswith(f"{filled.path(fact)}: ") for check in filled.findings("file"))
    refused = filled.ask("PATCH", f"/memory_stores/global/facts/{fact['id']}", {"text": "New."}, AGENT)
    refused.refusal(409, "FILE_UNREADABLE")
    assert path.read_bytes() == UNREADABLE[kind]
    filled.restart()
    assert "The pelican sleeps in the cellar." in filled.texts("global", "pelican cellar")
    assert path.read_bytes() == UNREADABLE[kind]
    path.write_bytes(whole.replace(b"cellar", b"attic"))
    assert "The pelican sleeps in the attic." in filled.texts("global", "pelican attic")
    assert filled.findings("file") == []
    filled.restart()
    filled.texts_of()
    filled.check()


def test_what_is_not_a_file_is_not_followed(filled: Home, tmp_path: Path) -> None:
    """A link in a store that came from elsewhere would let recall read any file of the user's."""
    secret = tmp_path / "secret.md"
    secret.write_text("Nobody may quote this.\n")
    folder = knowledge(filled)
    (folder / "link.md").symlink_to(secret)
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "outside").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.md")
    (folder / "folder.md").mkdir()
    (folder / "folder.md" / "inner.md").write_text("A file in a folder that is called like one.\n")
    assert not any("Nobody may quote" in text for text in filled.texts_of())
    assert len(filled.texts_of()) == GOOD + 1
    assert filled.remember("Links and pipes are no obstacle.")["commit"] == "committed"
    filled.restart()
    assert len(filled.texts_of()) == GOOD + 2
    for name in ("link.md", "loop.md", "outside", "pipe.md"):
        (folder / name).unlink()
    filled.texts_of()
    filled.check()


def test_a_file_that_may_not_be_read_keeps_its_last_version(filled: Home) -> None:
    """A permission or a bad sector would be taken for a deletion, and the fact forgotten everywhere."""
    fact = filled.remember("The pelican sleeps in the cellar.")
    filled.texts_of()
    filled.kill()
    path = Path(fact["path"])
    os.utime(path)
    path.chmod(0)
    filled.start(command=without_privileges())
    assert filled.texts("global", "pelican cellar")[0] == fact["text"]
    assert len(filled.texts_of()) == GOOD + 1
    assert any(check["message"].startswith(f"{filled.path(fact)}: ") for check in filled.findings("file"))
    assert filled.remember("Others are written all the same.")["text"] in filled.texts_of()
    path.chmod(0o600)
    assert filled.findings("file") == []
    filled.texts_of()
    filled.check()
