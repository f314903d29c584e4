"""Long logs: columns in files, blocks of lines and windows give what short logs give."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.errors import AssayError
from assay.subjects.usage.findings import find
from assay.subjects.usage.model import UsageFindings
from assay.usage import collector, columns, dropped, node_use, use
from assay.usage.accounts.readers import swf
from assay.usage.accounts.reading import Accounts, read_accounts
from assay.usage.analysis import completeness, distribution, prepared
from assay.usage.analysis.distribution import Distribution
from assay.usage.analysis.query import UsageQuery
from assay.usage.columns import TableWriter
from usage_logs import MONDAY, SAMPLES, SLURM_EVENTS, read_text, swf_of

FULL = Path("/dev/full")
SEQUENCE = [(n, 700 * n, 40 * (n % 7), 300 * (n % 9), 1 + n % 8) for n in range(1, 700)]


def plain(found: UsageFindings) -> object:
    return msgspec.to_builtins(dataclasses.replace(found, utc=0.0))


def near(value: object, other: object) -> bool:
    """Equal, but for the last digits of sums in another order."""
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(near(value[k], other[k]) for k in value)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(near, value, other))
    if isinstance(value, float) and isinstance(other, float):
        return value == pytest.approx(other, rel=1e-12, abs=1e-12)
    return value == other


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every limit of memory as low as that of a log of a hundred million jobs would be."""
    for module in (columns, prepared):
        monkeypatch.setattr(module, "ROWS", 50)
    monkeypatch.setattr(use, "_EVENTS", 40)
    monkeypatch.setattr(dropped, "_SORTED", 60)
    monkeypatch.setattr(collector, "_BUFFER", 30)
    monkeypatch.setattr(completeness, "_SORTED", 60)
    monkeypatch.setattr(node_use, "PAIRS", 30)


def slurm_on_nodes() -> str:
    rng = random.Random(4)
    rows = ["JobID|State|Submit|Start|End|AllocCPUS|AllocNodes|AllocTRES|NodeList"]
    for job in range(1, 400):
        when, first, count = 600 * job, rng.randrange(1, 9), rng.randrange(1, 4)
        submit, start = MONDAY + when, MONDAY + when + rng.randrange(900)
        rows.append(
            f"{job}|COMPLETED|{submit}|{start}|{start + rng.randrange(5900)}|"
            f"{rng.randrange(1, 9) * count}|{count}|"
            f"gres/gpu={rng.randrange(3)}|n[{first}-{first + count - 1}]"
        )
    return "\n".join([*rows, *rows[5:9]]) + "\n"


TEXTS = {
    "swf": (swf_of(SEQUENCE, processors=40, users=7) + swf_of(SEQUENCE[:20]),),
    "slurm": (slurm_on_nodes(), SLURM_EVENTS),
}


@pytest.mark.parametrize(
    ("name", "options"),
    [("swf", {}), ("swf", {"queue": "1"}), ("swf", {"since": "2 d"}), ("slurm", {}),
     ("slurm", {"since": "1 d"})],
)  # fmt: skip
def test_chunks_change_nothing(
    tmp_path: Path, name: str, options: dict[str, str], request: pytest.FixtureRequest
) -> None:
    whole = plain(find(read_text(tmp_path, *TEXTS[name]), UsageQuery(**options)))  # type: ignore[arg-type]
    request.getfixturevalue("small")
    accounts = read_text(tmp_path, *TEXTS[name])
    assert accounts.jobs.maps
    assert near(whole, plain(find(accounts, UsageQuery(**options))))  # type: ignore[arg-type]


def table(accounts: Accounts) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for name, values in accounts.jobs.columns.items():
        found[name] = [str(value) for value in values.tolist()]
    return found


