"""npb.ep and npb.cg beside NASA's NPB MPI programs, on one rank and on two.

    .venv/bin/python benchmarks/npb.py --npb-bin DIR --npb-mpirun PATH

DIR holds the reference's executables by their usual names (``ep.A.x``, ``cg.A.x``). Compared are
the official Mop/s of the timed part, which both count by the same formulas; the reference prints
more digits of them than of its seconds. A reference run that does not verify is refused.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from common import (
    Comparison,
    PeerError,
    alternate,
    build,
    compare,
    cores,
    embedded_mpirun,
    finish,
    load,
    measure,
    parser,
    run,
    say,
)

GOALS = {"ep": 2.0, "cg": 1.0}


def reference(mpirun: str, executable: Path, ranks: int) -> float:
    """Operations per second as the reference prints them."""
    text, _ = run([mpirun, "-n", str(ranks), executable])
    rate = re.search(r"Mop/s total\s*=\s*([\d.]+)", text)
    if not rate or not re.search(r"Verification\s*=\s*SUCCESSFUL", text):
        raise PeerError(f"{executable.name} on {ranks} rank(s) did not verify.")
    return float(rate[1]) * 1e6


def assay_rate(name: str, size: str, ranks: int) -> float:
    """Operations per second by one launch of assay; it must verify."""
    words = ("--ppn", str(ranks), "--launches", "1", "--budget", "3 s")
    cell = measure(f"npb.{name}", f"class={size}", *words).cells[0]
    if not cell["verified"]:
        raise PeerError(f"assay's npb.{name} did not verify.")
    return float(cell["metrics"]["rate"]["median"])


def compare_npb(folder: Path | None, mpirun: str, size: str, *, quick: bool) -> Comparison:
    """Rows for EP and CG on one rank and on two."""
    comparison = Comparison()
    for name, at_least in GOALS.items():
        executable = (folder or Path("missing")) / f"{name}.{size}.x"
        if not executable.exists():
            comparison.skipped.append(
                f"npb.{name} class {size}: there is no reference executable {executable.name}; "
                "name its folder with --npb-bin."
            )
            continue
        for ranks in (1, 2):
            if ranks > cores():
                comparison.skipped.append(f"npb.{name} on {ranks} ranks: there is one core.")
                continue
            say(f"npb.{name} class {size}, {ranks} rank(s)")
            now = load()
            ours, theirs = alternate(
                2 if quick else 7,
                partial(assay_rate, name, size, ranks),
                partial(reference, mpirun, executable, ranks),
            )
            comparison.rows.append(
                compare(
                    "npb",
                    f"{name.upper()} class {size}, {ranks} rank{'s' if ranks > 1 else ''}",
                    "op/s",
                    "more",
                    ours,
                    theirs,
                    "NPB",
                    at_least=at_least,
                    goal=f"≥ {at_least:g}",
                    load=now,
                )
            )
            version = re.search(
                r"Version\s*=\s*(\S+)", run([mpirun, "-n", str(ranks), executable])[0]
            )
            comparison.versions["NPB"] = version[1] if version else "unknown"
    return comparison


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--npb-bin", type=Path, help="the folder of ep.A.x and cg.A.x")
    options.add_argument("--npb-mpirun", default=embedded_mpirun(), help="their launcher")
    options.add_argument("--class", dest="size", default="A", choices=("S", "W", "A", "B", "C"))
    given = options.parse_args()
    build()
    finish(compare_npb(given.npb_bin, given.npb_mpirun, given.size, quick=given.quick))


if __name__ == "__main__":
    main()
