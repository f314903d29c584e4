"""network.pingpong compared with osu_latency over the same MPI library.

    .venv/bin/python benchmarks/pingpong.py --osu-latency PATH

8 B: many alternating launches, one number per launch. osu_latency prints the mean of its launch,
assay reports the median; both the median and the mean of assay's launch are compared with it, to
show how much of a difference is due to the median. sweeps.py times the sweeps.
"""

from __future__ import annotations

import re
from functools import partial

from common import (
    Comparison,
    PeerError,
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


def assay_small(into: list[float]) -> float:
    """The median; the mean goes to ``into``."""
    done = measure("network.pingpong", "bytes=8", "--ppn", "2", "--launches", "1")
    into.extend(done.means())
    return done.medians()[0]


def compare_pingpong(executable: str | None, mpirun: str, *, quick: bool) -> Comparison:
    """Rows for 8 B."""
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
    means: list[float] = []
    ours, theirs = alternate(
        3 if quick else 25, partial(assay_small, means), partial(osu_small, mpirun, executable)
    )
    for what, values in (("median beside mean", ours), ("mean beside mean", means)):
        row = compare(
            "network.pingpong",
            f"ping-pong, 8 B, {what}",
            "s",
            "less",
            values,
            theirs,
            "osu_latency",
            goal="within 3%",
            load=now,
        )
        assert row.paired
        row.met = abs(row.paired - 1.0) <= WITHIN
        comparison.rows.append(row)
    return comparison


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--osu-latency", help="its executable, built with the same MPI")
    options.add_argument("--mpirun", default=embedded_mpirun(), help="its launcher")
    given = options.parse_args()
    build()
    finish(compare_pingpong(given.osu_latency, given.mpirun, quick=given.quick))


if __name__ == "__main__":
    main()
