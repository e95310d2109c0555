"""Files that people and other tools wrote are the same bytes after Coffer has come and gone."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from coffer.domain.errors import SettingsUnparsable
from coffer.domain.originals import original
from tests.coffer.agents.samples import DISK, FIXTURES, FOLDERS, REAL, Home, Sample, samples

OURS = [variant for sample in samples(FIXTURES) for variant in sample.variants()]
THEIRS = [variant for sample in samples(REAL) for variant in sample.variants()]
ALL = [pytest.param(sample, id=sample.name) for sample in OURS + THEIRS]
AS_THEY_ARE = [pytest.param(sample, id=sample.name) for sample in samples(FIXTURES) + samples(REAL)]
WITH_MEMORY = [
    pytest.param(sample, id=sample.name)
    for sample in OURS + THEIRS
    if sample.path in (".claude/settings.json", ".codex/config.toml")
]


def put(tmp_path: Path, sample: Sample) -> Home:
    home = Home.make(tmp_path, sample.type)
    (tmp_path / sample.path).write_bytes(sample.content)
    return home


def has_a_coffer(sample: Sample) -> bool:
    """Tell whether a file has a server of our name already, which isn't ours."""
    return b"mcp_servers.coffer" in sample.content or b'"coffer"' in sample.content


def test_real_files_are_here() -> None:
    """The tests below would pass without having seen a single real file."""
    if not REAL.exists():
        pytest.skip("no real settings files are stored beside the repository")
    assert len(THEIRS) > 80
    assert {sample.type for sample in THEIRS} == set(FOLDERS)


@pytest.mark.report("B50")
@pytest.mark.parametrize("sample", ALL)
def test_what_comes_and_goes_leaves_every_byte(tmp_path: Path, sample: Sample) -> None:
    """A person would lose comments, other tools' hooks or the order of their file to an uninstall."""
    home = put(tmp_path, sample)
    assert home.install() > 0
    installed = home.files()
    assert home.install() == 0, "installing twice changes something"
    assert home.files() == installed
    assert home.kind.mcp(home.folder).installed
    assert all(hook.installed for hook in home.kind.hooks(home.folder))
    assert home.uninstall() > 0
    assert home.uninstall() == 0
    if has_a_coffer(sample):
        put_back = original(sample.content, installed[sample.path])
        assert put_back.found(installed[sample.path]) == sample.content
        assert b"coffer-mcp-shim" not in home.files().get(sample.path, b"")
    else:
        assert home.files() == {sample.path: sample.content}


@pytest.mark.report("B50")
@pytest.mark.parametrize("sample", AS_THEY_ARE)
def test_everything_of_others_is_still_there(tmp_path: Path, sample: Sample) -> None:
    """Another tool's hooks or servers would stop working, or run in another order, after an install."""
    home = put(tmp_path, sample)
    document = home_value(home, sample)
    home.install()
    after = home_value(home, sample)
    if has_a_coffer(sample):
        return
    assert without_ours(after) == without_ours(document)
    assert list(after)[: len(document)] == list(document)


@pytest.mark.report("B51")
@pytest.mark.parametrize("sample", WITH_MEMORY)
def test_native_memory_gets_its_value_back(tmp_path: Path, sample: Sample) -> None:
    """An agent's own memory would stay off, or be on by a line that wasn't there, after Coffer is gone."""
    home = put(tmp_path, sample)
    changes, prior = home.kind.native_memory_off(home.folder)
    DISK.apply(changes)
    again, _ = home.kind.native_memory_off(home.folder)
    assert changes and not again
    DISK.apply(home.kind.native_memory_restored(home.folder, prior))
    assert home.files() == {sample.path: sample.content}
    assert home.kind.native_memory_restored(home.folder, prior) == []


@pytest.mark.parametrize("sample", [each for each in WITH_MEMORY if str(each.id).endswith("as it is")])
@pytest.mark.parametrize("memory_first", [True, False])
def test_pieces_in_one_file_go_in_any_order(tmp_path: Path, sample: Sample, memory_first: bool) -> None:
    """Switching one thing off would damage another, or leave a trace of it."""
    home = put(tmp_path, sample)
    if has_a_coffer(sample):
        pytest.skip("it has a server of our name")
    home.install()
    changes, prior = home.kind.native_memory_off(home.folder)
    DISK.apply(changes)
    if memory_first:
        DISK.apply(home.kind.native_memory_restored(home.folder, prior))
    home.uninstall()
    DISK.apply(home.kind.native_memory_restored(home.folder, prior))
    assert home.files() == {sample.path: sample.content}


