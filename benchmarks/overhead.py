"""Overhead of a cell, and the time of `assay --help`.

    .venv/bin/python benchmarks/overhead.py [--reframe PATH]

A hundred trivial cells in one plan, `assay run PLAN --no-report`: the seconds of the whole command
less those that the kernels spent sampling, divided by a hundred. One launch per cell with five
samples, the minimum of a measurement. Six launches per cell, the minimum for a 95% interval, are
shown too. For comparison ReFrame runs a hundred tests, each one process that does nothing; all of
its time is overhead.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from common import (
    ASSAY,
    Comparison,
    PeerError,
    Row,
    alternate,
    build,
    cores,
    finish,
    interval,
    load,
    parser,
    run,
    say,
)

CELLS = 100
PLAN = """\
schema = 1
title = "A hundred trivial cells"
seed = 1

[replication]
budget = "100 s"
min_launches = {launches}
max_launches = {launches}
min_samples = 5
max_samples = 5

[[measure]]
kernel = "{kernel}"
{factors}
"""
PLANS = {
    "compute.dgemm": "n = { from = 1, to = 100, step = 1 }",
    "network.pingpong": "ppn = 2\nbytes = { from = 1, to = 100, step = 1 }",
}
TESTS = """\
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class Trivial(rfm.RunOnlyRegressionTest):
    number = parameter(range(100))
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "true"

    @sanity_function
    def succeeded(self):
        return sn.assert_eq(self.job.exitcode, 0)
"""


def run_plan(kernel: str, launches: int, into: list[dict[str, Any]]) -> float:
    """Seconds per cell and launch beyond sampling; appends their parts."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        plan = Path(folder) / "trivial.toml"
        plan.write_text(PLAN.format(kernel=kernel, launches=launches, factors=PLANS[kernel]))
        runs = Path(folder) / "runs"
        options = ["--no-report", "--json", "--fail-on", "failure", "--runs", str(runs)]
        text, wall = run([*ASSAY, "run", plan, *options])
        (run_path,) = runs.iterdir()
        launched = [json.loads(line) for line in (run_path / "launches.jsonl").open()]
        streams = [
            json.loads(line) for p in (run_path / "raw").glob("*.jsonl") for line in p.open()
        ]
    done = [r for r in streams if r["record"] == "measurement" and r["status"] == "ok"]
    if len(done) != CELLS * launches:
        raise PeerError(f"assay measured {len(done)} of {CELLS * launches}.")
    json.loads(text)
    sampling: float = sum(r["covariates"]["sampling_seconds"] for r in done)
    into.append(
        {
            "wall": wall,
            "launches": sum(each["wall"] for each in launched),
            "measurements": sum(r["wall"] for r in done),
            "sampling": sampling,
        }
    )
    return (wall - sampling) / CELLS


def run_reframe(executable: str) -> float:
    """Seconds per test of a hundred that do nothing."""
    with tempfile.TemporaryDirectory(prefix="reframe-bench-") as folder:
        tests = Path(folder) / "trivial.py"
        tests.write_text(TESTS)
        options = ["--prefix", folder, "--exec-policy", "serial"]
        text, wall = run([executable, "-c", tests, *options, "-r"], cwd=Path(folder))
    if f"Ran {CELLS}/{CELLS} test case(s)" not in text or "PASSED" not in text:
        raise PeerError("ReFrame did not pass its hundred tests.")
    return wall / CELLS


def compare_overhead(reframe: str | None, *, quick: bool) -> Comparison:
    """Rows for trivial cells of two kernels, for six launches of each, and for the help text."""
    comparison = Comparison()
    if reframe:
        try:
            comparison.versions["ReFrame"] = run([reframe, "--version"])[0].strip()
        except PeerError as error:
            comparison.skipped.append(f"ReFrame: {error}")
            reframe = None
    else:
        comparison.skipped.append("ReFrame: name its executable with --reframe.")
    for kernel in PLANS:
        if kernel == "network.pingpong" and cores() < 2:
            comparison.skipped.append("Trivial cells on two ranks: there is one core.")
            continue
        for launches in (1, 6):
            say(f"{CELLS} trivial cells of {kernel}, {launches} launch(es)")
            peer = reframe if (kernel, launches) == ("compute.dgemm", 1) else None
            comparison.rows.append(_cells(kernel, launches, peer, quick=quick))
    say("assay --help")
    comparison.rows.append(_help(3 if quick else 20))
    return comparison


def _cells(kernel: str, launches: int, reframe: str | None, *, quick: bool) -> Row:
    parts: list[dict[str, Any]] = []
    now = load()
    turns = [partial(run_plan, kernel, launches, parts)]
    if reframe:
        turns.append(partial(run_reframe, reframe))
    rounds = 1 if quick else 7
    ours, *others = alternate(rounds, *turns)
    theirs = others[0] if others else []
    median = statistics.median(ours)
    peer = statistics.median(theirs) if theirs else None
    pairs = [b / a for a, b in zip(ours, theirs, strict=bool(theirs))]
    where = {key: statistics.median(p[key] for p in parts) for key in parts[0]}
    outside = where["wall"] - where["launches"]
    starts = where["launches"] - where["measurements"]
    between = where["measurements"] - where["sampling"]
    return Row(
        "overhead",
        f"{CELLS} trivial cells, {kernel}, {launches} launch{'es' if launches > 1 else ''}, each",
        "s",
        "less",
        median,
        peer,
        "ReFrame, a test that does nothing",
        "< 20 ms" if launches == 1 else "",
        median < 0.020 if launches == 1 else None,
        peer / median if peer else None,
        statistics.median(pairs) if pairs else None,
        interval(pairs) if pairs else None,
        min(theirs) / min(ours) if theirs else None,
        now,
        ours,
        theirs,
        f"{where['wall']:.2f} s in all: {outside:.2f} s before, between and after launches, "
        f"{starts:.2f} s starting and ending them, {between:.2f} s setting up and verifying, "
        f"{where['sampling']:.2f} s sampling.",
        {"median_seconds": where},
    )


def _help(rounds: int) -> Row:
    run([*ASSAY, "--help"])
    now = load()
    walls = [run([*ASSAY, "--help"])[1] for _ in range(rounds)]
    median = statistics.median(walls)
    return Row(
        "overhead",
        "`assay --help`",
        "s",
        "less",
        median,
        None,
        "",
        "< 0.3 s",
        median < 0.3,
        load=now,
        assay_values=walls,
    )


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--reframe", help="ReFrame's executable")
    given = options.parse_args()
    build()
    finish(compare_overhead(given.reframe, quick=given.quick))


if __name__ == "__main__":
    main()
