"""How long a durable remember takes, beside an equally durable `git add && git commit` of the same file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from bench import corpus
from bench.home import Home, milliseconds
from bench.table import Row, median, ms, versus

SINGLE = 40
AT_ONCE = 32
ROUNDS = 5


def measure(scratch: Path, sizes: tuple[int, ...] = (200, 10_000)) -> list[Row]:
    rows, singles = [], {}
    for size in sizes:
        home = Home(scratch / f"remember-{size}")
        home.fill(size)
        clone = _clone(home, scratch / f"git-{size}")
        ours, theirs, bursts, burst_singles = [], [], [], []
        with home.session() as agent:
            for number in range(5):
                agent.call("coffer__remember", text=corpus.text(1_000_000 + number), scope="global")
            for number in range(SINGLE):
                text = corpus.text(2_000_000 + number)
                ours.append(
                    milliseconds(lambda t=text: agent.call("coffer__remember", text=t, scope="global"))
                )
                theirs.append(_git_commit(clone, number, text))
            for number in range(ROUNDS):
                texts = [corpus.text(3_000_000 + number * AT_ONCE + n) for n in range(AT_ONCE)]
                every = [{"text": text, "scope": "global"} for text in texts]
                bursts.append(milliseconds(lambda e=every: agent.call_at_once("coffer__remember", e)))
                for n in range(8):
                    text = corpus.text(4_000_000 + number * 8 + n)
                    burst_singles.append(
                        milliseconds(lambda t=text: agent.call("coffer__remember", text=t, scope="global"))
                    )
        home.coffer("daemon", "stop")
        singles[size] = median(ours)
        rows.append(
            Row(
                f"remember, {size} facts",
                ms(ours),
                f"git add + commit, core.fsync=all: {ms(theirs)}",
                versus(median(ours), median(theirs)),
                "≤ 0.5",
            )
        )
        gain = median(burst_singles) * AT_ONCE / median(bursts)
        rows.append(
            Row(
                f"{AT_ONCE} at once, {size} facts",
                f"{median(bursts):.1f} ms in all",
                f"one after another {median(burst_singles) * AT_ONCE:.1f} ms",
                f"{gain:.1f} × the throughput",
                "≥ 4 ×",
            )
        )
    small, large = singles[sizes[0]], singles[sizes[-1]]
    rows.append(
        Row(
            f"growth from {sizes[0]} to {sizes[-1]} facts",
            f"{large:.1f} ms",
            f"{small:.1f} ms",
            versus(large, small),
            "≤ 2",
        )
    )
    return rows


def _clone(home: Home, target: Path) -> Path:
    """Return a plain repository with the same files, as a person would keep them with git alone."""
    subprocess.run(["git", "clone", "-q", str(home.memory), str(target)], check=True, env=home.environ)
    settings = {"core.fsync": "all", "user.name": "Bench", "user.email": "bench@localhost", "gc.auto": "0"}
    for key, value in settings.items():
        subprocess.run(["git", "-C", str(target), "config", key, value], check=True, env=home.environ)
    return target


def _git_commit(clone: Path, number: int, text: str) -> float:
    path = f"global/knowledge/inbox/2026-11/by-git-{number}.md"
    (clone / path).parent.mkdir(parents=True, exist_ok=True)

    def commit() -> None:
        (clone / path).write_text(text)
        subprocess.run(["git", "-C", str(clone), "add", path], check=True)
        subprocess.run(["git", "-C", str(clone), "commit", "-q", "-m", "note"], check=True)

    return milliseconds(commit)