@pytest.mark.parametrize("sample", AS_THEY_ARE)
def test_what_a_person_edits_meanwhile_stays(tmp_path: Path, sample: Sample) -> None:
    """An uninstall would undo what a person did to the file after the install."""
    home = put(tmp_path, sample)
    file = tmp_path / sample.path
    empty = b'"' not in sample.content
    home.install()
    file.write_bytes(edited(file.read_bytes(), sample.path, False))
    home.uninstall()
    if has_a_coffer(sample):
        assert b"a person" in file.read_bytes()
    else:
        assert file.read_bytes() == edited(sample.content, sample.path, empty)


def edited(content: bytes, path: str, empty: bool) -> bytes:
    """Return a file to which a person has added a setting at the top."""
    if path.endswith(".toml"):
        return b'"a person" = 1\n' + content
    assert content.count(b"{")
    return content.replace(b"{", b'{"a person":1' if empty else b'{"a person":1,', 1)


def home_value(home: Home, sample: Sample) -> dict[str, Any]:
    """Return what a file means to a program that isn't Coffer."""
    text = (home.root / sample.path).read_text("utf-8")
    if sample.path.endswith(".toml"):
        return tomllib.loads(text)
    try:
        value = json.loads(text)
    except ValueError:
        pytest.skip("only Coffer reads it: it has comments")
    assert isinstance(value, dict)
    return value


def without_ours(value: Any) -> Any:
    """Return settings without entries of ours, and without what is empty then."""
    if isinstance(value, dict):
        pairs = {key: without_ours(each) for key, each in value.items() if key not in ("coffer", "version")}
        return {key: each for key, each in pairs.items() if each not in ({}, [], None)}
    if isinstance(value, list):
        kept = [without_ours(each) for each in value if "/coffer-hook" not in json.dumps(each, default=str)]
        return [each for each in kept if each not in ({}, [], None)]
    return value


@pytest.mark.parametrize("path", ["claude.json", "config.toml"])
def test_a_file_that_does_not_parse_is_left_alone(tmp_path: Path, path: str) -> None:
    """A person's half-edited settings would be overwritten, or refused without saying where the fault is."""
    type, place, broken = {
        "claude.json": ("claude_code", ".claude/settings.json", '{\n  "model": "opus"\n  "hooks": {}\n}\n'),
        "config.toml": ("codex", ".codex/config.toml", 'model = "x"\n[features\nhooks = true\n'),
    }[path]
    home = put(tmp_path, Sample(type, place, broken.encode(), path))  # type: ignore[arg-type]
    with pytest.raises(SettingsUnparsable) as refused:
        home.kind.native_memory_off(home.folder)
    assert (refused.value.details["line"], refused.value.details["column"]) == (
        (3, 3) if path[1] == "l" else (2, 10)
    )
    assert place in refused.value.message
    assert home.files() == {place: broken.encode()}


@pytest.mark.parametrize("type", ["claude_code", "codex", "opencode", "cursor"])
def test_a_file_that_was_not_there_is_gone_again(tmp_path: Path, type: Any) -> None:
    """An agent would be left with empty settings files that it never had."""
    home = Home.make(tmp_path, type)
    assert home.install() == (1 if type == "opencode" else 2)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.rglob("*") if path.is_file())
    home.uninstall()
    assert home.files() == {}


@pytest.mark.parametrize("type", ["claude_code", "codex", "opencode", "cursor"])
def test_an_agent_that_is_not_here_is_not_made(tmp_path: Path, type: Any) -> None:
    """An agent would seem to be installed because Coffer made its folder."""
    home = Home.make(tmp_path, type)
    Path(home.folder).rmdir()
    with pytest.raises(SettingsUnparsable):
        home.install()
    assert home.uninstall() == 0
    assert home.kind.mcp(home.folder).installed is False
    assert not Path(home.folder).exists()
