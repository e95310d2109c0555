"""The daemon killed at every named place of a merge of two stores."""

from __future__ import annotations

import pytest

from coffer.infrastructure.failpoints import NAMES
from lanes.names import encode_crockford
from tests.faults.home import Gone, Home

pytestmark = pytest.mark.faults

SOURCE, TARGET = (f"project-{encode_crockford(number)}" for number in (1, 2))
SAID = {SOURCE: ["The cluster is blue.", "Deploys happen on Monday."], TARGET: ["The port is 8080."]}
ALL = sorted(text for said in SAID.values() for text in said)


@pytest.mark.parametrize("point", [*NAMES, *(f"renamed@{number}" for number in range(2, 9))])
def test_a_killed_merge_loses_nothing(home: Home, point: str) -> None:
    """A power cut while two stores become one would cost what was on its way from the one to the other."""
    home.start()
    for store, said in SAID.items():
        for text in said:
            home.remember(text, store)
        home.ask("POST", f"/memory_stores/{store}/rules", {"text": f"A rule of {store}."}).done()
        home.texts_of(store)
    home.restart(f"{point}:kill")
    with pytest.raises(Gone):
        merge(home)
        home.texts_of(TARGET)
        raise AssertionError(point)
    home.died()

    home.start()
    assert {*home.texts_of(SOURCE), *home.texts_of(TARGET)} == set(ALL)
    if home.store_dir(SOURCE).exists() and home.get(f"/memory_stores/{SOURCE}").done()["exists"]:
        merge(home, (200, 404))
    assert home.texts_of(TARGET) == ALL and home.texts_of(SOURCE) == []
    rules = home.get(f"/memory_stores/{TARGET}/rules").done()["text"]
    assert all(rules.count(f"A rule of {store}.") == 1 for store in SAID)
    assert not home.store_dir(SOURCE).exists()
    assert home.git("status", "--porcelain") == ""
    home.check()


def merge(home: Home, allowed: tuple[int, ...] = (200,)) -> None:
    # 404: the daemon has finished it by itself meanwhile.
    asked = {"source": SOURCE, "target": TARGET}
    assert home.ask("POST", "/memory_stores/merge", asked).status in allowed
