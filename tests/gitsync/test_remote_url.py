"""One repository, however its URL is written: normal forms and ids that never change."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitsync.identity import Checkout, normalise_remote, project_key

DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ONE_REPOSITORY = "github.com/octo/hello-world"

NETWORK_URLS = [
    # One repository, written in every way that git takes.
    ("https://github.com/octo/hello-world.git", ONE_REPOSITORY),
    ("https://github.com/octo/hello-world", ONE_REPOSITORY),
    ("https://github.com/octo/hello-world/", ONE_REPOSITORY),
    ("https://github.com/octo/hello-world.git/", ONE_REPOSITORY),
    ("http://github.com/octo/hello-world.git", ONE_REPOSITORY),
    ("https://github.com:443/octo/hello-world.git", ONE_REPOSITORY),
    ("http://github.com:80/octo/hello-world.git", ONE_REPOSITORY),
    ("HTTPS://GitHub.com/Octo/Hello-World.GIT", ONE_REPOSITORY),
    ("https://me@github.com/octo/hello-world.git", ONE_REPOSITORY),
    ("https://me:" + "pass" + "@github.com/octo/hello-world.git", ONE_REPOSITORY),
    ("https://me:p" + "@ss@github.com/octo/hello-world.git", ONE_REPOSITORY),
    ("https://github.com/octo/hello-world.git?ref=main", ONE_REPOSITORY),
    ("https://github.com/octo/hello-world#readme", ONE_REPOSITORY),
    ("https://github.com//octo///hello-world.git", ONE_REPOSITORY),
    ("https://github.com/octo/hello%2Dworld.git", ONE_REPOSITORY),
    ("https://github.com/octo%2Fhello-world.git", ONE_REPOSITORY),
    ("https://github.com:/octo/hello-world.git", ONE_REPOSITORY),
    ("ssh://git@github.com/octo/hello-world.git", ONE_REPOSITORY),
    ("ssh://git@github.com:22/octo/hello-world.git", ONE_REPOSITORY),
    ("ssh://github.com/octo/hello-world", ONE_REPOSITORY),
    ("git+ssh://git@github.com/octo/hello-world.git", ONE_REPOSITORY),
    ("git://github.com/octo/hello-world.git", ONE_REPOSITORY),
    ("git://github.com:9418/octo/hello-world.git", ONE_REPOSITORY),
    ("git@github.com:octo/hello-world.git", ONE_REPOSITORY),
    ("git@github.com:/octo/hello-world.git", ONE_REPOSITORY),
    ("github.com:octo/hello-world", ONE_REPOSITORY),
    ("git@GitHub.com:Octo/Hello-World.git", ONE_REPOSITORY),
    ("[git@github.com:22]:octo/hello-world.git", ONE_REPOSITORY),
    ("  git@github.com:octo/hello-world.git \n", ONE_REPOSITORY),
    # Another port is another server, the default port of another scheme too.
    ("ssh://git@git.example:2222/team/app.git", "git.example:2222/team/app"),
    ("[git@git.example:2222]:team/app.git", "git.example:2222/team/app"),
    ("https://git.example:8443/team/app.git", "git.example:8443/team/app"),
    ("https://git.example:22/team/app.git", "git.example:22/team/app"),
    ("http://git.example:443/team/app.git", "git.example:443/team/app"),
    ("ssh://git.example:0022/team/app.git", "git.example/team/app"),
    # Paths in a home folder, numeric addresses, groups, other letters.
    ("ssh://box.example/~ann/notes.git", "box.example/~ann/notes"),
    ("ann@box.example:~/notes.git", "box.example/~/notes"),
    ("ssh://box.example/home/ann/notes/.git", "box.example/home/ann/notes"),
    ("ssh://[2001:DB8::1]:2222/app.git", "[2001:db8::1]:2222/app"),
    ("git@[2001:db8::1]:app.git", "[2001:db8::1]/app"),
    ("http://127.0.0.1:3000/ann/app.git", "127.0.0.1:3000/ann/app"),
    ("https://gitlab.example/a/b/c/d.git", "gitlab.example/a/b/c/d"),
    ("git@ssh.dev.azure.com:v3/org/My%20Project/Repo", "ssh.dev.azure.com/v3/org/my project/repo"),
    ("https://git.example/%E9%A1%B9%E7%9B%AE/Äpfel.git", "git.example/项目/äpfel"),
    ("https://git.example/a%252Fb.git", "git.example/a%2fb"),
    ("https://git.example/app.git.git", "git.example/app.git"),
    ("https://git.example/a+b.git", "git.example/a+b"),
    ("work:team/app.git", "work/team/app"),
]

NO_NETWORK_URLS = [
    "",
    "   ",
    "true",
    "../sibling",
    "./here.git",
    "/srv/git/app.git",
    "/srv/git/a:b.git",
    "~/app.git",
    "C:/work/app",
    r"C:\work\app",
    r"\\server\share\app.git",
    "file:///srv/git/app.git",
    "app.bundle",
    "/tmp/app.bundle",
    "https://git.example/app.bundle",
    "ext::ssh git.example %S app",
    "hg::https://hg.example/app",
    "ftp://git.example/app.git",
    "s3://bucket/app.git",
    "https://",
    "https:///app.git",
    "https://git.example",
    "https://git.example/",
    "https://git.example/.git",
    "https://git.example:port/app.git",
    "ssh://git@git.example:team/app.git",
    "https://git.example/a%0Ab",
    "https://git.example/a\nb",
    "https://git ex/app",
    "git@:app",
    "git.example:",
    ":app",
    "https://git.example/" + "a" * 5000,
]


def project_id(text: str) -> str:
    """Written apart from the product: the first 128 bits of SHA-256 as 26 digits of 5 bits."""
    bits = f"{int(hashlib.sha256(text.encode()).hexdigest()[:32], 16):0130b}"
    return "".join(DIGITS[int(bits[i : i + 5], 2)] for i in range(0, 130, 5))


@pytest.mark.report("B68")
@pytest.mark.parametrize(("url", "normal"), NETWORK_URLS)
def test_a_url_has_its_permanent_normal_form(url: str, normal: str) -> None:
    """If it changed, everybody who cloned this way would lose sight of a project's memory."""
    assert normalise_remote(url) == normal
    here = Checkout("/anywhere", "/anywhere", None, None, normalise_remote(url))
    assert project_id(project_key(here)) == project_id("remote:" + normal)


