"""The contracts that ``assay accept --example`` prints.

``EXAMPLE`` has every kind of key. The others are files in ``examples/``, each for one kind of
purchase.
"""

from __future__ import annotations

from pathlib import Path

from assay.errors import AssayError, nearest

# Names of the examples, each a file.
EXAMPLES = ("processor", "throughput", "network", "storage")
_FOLDER = Path(__file__).parent / "examples"

EXAMPLE = """\
schema = 1
title = "Cluster of 400 nodes, lot 1"

[risks]
supplier = "5%"           # that any commitment of a conforming machine is rejected
buyer = "5%"              # that a machine that is worse by the margin is accepted
margin = "2%"             # how much worse a result must be to count as worse
launches = 30             # at most, of each cell

[machine]
hosts = "n[001-400]"      # or nodes = 400

[score]
mean = "geometric"        # weighted, as NERSC's SSI; or "sum"

[penalties]
currency = "EUR"
cap = 200000              # all penalties together

[[commitment]]
name = "Memory bandwidth of each node"
cells = "memory.stream op=triad ppn=64"
metric = "bandwidth"
at_least = "380 GB/s"
per = "node"
share = "98%"             # of the nodes
margin = "3%"
penalty = 10000           # for each per cent of the machine's promised performance that is missing

[[commitment]]
name = "Linpack"
cells = "linpack nodes=400 ppn=64"
metric = "rate"
at_least = "900 Tflop/s"
weight = 2
penalty = 20000
penalty_cap = 100000
bonus = 5000              # for each per cent above the promise
bonus_cap = 25000
variation = "0.5%"        # assumed by --plan where no run is given

[[commitment]]
name = "Latency between nodes"
cells = "network.pingpong bytes=8 nodes=2 ppn=1"
metric = "latency"
at_most = "1.5 us"
"""


def example_contract(name: str = "") -> str:
    """The text of an example; of the general one without a name. Raises AssayError for another
    name."""
    if not name:
        return EXAMPLE
    if name not in EXAMPLES:
        raise AssayError(
            f"There is no example '{name}'.",
            where="--example",
            fix=nearest(name, EXAMPLES) or f"Name one of {', '.join(EXAMPLES)}, or none.",
        )
    return (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")
