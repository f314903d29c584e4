"""Linpack on Seth and Helix from their parts, with coefficients fitted without them and related
systems.

    .venv/bin/python benchmarks/linpack_blind.py            writes results/linpack_revised.json
    .venv/bin/python benchmarks/linpack_blind.py --compare  beside what was published

The coefficients are those of benchmarks/linpack_coefficients.py. The orders of Seth and Helix are
those of their published results; that of the two-node tests fills 80% of their memory; that of 23 x
23 nodes is scaled from Helix' by memory.

results/linpack_blind.json was written and committed before the first comparison. Its model had one
grid, no order of ranks, and the load of all-to-all traffic for exchanges within a column of
processes. After that comparison the model got the loads of the actual exchanges
(described/grids.py) and the choice of the grid, the coefficients were fitted again to the same
systems (still without both clusters and related systems), and Helix' adapters got the rate of the
paper's table 1 in place of the 59% of section 3.2: results/linpack_revised.json. This prediction is
not blind.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from assay.models.linpack.time import FittedCoefficients, fitted_coefficients
from assay.reference.papers.loading import figures_of
from assay.reference.top500 import top_lists
from assay.topologies.kinds import RowsColumns
from described.linpack_time import order_of, predict
from described.machine import DescribedMachine
from described.programs import propagate
from described.published import helix, helix_test, seth, xeon_test

RESULTS = Path(__file__).with_name("results")
TARGET = RESULTS / "linpack_revised.json"
COEFFICIENTS = Path(__file__).parents[1] / "src/assay/models/linpack/coefficients.json"
SETH_ORDER, HELIX_ORDER = 116_100, 82_080


def prediction(
    machine: DescribedMachine, order: int, fitted: FittedCoefficients
) -> dict[str, object]:
    """Rate in Gflop/s and N½ with 90% intervals, and the losses."""
    found = predict(machine, fitted.values, order)
    spread = propagate(machine, lambda m: predict_rate(m, order, fitted), draws=200)
    # Figures and the model err independently.
    low, high = (math.log(end / spread.value) for end in spread.ci90)
    low, high = -math.hypot(low, fitted.width_rate), math.hypot(high, fitted.width_rate)
    rate = found.time.rate / 1e9
    return {
        "order": order,
        "gflops": round(rate, 2),
        "gflops_ci90": [round(rate * math.exp(end), 2) for end in (low, high)],
        "half": round(found.half),
        "half_ci90": [round(found.half * math.exp(s * fitted.width_half)) for s in (-1, 1)],
        "efficiency": round(found.time.rate / machine.peak, 4),
        "losses": {name: round(value, 4) for name, value in found.time.losses.items()},
        "assumed": sorted(n for n, figure in machine.figures() if figure.origin == "assumed"),
    }


def predict_rate(machine: DescribedMachine, order: int, fitted: FittedCoefficients) -> float:
    """flop/s at an order."""
    return predict(machine, fitted.values, order).time.rate


def write() -> None:
    fitted = fitted_coefficients()
    xeon = json.loads(COEFFICIENTS.read_text())["dgemm_xeon"]
    large = helix(RowsColumns(23, 23))
    cases = {
        "seth": (seth(), SETH_ORDER),
        "helix": (helix(), HELIX_ORDER),
        "helix test, Athlon": (helix_test(), order_of(helix_test())),
        "helix test, Xeon": (xeon_test(xeon), order_of(xeon_test(xeon))),
        "helix, 1058 processors": (large, round(HELIX_ORDER * math.sqrt(529 / 66))),
    }
    found = {name: prediction(*case, fitted) for name, case in cases.items()}
    TARGET.write_text(json.dumps(found, indent=1) + "\n")
    print(TARGET.read_text())


def compare(path: Path) -> None:
    found = json.loads(path.read_text())
    print(path.stem)
    papers = figures_of("edmundsson-2004"), figures_of("barczak-2003")
    helix_figures = papers[1]
    published = {
        "seth": (480.7, 24_570),
        "helix": (234.8, 25_000),
        "helix test, Athlon": (8.45, None),
        "helix test, Xeon": (8.36, None),
        "helix, 1058 processors": (1880.0, None),
    }
    assert papers[0]["seth.linpack.rate"].si == 480.7e9
    assert helix_figures["helix.linpack.rate"].si == 234.8e9
    print(
        f"{'':<24}{'Gflop/s':>9}{'published':>11}{'error':>8}{'N½':>8}{'published':>11}{'error':>8}"
    )
    for name, (rate, half) in published.items():
        own = found[name]
        line = f"{name:<24}{own['gflops']:>9.1f}{rate:>11.1f}{own['gflops'] / rate - 1:>8.1%}"
        if half:
            line += f"{own['half']:>8}{half:>11}{own['half'] / half - 1:>8.1%}"
        print(line)
    for name, month, entry in (("seth", "2002-06", 481.0), ("helix", "2002-11", 234.8)):
        listed = next(each for each in top_lists() if each.date == month)
        others = list(listed.rmax)
        others.remove(entry * 1e9)
        place = 1 + sum(rate > found[name]["gflops"] * 1e9 for rate in others)
        true = 1 + sum(rate > entry * 1e9 for rate in others)
        print(f"{name}: place {place} of {month} without its own entry; it was {true}")
    large = found["helix, 1058 processors"]["gflops"] * 1e9
    listed = next(each for each in top_lists() if each.date == "2002-11")
    print(f"1058 processors: place {listed.place(large)} of 2002-11; the paper: 24")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compare", action="store_true")
    if parser.parse_args().compare:
        compare(RESULTS / "linpack_blind.json")
        compare(TARGET)
    else:
        write()


if __name__ == "__main__":
    main()
