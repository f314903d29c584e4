"""memory.stream compared with likwid-bench, on one core and on all.

    .venv/bin/python benchmarks/stream.py --likwid-bench $(which likwid-bench)

Bytes are counted alike, as by STREAM: 16 per element for copy, 24 for triad, without the
write-allocate reads. So copy is compared with likwid's ``copy*`` and STREAM's triad a = b + s c
with likwid's ``stream*``. likwid's ``triad`` is another operation, a = b + c d, with four streams
and 32 bytes per element (Schönauer's vector triad); no kernel of assay does that.

likwid-bench prints the mean of its passes, so a launch of assay counts here with the mean of its
passes too (all bytes over all time). Both get arrays of the same size on the same cores. Every
variant of likwid-bench is tried; the best few alternate with assay; the best of those is compared.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

from common import (
    Comparison,
    Measured,
    PeerError,
    alternate,
    build,
    compare,
    cores,
    finish,
    load,
    measure,
    parser,
    run,
    say,
)

BYTES = {"copy": 16, "triad": 24}
LIKWID_NAME = {"copy": "copy", "triad": "stream"}
WITHIN = 0.02
# Processor features that a word in a variant's name requires.
NEEDS = {"avx512": "avx512f", "avx": "avx", "fma": "fma"}


def variants(likwid: str, op: str, *, non_temporal_only: bool) -> list[str]:
    """likwid-bench's double-precision variants of an operation that this processor can run."""
    listed, _ = run([likwid, "-a"])
    names = re.findall(rf"^({LIKWID_NAME[op]}(?:_\w+)?) - ", listed, re.M)
    features = Path("/proc/cpuinfo").read_text()
    missing = [word for word, flag in NEEDS.items() if f" {flag} " not in features]
    usable = [n for n in names if "_sp" not in n and not any(word in n for word in missing)]
    return [n for n in usable if "_mem" in n] if non_temporal_only else usable


def likwid_bandwidth(likwid: str, test: str, total_bytes: int, threads: int) -> float:
    """Bytes per second of one run; each thread touches its own part first."""
    workgroup = f"S0:{total_bytes // 1000}kB:{threads}"
    text, _ = run([likwid, "-t", test, "-W", workgroup])
    found = re.search(r"^MByte/s:\s+([\d.]+)", text, re.M)
    if not found:
        raise PeerError(f"likwid-bench printed no MByte/s for {test}.")
    return float(found[1]) * 1e6


def likwid_cpus(likwid: str, threads: int) -> list[int]:
    """The CPUs that likwid-bench uses first."""
    text, _ = run([likwid, "-p"])
    found = re.search(r"Tag S0:\s*([\d ]+)", text)
    return [int(cpu) for cpu in found[1].split()][:threads] if found else []


def assay_stream(op: str, placement: tuple[str, ...], budget: str) -> Measured:
    return measure("memory.stream", f"op={op}", *placement, "--launches", "1", "--budget", budget)


def compare_stream(likwid: str, *, quick: bool) -> Comparison:
    """Rows for copy and triad on one core, and on all by ranks and by threads."""
    comparison = Comparison()
    try:
        version = re.search(r"Version ([\d.]+)", run([likwid, "-v"])[0])
    except PeerError as error:
        comparison.skipped.append(f"memory.stream beside likwid-bench: {error}")
        return comparison
    comparison.versions["likwid-bench"] = version[1] if version else "unknown"
    every = cores()
    placements: dict[str, tuple[int, tuple[str, ...]]] = {"one core": (1, ("--ppn", "1"))}
    if every > 1:
        placements[f"{every} ranks"] = (every, ("--ppn", str(every)))
        placements[f"{every} threads"] = (every, ("--ppn", "1", "--threads", str(every)))
    for op in BYTES:
        for where, (threads, placement) in placements.items():
            _compare_one(comparison, likwid, op, where, threads, placement, quick=quick)
    return comparison


def _scan(
    likwid: str, candidates: list[str], total: int, threads: int
) -> tuple[dict[str, float], list[str]]:
    """One run of each variant, and those that crash (some do on some processors)."""
    found: dict[str, float] = {}
    failed: list[str] = []
    for test in candidates:
        try:
            found[test] = likwid_bandwidth(likwid, test, total, threads)
        except PeerError:
            failed.append(test)
    return found, failed


def _compare_one(
    comparison: Comparison,
    likwid: str,
    op: str,
    where: str,
    threads: int,
    placement: tuple[str, ...],
    *,
    quick: bool,
) -> None:
    budget = "6 s"
    first = assay_stream(op, placement, budget)
    ranks = 1 if "--threads" in placement else threads
    elements = int(first.cells[0]["parameters"]["elements"]) * ranks
    total = elements * BYTES[op]
    candidates = variants(likwid, op, non_temporal_only=quick)
    say(f"stream {op}, {where}: {len(candidates)} variants of likwid-bench")
    scan, failed = _scan(likwid, candidates, total, threads)
    chosen = sorted(scan, key=lambda test: scan[test], reverse=True)[: 1 if quick else 2]
    if not chosen:
        comparison.skipped.append(f"STREAM {op}, {where}: no variant of likwid-bench runs here.")
        return
    now = load()
    launches: list[Measured] = []

    def assay_mean() -> float:
        launches.append(assay_stream(op, placement, budget))
        return BYTES[op] * elements / launches[-1].means()[0]

    turns: list[Callable[[], float]] = [assay_mean]
    turns += [partial(likwid_bandwidth, likwid, test, total, threads) for test in chosen]
    assay, *peers = alternate(2 if quick else 9, *turns)
    # The one against which assay is worst, round by round.
    best = min(
        range(len(peers)),
        key=lambda index: statistics.median(
            a / b for a, b in zip(assay, peers[index], strict=True)
        ),
    )
    cpus = sorted(cpu for rank in launches[-1].cpus() for cpu in rank)
    same = cpus == sorted(likwid_cpus(likwid, threads))
    comparison.rows.append(
        compare(
            "memory.stream",
            f"STREAM {op}, {where}",
            "B/s",
            "more",
            assay,
            peers[best],
            f"`{chosen[best]}`",
            at_least=1.0 - WITHIN,
            goal="≥ 0.98",
            load=now,
            note="" if same else f"on different cores: assay on {cpus}",
            details={
                "elements": elements,
                "stores": first.cells[0]["parameters"]["stores"],
                "assay_launch_medians": [BYTES[op] * elements / m.medians()[0] for m in launches],
                "likwid_scan": scan,
                "likwid_failed": failed,
                "likwid": dict(zip(chosen, peers, strict=True)),
            },
        )
    )


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--likwid-bench", default="likwid-bench", help="its executable")
    given = options.parse_args()
    build()
    finish(compare_stream(given.likwid_bench, quick=given.quick))


if __name__ == "__main__":
    main()
