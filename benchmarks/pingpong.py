"""network.pingpong beside osu_latency over the same MPI library.

    .venv/bin/python benchmarks/pingpong.py --osu-latency PATH

8 B: many launches of each in turn, one number a launch (assay's median, osu_latency's mean), and
the medians of those. The sweep, 0 B to 4 MiB by powers of two: the seconds that the whole command
takes. osu_latency launches once, takes a set number of messages and gives no interval; assay's
whole sweep launches until the median's 95% interval across launches is within ±1% for each size, or
its budget ends. So the time of one launch of assay, ±1% within that launch, stands beside it too.
"""

from __future__ import annotations

import re
from functools import partial

from common import (
    Comparison,
    Measured,
    PeerError,
    Row,
    alternate,
    build,
    compare,
    embedded_mpirun,
    finish,
    load,
    measure,
    parser,
    run,
    say,
)

SIZES = [0, *(1 << power for power in range(23))]
WITHIN = 0.03
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def osu(mpirun: str, executable: str, low: int, high: int) -> tuple[dict[int, float], float, str]:
    """Latency in seconds by message size, the command's seconds, and the version."""
    command = [mpirun, "-n", "2", "--bind-to", "core", executable, "-m", f"{low}:{high}"]
    text, wall = run(command, AS_ROOT)
    rows = re.findall(r"^(\d+)\s+([\d.]+)\s*$", text, re.M)
    version = re.search(r"v(\d[\d.]*)", text)
    if not rows:
        raise PeerError("osu_latency printed no latencies.")
    return {int(n): float(us) * 1e-6 for n, us in rows}, wall, version[1] if version else "unknown"


def osu_small(mpirun: str, executable: str) -> float:
    return osu(mpirun, executable, 8, 8)[0][8]


def assay_small() -> float:
    return measure("network.pingpong", "bytes=8", "--ppn", "2", "--launches", "1").medians()[0]


def osu_sweep(mpirun: str, executable: str) -> float:
    latencies, wall, _ = osu(mpirun, executable, SIZES[0], SIZES[-1])
    # Newer versions leave 0 B out.
    if set(latencies) | {0} != set(SIZES):
        raise PeerError("osu_latency's sizes are not 0 or 1 B to 4 MiB by powers of two.")
    return wall


def compare_pingpong(executable: str | None, mpirun: str, *, quick: bool) -> Comparison:
    """Rows for 8 B, for the sweep and for one launch of it."""
    comparison = Comparison()
    if executable is None:
        comparison.skipped.append("network.pingpong: name osu_latency with --osu-latency.")
        return comparison
    try:
        version = osu(mpirun, executable, 8, 8)[2]
    except PeerError as error:
        comparison.skipped.append(f"network.pingpong beside osu_latency: {error}")
        return comparison
    comparison.versions["osu_latency"] = version
    say("ping-pong, 8 B")
    now = load()
    ours, theirs = alternate(
        3 if quick else 25, assay_small, partial(osu_small, mpirun, executable)
    )
    row = compare(
        "network.pingpong",
        "ping-pong, 8 B",
        "s",
        "less",
        ours,
        theirs,
        "osu_latency",
        goal="within 3%",
        load=now,
    )
    assert row.paired
    row.met = abs(row.paired - 1.0) <= WITHIN
    comparison.rows.append(row)
    say("ping-pong, the sweep")
    comparison.rows += sweeps(mpirun, executable, quick=quick)
    return comparison


def sweeps(mpirun: str, executable: str, *, quick: bool) -> list[Row]:
    """Times of the whole sweep to ±1% across launches, and of one launch's."""
    sizes = "bytes=" + ",".join(map(str, SIZES))
    rows = []
    for launches, what in (
        (("--launches", "6..30"), "0 B–4 MiB, ±1% across launches"),
        (("--launches", "1", "--samples", "40000"), "0 B–4 MiB, one launch"),
    ):
        found: list[Measured] = []

        def whole(launches: tuple[str, ...] = launches, into: list[Measured] = found) -> float:
            into.append(
                measure("network.pingpong", sizes, "--ppn", "2", *launches, "--budget", "60 s")
            )
            return into[-1].wall

        now = load()
        rounds = 1 if quick else 3 if "." in launches[1] else 7
        ours, theirs = alternate(rounds, whole, partial(osu_sweep, mpirun, executable))
        if launches[1] == "1":
            counts = [
                sum(r["stop"] == "precision" for r in each.records("measurement")) for each in found
            ]
        else:
            counts = [
                sum(c["metrics"]["latency"]["stop"] == "precision" for c in each.cells)
                for each in found
            ]
        row = compare(
            "network.pingpong",
            what,
            "s",
            "less",
            ours,
            theirs,
            "osu_latency, one launch",
            load=now,
            goal="> 1, all sizes at ±1%",
            note=f"{', '.join(map(str, counts))} of {len(SIZES)} sizes reached ±1%, by rounds.",
            details={"reached": counts, "launches": [len(each.launches) for each in found]},
        )
        assert row.paired
        row.met = row.paired > 1.0 and min(counts) == len(SIZES)
        rows.append(row)
    return rows


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--osu-latency", help="its executable, built with the same MPI")
    options.add_argument("--mpirun", default=embedded_mpirun(), help="its launcher")
    given = options.parse_args()
    build()
    finish(compare_pingpong(given.osu_latency, given.mpirun, quick=given.quick))


if __name__ == "__main__":
    main()