def odd_swf() -> str:
    rng = random.Random(8)
    lines = swf_of(SEQUENCE, users=9).split("\n")
    head, rows = "\n".join(lines[:2]) + "\n", lines[2:-1]
    for place in rng.sample(range(len(rows)), 120):
        words = rows[place].split()
        field = rng.randrange(18)
        words[field] = rng.choice(
            ["-1", "0", "-0", "2.5", "1e3", "+7", "nan", "9" * 17, "-5", "x", "1.2.3", "3", "--2"]
        )
        rows[place] = rng.choice([" ", "\t", "  "]).join(words)
    rows[9] += "\r"
    rows[11] = ""
    rows[13] = "; a comment in between"
    rows[15] += " 1"
    return head + "\n".join(rows)


@pytest.mark.parametrize("block", [100, 2000, 1 << 20])
def test_blocks_of_lines_give_what_single_lines_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr("assay.usage.accounts.model._BLOCK", block)
    blocks = read_text(tmp_path, odd_swf())
    assert blocks.problems.found()
    monkeypatch.setattr(swf, "plain_rows", lambda text, width: None)
    lines = read_text(tmp_path, odd_swf())
    assert table(blocks) == table(lines)
    assert blocks.problems.found() == lines.problems.found()
    assert blocks.jobs.users == lines.jobs.users


def test_most_lines_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.usage.accounts.model._BLOCK", 2000)
    seen = []
    one = swf._Reader.line
    monkeypatch.setattr(
        swf._Reader, "line", lambda self, line, text: (seen.append(line), one(self, line, text))
    )
    log = read_text(tmp_path, swf_of(SEQUENCE))
    assert len(log.jobs) == len(SEQUENCE)
    assert len(seen) < 60


def test_files_of_columns_have_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    log = read_text(tmp_path, swf_of(SEQUENCE))
    assert len(log.jobs.maps) > 10
    assert [path.name for path in tmp_path.iterdir()] == ["log0"]
    assert log.jobs.columns["number"].tolist() == list(range(1, 700))
    log.jobs.release()
    assert log.jobs.columns["number"].tolist() == list(range(1, 700))


@pytest.mark.skipif(not FULL.exists(), reason="There is no /dev/full.")
def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    monkeypatch.setattr(columns, "unnamed_file", lambda: FULL.open("r+b", buffering=0))
    writer = TableWriter({"a": "q"})
    with pytest.raises(AssayError, match="Temporary files can't be written") as error:
        writer.append({"a": np.arange(100)})
    assert "TMPDIR" in (error.value.fix or "")


def test_quantiles_of_many_values_are_within_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate(
        (np.zeros(500), rng.lognormal(3, 3, 20_000), rng.integers(0, 90_000, 9_000).astype(float))
    )
    sketch, exact = Distribution(1000), Distribution()
    for piece in np.array_split(rng.permutation(values), 13):
        sketch.add(piece)
        exact.add(piece)
    levels = (0.0, 0.01, 0.1, 0.5, 0.9, 0.99, 1.0)
    ordered = np.sort(values)
    assert exact.quantiles(levels) == np.quantile(values, levels).tolist()
    assert exact.median() == np.median(values)
    for level, value in zip(levels, sketch.quantiles(levels), strict=True):
        true = ordered[int(level * (values.size - 1))]
        assert value == pytest.approx(true, rel=distribution.ERROR, abs=1e-9)
    assert sketch.quantiles((0.0, 1.0)) == [values.min(), values.max()]
    spread = sketch.spread()
    assert spread is not None
    assert (spread.n, spread.mean) == (values.size, pytest.approx(values.mean()))


def test_progress_reaches_its_end(tmp_path: Path, small: None) -> None:
    seen: list[tuple[str, float, float]] = []
    path = tmp_path / "log"
    path.write_text(SAMPLES["swf"] + swf_of(SEQUENCE))
    watch = lambda *step: seen.append(step)  # noqa: E731
    find(read_accounts([path], watch), UsageQuery(), watch)
    assert {stage for stage, _, _ in seen} == {"reading", "counting"}
    assert all(0 <= done <= total for _, done, total in seen)
    assert seen[-1][1] == seen[-1][2]
