"""Advice on programs that could be faster, as the command prints it: small messages in a row, a
transfer right before computing, and nothing of the kind where ranks had no CPU.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import prepared_assay
from mpi_counts import PROFILE
from mpi_libraries import MPI_LIBRARIES, compile_c

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.flaky(
        reruns=2,
        reason="on a busy machine calls last as long as their ranks have no CPU, whatever they do",
    ),
]
_ASSAY = (sys.executable, "-m", "assay", "profile")
REMEDY = "Give each rank a CPU of its own and profile again: ranks had no CPU for"


@dataclass(frozen=True)
class _Profiled:
    kept: Path
    found: dict[str, Any]

    def text(self, *, cpu_wait: float | None = None) -> str:
        """What the terminal shows, with another share of time without a CPU in the record."""
        if cpu_wait is not None:
            for path in self.kept.glob("rank-*.jsonl"):
                first, rest = path.read_text().split("\n", 1)
                header = json.loads(first)
                header["cpu_wait"] = cpu_wait * header["wall"]
                path.write_text(f"{json.dumps(header)}\n{rest}")
        shown = _run([*_ASSAY, "--read", str(self.kept), "--verbose"], self.kept)
        return " ".join(shown.split())


def _run(command: list[str], folder: Path) -> str:
    done = prepared_assay.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def _profiled(
    folder: Path, ranks: int, *words: str, before: tuple[str, ...] = (), trace: bool = True
) -> _Profiled:
    library = MPI_LIBRARIES[0]
    if not library.is_there:
        pytest.skip(f"{library.name} is not installed")
    program = compile_c(library, PROFILE / "to_improve.c", folder / "program")
    kept = folder / "kept"
    options = ["--trace"] if trace else []
    launch = [*library.run, "-n", str(ranks), str(program), *words]
    command = [*before, *_ASSAY, *options, "--json", "--folder", str(kept), "--", *launch]
    printed = _run(command, folder)
    return _Profiled(kept, json.loads(printed[printed.index("{") :]))


def _withheld(text: str) -> bool:
    """Whether nothing is said that needs ranks with CPUs."""
    touched = (
        "would save up to", "Balanced work", "Computation is", "It needs", "it would take",
        "of the waiting is caused by", "the run would take",
    )  # fmt: skip
    return REMEDY in text and not any(words in text for words in touched)


@pytest.mark.alone  # ranks that yield their CPUs to other work have other pauses
@pytest.mark.parametrize(
    ("words", "function", "answered", "end"),
    [
        ("tiny", "Send", False, "in a row to the same rank: one message instead of them would"),
        ("exchange", "Sendrecv", True, "to the same rank and receives between them"),
    ],
)
def test_small_messages_in_a_row(
    tmp_path: Path, words: str, function: str, answered: bool, end: str
) -> None:
    """Two ranks send each other 64 messages of 8 B, and compute 60 µs, 20,000 times."""
    done = _profiled(tmp_path, 2, words, "20000")
    (row,) = done.found["trace"]["in_a_row"]
    assert row["place"].startswith(f"{words} (to_improve.c:")
    assert (row["function"], row["answered"]) == (function, answered)
    assert (row["in_a_row"], row["size"], row["ranks"]) == (64, 8, 2)
    assert row["calls"] == pytest.approx(2 * 64 * 20_000, rel=0.1)
    assert 0.01 < row["share"] < 1.0
    text = done.text(cpu_wait=0.0)
    if abs(done.found["trace"]["network"]["misfit"]) <= 0.15:
        assert f"{function} in {words} (to_improve.c:" in text
        assert "sends 64 messages of 8 B" in text and end in text
    assert REMEDY not in text
    assert _withheld(done.text(cpu_wait=0.5))


def test_a_transfer_right_before_computing(tmp_path: Path) -> None:
    """Rank 1 receives 4 MB and computes 4 ms, 300 times; rank 0 waits for it."""
    done = _profiled(tmp_path, 2, "transfer", "300")
    main = done.found["trace"]["overlaps"][0]
    assert (main["function"], main["ranks"]) == ("Recv", 1)
    assert main["place"].startswith("transfer (to_improve.c:")
    assert main["calls"] > 200
    assert main["computing"] >= 4e-3
    hidden = min(main["transfer"], main["computing"]) * main["calls"]
    assert 0.01 * done.found["wall"] < main["gain"] <= hidden * 1.001
    text = done.text(cpu_wait=0.0)
    assert "for its transfer, right before" in text
    assert "a non-blocking call, completed after the computing that doesn't need the data" in text
    assert _withheld(done.text(cpu_wait=0.5))


def test_ranks_that_share_a_cpu_get_the_advice_to_part(tmp_path: Path) -> None:
    """Three ranks on one CPU, of which one seems to compute longer than the others."""
    cpu = min(os.sched_getaffinity(0))
    for trace in (True, False):
        (folder := tmp_path / str(trace)).mkdir()
        before = ("taskset", "-c", str(cpu))
        done = _profiled(folder, 3, "spin", "150", before=before, trace=trace)
        assert done.found["cpu_wait"] > 0.3
        text = done.text()
        assert _withheld(text), text
        # The first advice is in what is shown without --verbose, too.
        short = _run([*_ASSAY, "--read", str(done.kept)], done.kept)
        assert "→ Give each rank a CPU of its own" in " ".join(short.split())


@pytest.mark.alone
def test_small_messages_without_a_trace(tmp_path: Path) -> None:
    """From the sums: how many, how large, at most how much; and that a trace says more."""
    done = _profiled(tmp_path, 2, "tiny", "20000", trace=False)
    (send,) = [one for one in done.found["sites"] if one["function"] == "Send"]
    text = done.text(cpu_wait=0.0)
    assert send["share"] > 0.01
    assert "Send in tiny (to_improve.c:" in text
    assert "sends 2,560,000 messages of 8.00 B on average" in text
    assert "`--trace` shows whether the messages follow each other" in text
    assert _withheld(done.text(cpu_wait=0.5))
