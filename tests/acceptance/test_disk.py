"""When the disk, the permissions or another program stand in the way: said so, and nothing half done."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.acceptance.house import House

Mount = Callable[..., None]


@pytest.fixture
def mount() -> Iterator[Mount]:
    """Mount something on a folder until the test is over; skip where this user may not."""
    mounted: list[Path] = []

    def mount(folder: Path, *arguments: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        ran = subprocess.run(["mount", *arguments, str(folder)], capture_output=True, text=True)
        if ran.returncode:
            pytest.skip(f"no mount of this kind here: {ran.stderr.strip()}")
        if "remount" not in arguments[1]:
            mounted.append(folder)

    try:
        yield mount
    except FileNotFoundError:
        pytest.skip("there is no program to mount with")
    finally:
        for folder in mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)


@pytest.mark.report("B21")
async def test_full_disk_writes_nothing_and_says_so(own_house: House, mount: Mount) -> None:
    """A full disk would cost a fact that was there, or an agent would be told that it was remembered."""
    own_house.home.mkdir(mode=0o700)
    mount(own_house.tree, "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs")
    own_house.start()
    fact = own_house.add("global", "Mole fact, before the disk was full.")
    at = f"/memory_stores/global/facts/{fact['id']}"
    filler = own_house.tree / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    async with own_house.agent("claude", own_house.folder()) as claude:
        with own_house.nothing_written():
            for text in ("Mole fact, too late.", "mole " * 1500):
                error = await claude.refusal("remember", text=text, scope="global")
                assert error["code"] == "DISK_FULL" and "Free some space" in error["message"]
                reply = own_house.ask("POST", "/memory_stores/global/facts", {"text": text})
                reply.refusal(507, "DISK_FULL")
                own_house.ask("PATCH", at, {"text": text}).refusal(507, "DISK_FULL")
            assert "full" in own_house.coffer("memory", "add", "global", "Mole fact.", status=1)
            assert await claude.texts("mole") == ["Mole fact, before the disk was full."]
        filler.unlink()
        assert (await claude.remember("Mole fact, in time.", scope="global"))["commit"] == "committed"
        assert len(await claude.texts("mole")) == 2
    own_house.git("fsck", "--strict")


async def test_read_only_tree_is_said_and_still_read(own_house: House, mount: Mount) -> None:
    """A disk that went read-only would make the memory an error, or swallow what is remembered."""
    own_house.home.mkdir(mode=0o700)
    mount(own_house.tree, "-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs")
    own_house.start()
    fact = own_house.add("global", "Vole fact.")
    mount(own_house.tree, "-o", "remount,ro")
    async with own_house.agent("claude", own_house.folder()) as claude:
        with own_house.nothing_written():
            error = await claude.refusal("remember", text="Vole fact two.", scope="global")
            assert error["code"] == "STORE_READ_ONLY" and "write access" in error["message"]
            for method, path, body in (
                ("POST", "/facts", {"text": "Vole fact two."}),
                ("PATCH", f"/facts/{fact['id']}", {"text": "Vole fact two."}),
                ("DELETE", f"/facts/{fact['id']}", None),
                ("DELETE", "/facts", None),
                ("PATCH", "/label", {"label": "Voles"}),
            ):
                own_house.ask(method, f"/memory_stores/global{path}", body).refusal(503, "STORE_READ_ONLY")
            assert "write access" in own_house.coffer("memory", "add", "global", "Vole two.", status=1)
            assert await claude.texts("vole") == ["Vole fact."]
        mount(own_house.tree, "-o", "remount,rw")
        assert (await claude.remember("Vole fact two.", scope="global"))["commit"] == "committed"


@pytest.mark.report("B02", "B15")
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.replace(b"title: ", b"title: ["),
        lambda data: data[: data.index(b"description")],
        lambda data: data.replace(b"Dormouse", b"Dorm\xff\xfeouse"),
        lambda data: data.replace(b"Dormouse", b"Dorm\x00ouse"),
        lambda data: b"",
    ],
    ids=["broken header", "cut off", "not UTF-8", "NUL", "empty"],
)
async def test_unreadable_file_keeps_its_bytes_and_its_last_version(
    house: House, project: Path, store: str, damage: Callable[[bytes], bytes]
) -> None:
    """A half-saved file would vanish from memory, stop everything else, or be overwritten with a guess."""
    fact = house.add(store, "Dormouse fact that gets damaged.")
    house.add(store, "Dormouse fact that stays.")
    assert len(house.texts(store, "dormouse")) == 2
    path = Path(fact["path"])
    path.write_bytes(damage(path.read_bytes()))
    damaged = path.read_bytes()
    async with house.agent("claude", project) as claude:
        assert "Dormouse fact that gets damaged." in await claude.texts("dormouse")
        assert "Dormouse fact that stays." in await claude.texts("dormouse")
    with house.nothing_written():
        at = f"/memory_stores/{store}/facts/{fact['id']}"
        error = house.ask("PATCH", at, {"text": "Dormouse, rewritten."}).refusal(409, "FILE_UNREADABLE")
        assert path.name in error["message"]
    assert path.read_bytes() == damaged
    assert path.name in house.coffer("doctor") and path.name in str(house.get("/doctor").done())
    house.add(store, "Dormouse fact three.")
    assert path.read_bytes() == damaged
