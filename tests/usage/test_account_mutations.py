"""Damaged logs: every line is a job or a counted problem, and no reader fails."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.subjects.usage.findings import find
from assay.usage.accounts.reading import read_accounts
from assay.usage.analysis.query import UsageQuery
from usage_logs import SAMPLES, SLURM_FIXED, sacct_json

_PIECES = (
    "", "|", ";", '"', " ", "\t", "-", "-1", "0", "NaN", "inf", "1e400", "9" * 30, "{", "}", "[",
    "null", "\x00", "\u2028", "é", "2024-02-30T25:61:61", "=", ":", "Unknown", "\r",
)  # fmt: skip
# Also columns of fixed width, separators of another kind, and files that hold several logs.
SEEDS = {
    **SAMPLES,
    "slurm_fixed": SLURM_FIXED,
    "slurm_commas": SAMPLES["slurm"].replace(",", ";").replace("|", ","),
    "slurm_documents_json": "\n".join(sacct_json(n, n, n + 1, 4) for n in range(1, 9)),
    "several": "\n".join(SAMPLES[name] for name in ("pbs", "slurm", "swf", "lsf", "slurm_json")),
}


def damaged(text: str, rng: random.Random) -> str:
    """A line with one to three changes."""
    for _ in range(rng.randint(1, 3)):
        at, length = rng.randrange(len(text) + 1), rng.choice((0, 1, 1, 2, 5, 20))
        cut = text[at : at + length]
        piece = rng.choice((*_PIECES, cut * 2, text[: rng.randrange(len(text) + 1)]))
        text = text[:at] + piece + text[at + length :]
    return text.replace("\n", " ")


def attack(folder: Path, seed: int, lines: int, most: int = 50) -> int:
    """Damage lines of all formats, up to ``most`` in each file; the number that were damaged."""
    rng = random.Random(seed)
    done = 0
    while done < lines:
        name = rng.choice(list(SEEDS))
        rows = SEEDS[name].split("\n")
        body = [row for row in rows[1:] if row.strip()] or rows
        mutants = [damaged(rng.choice(body), rng) for _ in range(rng.choice((1, 5, most)))]
        done += len(mutants)
        path = folder / "log"
        head = rows if name.endswith("json") or name == "flux" else [*rows, ""]
        place = rng.randrange(1, len(head) + 1)
        text = "\n".join([*head[:place], *mutants, *head[place:]])
        encoding = rng.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"))
        path.write_text(text, encoding=encoding, errors="replace")
        try:
            found = find(read_accounts([path]), UsageQuery())
        except AssayError:
            continue
        total = found.utilisation
        assert 0.0 <= total.low <= total.high <= 1.0, text
        assert total.value is None or 0.0 <= total.value <= 1.0, text
        if name in ("swf", "lsf"):
            # Each line of these formats is a comment, an event, a job or a problem.
            assert found.records.jobs + sum(each.count for each in found.problems) > 0
    return done


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(2))
def test_two_thousand_damaged_lines(tmp_path: Path, seed: int) -> None:
    assert attack(tmp_path, seed, 1000) >= 1000


@pytest.mark.long
@pytest.mark.filterwarnings("error")
def test_a_hundred_thousand_damaged_lines(tmp_path: Path) -> None:
    assert attack(tmp_path, 99, 100_000, 500) >= 100_000


def test_every_line_of_a_damaged_log_is_accounted_for(tmp_path: Path) -> None:
    """In SWF each line that isn't a comment or blank is a job or a problem."""
    rng = random.Random(5)
    row = SAMPLES["swf"].split("\n")[7]
    lines = [damaged(row.replace("1 ", f"{n} ", 1), rng) for n in range(1, 400)]
    path = tmp_path / "log"
    path.write_text("; MaxProcs: 16\n" + "\n".join(lines), encoding="utf-8")
    log = read_accounts([path])
    problems = {each.kind: each.count for each in log.problems.found()}
    # These are kept as jobs, or are said of lines that are problems, too; the others are left out.
    kept = ("early", "reused", "zeros")
    left_out = sum(count for kind, count in problems.items() if kind not in kept)
    blank = sum(1 for text in lines if not text.strip() or text.startswith(";"))
    assert len(log.jobs) + left_out + blank == len(lines)
