"""A specification to begin with; ``assay design --example`` prints it."""

EXAMPLE = """\
# A design for assay: assay design cluster.toml
title = "A cluster for two groups"
currency = "USD"
# Parts: shipped catalogues by name, or your own files (relative to this one). The prices of
# example-2026 are examples, not offers.
catalogues = ["example-2026"]

[limits]
budget = 1_000_000
power = "80 kW"
memory_per_rank = "2 GiB"    # with one rank per core
nodes = [2, 256]             # minimum and maximum

[choose]                     # default: all parts of the catalogues
nodes = ["2 × 64 cores", "1 × 64 cores"]
disks = ["SATA 960 GB"]
spares = "2%"

# [costs]                    # of use, such as these; the answer then has the total cost
# years = 5
# energy = 0.25              # per kWh
# pue = 1.3                  # power of the building ÷ power of the cluster
# load = "80%"               # or accounts = "accounts.json" (assay usage LOG --json)
# maintenance = "5%"         # of the purchase, per year
# staff = 40_000             # per year

[workload]                   # weights of the rates in their geometric mean
linpack = 1
"npb.cg.C" = 2
integer = 1
"""
