from __future__ import annotations

from typing import Any

import pytest
import yaml

from lanes import checked_yaml
from lanes.checked_yaml import compose, load
from lanes.errors import Unreadable


@pytest.fixture(params=["CBaseLoader", "BaseLoader"])
def _loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_yaml, "_LOADER", getattr(yaml, request.param))


pytestmark = pytest.mark.usefixtures("_loader")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("# only a comment\n", {}),
        (
            "a: no\nb: 1.10\nc: 2024-01-01\nd: 12:30:00\n",
            {"a": "no", "b": "1.10", "c": "2024-01-01", "d": "12:30:00"},
        ),
        ("a:\nb: ~\nc: ''\n", {"a": "", "b": "~", "c": ""}),
        ("m:\n  actor: agent\nl:\n- x\n- y\n", {"m": {"actor": "agent"}, "l": ["x", "y"]}),
        ("m: {a: b, c: [d]}\n", {"m": {"a": "b", "c": ["d"]}}),
        ("t: |\n  two\n  lines\n", {"t": "two\nlines\n"}),
        ('"a b": "\\U0001F680"\n', {"a b": "🚀"}),
        ("yes: x\n1: y\n", {"yes": "x", "1": "y"}),
    ],
)
def test_scalars_stay_strings(text: str, expected: dict[str, Any]) -> None:
    """A title `no` would become False, a version 1.10 become 1.1."""
    assert expected == load(text)


@pytest.mark.report("B17")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("title: [", "line "),
        ("a: b: c", "line 1: "),
        ("a: 1\n  b: 2", "line 2: "),
        ("a: \x01", "characters that YAML doesn't allow"),
        ("a: \ud800", "not valid Unicode"),
        ("a: &x 1\nb: 2", "line 1: anchors"),
        ("a: 1\nb: *a", "line 2: "),
        ("a: !!python/object/apply:os.system [ls]", "line 1: tags"),
        ("a: ! b", "line 1: tags"),
        ("a: 1\na: 2", "line 2: the key `a` stands twice"),
        ("a:\n  b: 1\n  b: 2", "line 3: the key `b` stands twice"),
        ("[a]: b", "line 1: a key is not a word"),
        ("- a\n- b", "line 1: not a list of `key: value`"),
        ("just words", "line 1: not a list of `key: value`"),
        ("a: 1\n--- \nb: 2", "line "),
        ("a: {b: {c: {d: e}}}", "line 1: nested too deeply"),
        ("a: " + "[" * 5000, "line 1: "),
        ("a: " + "{x: " * 2000, "line 1: "),
        ("- " * 4000, "line 1: "),
        ("\n".join(f"k{n}: v" for n in range(200)), "line "),
        ("a: " + "x" * 8192, "longer than 8 KiB"),
        ("a: " + "é" * 4096, "longer than 8 KiB"),
        ("%YAML 1.1\n", "line "),
        ("a: '", "line "),
    ],
    ids=range(24),
)
def test_hostile_or_broken_yaml_is_refused(text: str, reason: str) -> None:
    """A file from elsewhere could run code, eat the memory, or stop the reading of all the others."""
    with pytest.raises(Unreadable) as caught:
        load(text)

    assert caught.value.reason.startswith(reason)


def test_an_alias_bomb_is_refused() -> None:
    """Three hundred bytes would grow to gigabytes once somebody walks them."""
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi")
    )

    with pytest.raises(Unreadable, match="anchors"):
        load(bomb)


def test_places_are_counted_in_characters() -> None:
    """An edit behind a character outside ASCII would cut into its neighbours."""
    text = "a: 部署🚀 # c\r\nb:\r\n  - x\r\n  - yz\r\n# end\r\nc:\r\n"
    root = compose(text)

    assert root is not None
    assert root.pairs is not None
    places = {
        key: (text[start : start + 1], text[node.start : node.end])
        for key, (start, node) in root.pairs.items()
    }
    assert places["a"] == ("a", "部署🚀")
    assert places["b"][1].endswith("yz")
    assert places["c"] == ("c", "")
