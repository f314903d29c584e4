"""Every stated rate of the statistics, checked on series with planted parameters.

    .venv/bin/python benchmarks/rates [--only NAME …] [--trials N] [--seed N] [--quick]

Each module in this folder has a function ``rates(trials, seed)`` that yields ``Rate``s, with about
``trials`` trials each. They are printed as they are computed, and written to results.json and
README.md; with --quick nothing is written. Exit status 1 if a stated rate is missed.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import platform
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from rate import Rate, percent

HERE = Path(__file__).parent
# Simulated machines and series shared with the tests.
sys.path.insert(0, str(HERE.parents[1] / "tests" / "support"))
RESULTS, README = HERE / "results.json", HERE / "README.md"
BEGIN, END = "<!-- tables begin -->", "<!-- tables end -->"
NOT_MODULES = {"__main__", "draws", "fleet_draws", "rate"}
QUICK = 20


def modules() -> list[str]:
    """The names of the modules with rates."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_MODULES)


def cells(rate: Rate) -> list[str]:
    """A line of the table."""
    low, high = rate.interval
    bound = "≤" if rate.kind == "false alarm" else "≥"
    verdict = rate.verdict
    return [
        rate.what,
        rate.planted,
        rate.kind,
        f"{bound} {percent(rate.stated)}",
        f"{percent(rate.rate)} [{percent(low)}, {percent(high)}]",
        f"{rate.of:,}",
        f"**{verdict}**" if verdict == "missed" else verdict,
    ]


HEAD = ["what", "planted", "kind", "stated", "found [95% interval]", "trials", ""]


def table(rates: Iterable[Rate]) -> str:
    """The rates as a Markdown table."""
    rows = [HEAD, ["---"] * 4 + ["---:"] * 2 + ["---"], *(cells(rate) for rate in rates)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def section(name: str, found: Mapping[str, Any]) -> str:
    """One module's part of README.md."""
    about = found["versions"]
    said = ", ".join(f"{program} {version}" for program, version in about.items())
    return "\n".join(
        [
            f"## {found['title']}",
            "",
            f"`{name}.py`, {found['date']}, seed {found['seed']}, {found['seconds']:.0f} s; "
            f"{said}.",
            "",
            table(Rate(**row) for row in found["rates"]),
        ]
    )


def write_readme(results: Mapping[str, Any]) -> None:
    """The tables of all results, between the markers."""
    before, rest = README.read_text().split(BEGIN)
    after = rest.split(END)[1]
    parts = "\n\n".join(section(name, results[name]) for name in sorted(results))
    README.write_text(f"{before}{BEGIN}\n\n{parts}\n\n{END}{after}")


def try_module(name: str, trials: int, seed: int) -> dict[str, Any]:
    """One module's rates, printed as they are computed."""
    module = importlib.import_module(name)
    title = (module.__doc__ or name).splitlines()[0].rstrip(".")
    print(f"\n{title}\n", flush=True)
    began = time.monotonic()
    rates = []
    for rate in module.rates(trials, seed):
        rates.append(rate)
        low, high = rate.interval
        print(
            f"{rate.verdict:13}  {percent(rate.rate):>7} [{percent(low)}, {percent(high)}]"
            f"  {'at most' if rate.kind == 'false alarm' else 'at least'} {percent(rate.stated)}"
            f"  {rate.what} ({rate.planted}), {rate.of:,} trials",
            flush=True,
        )
    return {
        "title": title,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seed": seed,
        "seconds": time.monotonic() - began,
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
        "rates": [asdict(rate) for rate in rates],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], choices=modules(), metavar="NAME")
    parser.add_argument("--trials", type=int, default=1000, help="a rate (default 1000)")
    parser.add_argument("--seed", type=int, default=2003)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} trials; write nothing")
    given = parser.parse_args()
    trials = QUICK if given.quick else given.trials
    missed = 0
    for name in given.only or modules():
        found = try_module(name, trials, given.seed)
        missed += sum(Rate(**row).verdict == "missed" for row in found["rates"])
        if not given.quick:
            # Read again, since another process may have written other modules' rates meanwhile.
            stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            stored[name] = found
            results = {each: stored[each] for each in modules() if each in stored}
            RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
            write_readme(results)
    print(f"\n{missed or 'No'} stated rate{'s' * (missed != 1)} missed.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