def test_ids_are_the_published_ones() -> None:
    """If these differ, stores on disk and on other machines are no longer found."""
    assert project_id("remote:" + ONE_REPOSITORY) == "6CKPXC6VFJ0EE05JDN0YZ4B95J"
    assert project_id("remote:git.example:2222/team/app") == "6R7WCVPCV1FY4J2V3DAFW2KANM"
    assert project_id("remote:git.example/项目/äpfel") == "56EBG75932RKEVZAVH6N75M1RT"
    assert project_id("/home/ann/notes") == "3FJAD5Z016C2TRQA5H619SPY97"


@pytest.mark.parametrize("url", NO_NETWORK_URLS)
def test_what_is_no_network_url_has_no_normal_form(url: str) -> None:
    """If one had, projects of different people with equal paths would share an id."""
    assert normalise_remote(url) is None


@given(st.text(max_size=60) | st.text("abc:/@[].%~?#\\ git+sh0", max_size=60))
def test_any_text_has_a_normal_form_or_none(url: str) -> None:
    """If this raised, a strange origin would make every request from its checkout fail."""
    normal = normalise_remote(url)
    if normal is not None:
        host, _, path = normal.partition("/")
        assert host and path and normal == normal.strip("/").lower()
        assert "//" not in normal


@given(st.from_regex(r"[a-z][a-z0-9.]{0,9}[a-z]/[a-z0-9_~]{1,9}(/[a-z0-9_]{1,9}){0,3}", fullmatch=True))
def test_every_way_of_writing_a_url_meets_in_one(normal: str) -> None:
    """If two ways differed, two clones of a repository would have two memories."""
    host, _, path = normal.partition("/")
    for url in (
        f"https://{normal}.git",
        f"http://user@{host}:80//{path}/",
        f"ssh://git@{host.upper()}:22/{path}.git/",
        f"git@{host}:{path}.git",
        f"git://{host}:9418/{path}?a=b",
    ):
        assert normalise_remote(url) == normal


def test_the_key_of_a_path_can_always_be_hashed() -> None:
    """If a folder's name that isn't UTF-8 couldn't be encoded, no memory could be kept there."""
    root = os.fsdecode(b"/srv/caf\xe9")
    assert project_key(Checkout(root, root, None, None, None)) == "/srv/caf\\xe9"
    assert project_key(Checkout("/srv/café", "/srv/café", None, None, None)) == "/srv/café"


def test_the_documented_forms_are_the_real_ones() -> None:
    """If the page were wrong, nobody could tell which checkouts share a memory."""
    page = (Path(__file__).parents[2] / "docs" / "project-identity.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|$", page, re.MULTILINE)
    assert len(rows) > 12
    for written, told in rows:
        if re.fullmatch(f"[{DIGITS}]{{26}}", told):
            assert project_id(written) == told
        else:
            assert normalise_remote(written) == told
