"""Coefficients of the time of Linpack (models/linpack/time.py), fitted to systems of the TOP500.

    .venv/bin/python benchmarks/linpack_coefficients.py TOP500_SYSTEMS.parquet [--write]

The systems: clusters of dual nodes with Athlon, Pentium III, Xeon or Opteron and Myrinet, SCI or
Gigabit Ethernet, lists of 2000 to 2005, whose Nmax is known. Seth and Helix are left out, because
they are predicted from these coefficients, and so are related systems: their sites, and every
Athlon with SCI or Gigabit Ethernet. A family's DGEMM, as a share of peak, is fitted together with
the coefficients, except that Athlon's is the 78.1% of Edmundsson et al. (2004), 5.3. The objective
is the mean absolute error of log Rmax, plus that of log N½ where it is known, by half.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from assay.models.linpack.time import Coefficients
from assay.topologies.kinds import Single
from described import linpack_time as linpack
from described.figure import assumed, quoted
from described.machine import DescribedMachine, Interconnect, MachineNode

ATHLON_DGEMM = 0.781
# Latency in s and rate in B/s of an adapter.
NETWORKS = {
    "myrinet": (9e-6, 2.3e8),
    "sci": (4e-6, 2.3e8),
    "gigabit": (4e-5, 1.0e8),
}
_NETWORK = {"myrinet": r"myri", "sci": r"sci\b|dolphin|wulfkit", "gigabit": r"gig|gbit"}
_FAMILY = {
    "athlon": r"amd|athlon",
    "opteron": r"opteron",
    "xeon": r"xeon|p4|pentium4",
    "p3": r"piii|pentium ?iii|p3",
}
TARGET = Path(__file__).parents[1] / "src/assay/models/linpack/coefficients.json"


def machine_of(cores: int, peak: float, family_dgemm: float, network: str) -> DescribedMachine:
    """A cluster of dual nodes on one switch without contention."""
    nodes = max(cores // 2, 1)
    latency, rate = NETWORKS[network]
    node = peak / nodes
    return DescribedMachine(
        network,
        MachineNode(
            2,
            quoted(node, "TOP500"),
            assumed(family_dgemm * node, "fitted by family"),
            assumed(2e9, "not used: Nmax is given"),
            assumed(1e9, "typical"),
            assumed(7e8, "typical"),
        ),
        Interconnect(network, assumed(latency, "typical"), assumed(rate, "typical")),
        Single(nodes),
    )


def systems(path: Path) -> list[dict[str, object]]:
    """The systems to fit, with family and network."""
    table = pl.read_parquet(path).filter(
        pl.col("list").str.slice(0, 4).cast(pl.Int64).is_between(2000, 2005),
        pl.col("nmax").is_not_null(),
        pl.col("cores") >= 32,
        pl.col("cores") % 2 == 0,
    )
    found = []
    for row in table.iter_rows(named=True):
        text = row["computer"].lower()
        network = next((n for n, pattern in _NETWORK.items() if re.search(pattern, text)), None)
        order = ("opteron", "athlon", "xeon", "p3")
        family = next((f for f in order if re.search(_FAMILY[f], text)), None)
        if network is None or family is None or re.search("itanium|quad|dual core|em64t", text):
            continue
        kin = re.search("hpc2n|massey", row["site"].lower()) or (
            family == "athlon" and network in ("sci", "gigabit")
        )
        if not kin:
            found.append({**row, "family": family, "network": network})
    return found


def errors(
    vector: np.ndarray, rows: list[dict[str, object]], stride: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """log of predicted over published: Rmax, and N½ where known."""
    update, panel, hidden, network, *shares = vector
    coefficients = Coefficients(update, panel, hidden, network)
    dgemm = {"athlon": ATHLON_DGEMM} | dict(zip(("opteron", "xeon", "p3"), shares, strict=True))
    rate, half = [], []
    for row in rows[::stride]:
        machine = machine_of(
            row["cores"], row["rpeak_gflops"] * 1e9, dgemm[row["family"]], row["network"]
        )
        problem = linpack.best_grid(machine, int(row["nmax"]), 128, coefficients)
        seconds = linpack.time_of(machine, problem, coefficients)
        rate.append(np.log(seconds.rate / (row["rmax_gflops"] * 1e9)))
        if row["nhalf"] and row["nhalf"] > 500:
            found = linpack.half_order_of(machine, problem, coefficients)
            half.append(np.log(found / row["nhalf"]))
    return np.array(rate), np.array(half)


# In the scale of the search: from the middle between the bounds, one logit in each direction.
START = np.zeros(7)
SIMPLEX = np.vstack([START, np.eye(7)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("systems", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = systems(options.systems)
    low = np.array([0.6, 0.02, 0.0, 0.2, 0.6, 0.5, 0.5])
    high = np.array([1.0, 0.8, 1.0, 1.0, 0.95, 0.95, 0.95])

    def objective(z: np.ndarray) -> float:
        rate, half = errors(low + (high - low) / (1 + np.exp(-z)), rows)
        return float(np.abs(rate).mean() + 0.5 * np.abs(half).mean())

    best = minimize(
        objective,
        START,
        method="Nelder-Mead",
        options={"maxfev": 160, "xatol": 0.01, "fatol": 1e-4, "initial_simplex": SIMPLEX},
    )
    vector = low + (high - low) / (1 + np.exp(-best.x))
    rate, half = errors(vector, rows)
    by_rate, by_half = (float(np.median(np.abs(np.expm1(each)))) for each in (rate, half))
    print(f"{len(rows)} systems, median error: Rmax {by_rate:.1%}, N½ {by_half:.1%} of {len(half)}")
    names = ("update", "panel", "hidden", "network", "dgemm_opteron", "dgemm_xeon", "dgemm_p3")
    fitted = {name: round(float(value), 4) for name, value in zip(names, vector, strict=True)}
    # Half widths of 90% intervals of the logarithms, in the sample that was fitted.
    fitted["width_rate"] = round(float(np.quantile(np.abs(rate), 0.9)), 4)
    fitted["width_half"] = round(float(np.quantile(np.abs(half), 0.9)), 4)
    print(json.dumps(fitted))
    if options.write:
        TARGET.write_text(
            json.dumps(
                {
                    "source": "benchmarks/linpack_coefficients.py on TOP500 lists of 2000 to 2005",
                    "systems": len(rows),
                }
                | fitted,
                indent=1,
            )
            + "\n"
        )


if __name__ == "__main__":
    main()
