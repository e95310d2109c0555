"""How long a recall through the real shim takes, beside ripgrep over the same files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from bench import corpus
from bench.home import Home, milliseconds
from bench.table import Row, median, ms, p95, versus

CALLS = 60


def measure(scratch: Path, sizes: tuple[int, ...] = (200, 2_000, 10_000)) -> list[Row]:
    rows = []
    rg = shutil.which("rg")
    for size in sizes:
        home = Home(scratch / f"recall-{size}")
        home.fill(size)
        ours, theirs, found = [], [], 0
        with home.session() as agent:
            agent.call("coffer__recall", query="warm up", scope="global")
            for query in corpus.queries(CALLS, size):
                answer: dict[str, object] = {}
                ours.append(
                    milliseconds(
                        lambda q=query, a=answer: a.update(
                            agent.call("coffer__recall", query=q, scope="global")
                        )
                    )
                )
                mark = query.split()[-1]
                hits = answer["hits"]
                assert isinstance(hits, list)
                found += any(mark in hit["text"] for hit in hits)
                if rg:
                    words = [part for word in query.split() for part in ("-e", word)]
                    command = [rg, "-i", "-l", *words, str(home.inbox)]
                    theirs.append(
                        milliseconds(lambda c=command: subprocess.run(c, capture_output=True, check=False))
                    )
        home.coffer("daemon", "stop")
        rows.append(
            Row(
                f"recall, {size} facts (found {found} of {CALLS})",
                ms(ours),
                f"ripgrep: {ms(theirs)}" if theirs else "ripgrep isn't installed",
                versus(median(ours), median(theirs)) if theirs else "",
                "p95 < 20 ms" if size == 200 else "< 1" if size == 10_000 else "",
            )
        )
        if size == 200:
            rows.append(Row("recall, 200 facts, p95", f"{p95(ours):.1f} ms", asked="< 20 ms"))
    return rows
