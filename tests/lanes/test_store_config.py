from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanes.errors import Unreadable
from lanes.names import single_line
from lanes.store_config import StoreConfig, read_config, update_config

ULID = "01JDKW8Z4M3QH5T9R2X7V6B1CA"


def test_a_new_store_has_the_defaults() -> None:
    """A store without settings would refuse facts, or be an empty file that looks half saved."""
    data = update_config(
        None, {"label": None, "max_fact_chars": 8192, "retrieval_modes": ["keyword", "grep"]}
    )

    assert data == b"# Settings of this Coffer store.\n"
    assert StoreConfig() == read_config(data)


def test_settings_are_written_and_read() -> None:
    """A label or a merged identity would be lost."""
    data = update_config(
        None,
        {"label": "no", "remote": "github.com/a/b", "merged_identities": [ULID], "max_fact_chars": 64}
        | {"retrieval_modes": ("keyword", "vector")},
    )

    assert StoreConfig("no", "github.com/a/b", (ULID,), 64, ("keyword", "vector")) == read_config(data)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_unknown_keys_and_comments_survive(newline: str, mark: str) -> None:
    """Settings of a newer version, or a person's notes, would be wiped by setting a label."""
    text = mark + "# mine\nlabel: old # why\nnewer: {a: 1}\nmax_fact_chars: 100\n".replace("\n", newline)

    data = update_config(text.encode(), {"label": "new: label", "max_fact_chars": 8192})

    assert text.replace("old", '"new: label"').replace(f"max_fact_chars: 100{newline}", "") == data.decode()


@pytest.mark.parametrize("label", [None, "", " \u200b "])
def test_a_blank_label_clears(label: str | None) -> None:
    """A store would be shown with an empty name."""
    data = update_config(b"label: x\n", {"label": label})

    assert read_config(data).label is None
    assert data.startswith(b"# Settings")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b"label: [x]\n", "label: not a text"),
        (b"remote: {a: b}\n", "remote: not a text"),
        (b"max_fact_chars: many\n", "max_fact_chars: not a number from 64 to 32768"),
        (b"max_fact_chars: 63\n", "max_fact_chars: "),
        (b"max_fact_chars: 32769\n", "max_fact_chars: "),
        (b"max_fact_chars: " + b"9" * 5000, "max_fact_chars: "),
        (b"max_fact_chars: [1]\n", "max_fact_chars: "),
        (b"merged_identities: x\n", "merged_identities: not a list"),
        (b"merged_identities: [../x]\n", "merged_identities: not a list of store ids"),
        (b"retrieval_modes: [psychic]\n", "retrieval_modes: not a list of keyword, vector, grep"),
        (b"label: a: b\n", "line 1: "),
        (b"label: a\nlabel: b\n", "line 2: the key `label` stands twice"),
    ],
)
def test_damaged_settings_name_the_key(data: bytes, reason: str) -> None:
    """A typo in store.yaml would be read as something else, or stop every store."""
    with pytest.raises(Unreadable) as caught:
        read_config(data)

    assert caught.value.reason.startswith(reason)


@pytest.mark.parametrize(
    ("data", "changes"),
    [
        (b"label: [\n", {"label": "x"}),
        (b"retrieval_modes: [psychic]\n", {"label": "x"}),
        (None, {"max_fact_chars": 1}),
        (None, {"merged_identities": ["x"]}),
        (b"{a: b, # c\n d: e}\n", {"label": "x"}),
    ],
)
def test_what_could_not_be_read_is_not_written(data: bytes | None, changes: dict[str, Any]) -> None:
    """A file that a person broke would be overwritten, or Coffer would break it itself."""
    with pytest.raises(Unreadable):
        update_config(data, changes)


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=50), st.integers(64, 32768), st.booleans())
def test_any_label_round_trips(label: str, remote: str, limit: int, twice: bool) -> None:
    """Some label would break the file."""
    data = update_config(b"# c\nother: 1\n" if twice else None, {"label": label, "max_fact_chars": limit})
    data = update_config(data, {"remote": remote})

    assert StoreConfig(single_line(label) or None, single_line(remote) or None, (), limit) == read_config(
        data
    )
