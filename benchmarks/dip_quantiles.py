"""The quantiles of the dip of uniform values that stats/core/modes.py holds.

.venv/bin/python benchmarks/dip_quantiles.py [--series 20000] [--seed 1985]
"""

from __future__ import annotations

import argparse

import numpy as np

from assay.stats.core.modes import _P, dip

SIZES = (10, 15, 20, 30, 50, 100, 200, 500, 1000)


def quantiles(n: int, series: int, seed: int) -> tuple[float, ...]:
    """The quantiles of sqrt(n) * dip of n uniform values, for these exceedance probabilities."""
    rng = np.random.default_rng([seed, n])
    found = [dip(rng.random(n)) for _ in range(series)]
    return tuple(round(float(q), 4) for q in np.sqrt(n) * np.quantile(found, 1 - np.array(_P)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1985)
    given = parser.parse_args()
    print(f"_SIZES: tuple[int, ...] = {SIZES}")
    print("_QUANTILES: tuple[tuple[float, ...], ...] = (")
    for n in SIZES:
        print(f"    {quantiles(n, given.series, given.seed)},", flush=True)
    print(")")


if __name__ == "__main__":
    main()
