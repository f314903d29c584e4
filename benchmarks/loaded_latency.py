"""The ends of memory.loaded_latency beside memory.latency and memory.stream.

    .venv/bin/python benchmarks/loaded_latency.py

Idle memory: one core follows the chain of ``memory.latency`` with the same working set. Full rate:
``memory.stream`` runs the same operation with the same kind of stores on as many cores as stream.
The pointer chase of Mess 2.0 would be a third side. It takes the time of a load from hardware
counters of cycles, and has none without them, as in most virtual machines.
"""

from __future__ import annotations

from common import (
    Comparison,
    alternate,
    build,
    compare,
    cores,
    finish,
    load,
    measure,
    parser,
    say,
)

WITHIN = 0.03
KERNEL = "memory.loaded_latency"


def loaded(percent: int, threads: int) -> dict[str, float | int | str]:
    """Median latency and traffic of one launch, and the sizes that it used."""
    found = measure(KERNEL, f"load={percent}", "--threads", str(threads), "--launches", "1",
                    "--budget", "10 s")  # fmt: skip
    cell = found.cells[0]
    metrics = cell["metrics"]
    return {
        "latency": metrics["latency"]["median"],
        "traffic": metrics["traffic"]["median"] if "traffic" in metrics else 0.0,
        **cell["parameters"],
    }


def compare_ends(*, quick: bool) -> Comparison:
    """A row for idle latency and one for the full rate."""
    comparison = Comparison()
    threads = cores()
    rounds = 2 if quick else 9
    if threads < 2:
        comparison.skipped.append(f"{KERNEL}: it needs two cores.")
        return comparison
    idle, full = loaded(0, threads), loaded(100, threads)
    now = load()

    def latency() -> float:
        found = measure("memory.latency", f"bytes={idle['bytes']}", "--launches", "1",
                        "--budget", "10 s")  # fmt: skip
        return float(found.cells[0]["metrics"]["latency"]["median"])

    def stream() -> float:
        found = measure("memory.stream", f"stores={full['stores']}", f"elements={full['elements']}",
                        "--threads", str(threads - 1), "--launches", "1",
                        "--budget", "10 s")  # fmt: skip
        return float(found.cells[0]["metrics"]["bandwidth"]["median"])

    say("idle memory")
    ours, theirs = alternate(rounds, lambda: float(loaded(0, threads)["latency"]), latency)
    comparison.rows.append(
        compare(KERNEL, "latency of idle memory", "s", "less", ours, theirs, "`memory.latency`",
                at_least=1 - WITHIN, goal="within 3%", load=now)
    )  # fmt: skip
    say("full rate")
    ours, theirs = alternate(rounds, lambda: float(loaded(100, threads)["traffic"]), stream)
    comparison.rows.append(
        compare(KERNEL, f"traffic at the full rate, {threads - 1} streaming", "B/s", "more", ours,
                theirs, "`memory.stream`", at_least=1 - WITHIN, goal="within 3%", load=now)
    )  # fmt: skip
    for row in comparison.rows:
        # Agreement, not an advantage: too good is as wrong as too bad.
        row.met = row.paired is not None and abs(row.paired - 1) <= WITHIN
    return comparison


def main() -> None:
    options = parser(__doc__)
    given = options.parse_args()
    build()
    finish(compare_ends(quick=given.quick))


if __name__ == "__main__":
    main()
