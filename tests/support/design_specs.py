"""Small catalogues and specifications of designs, with prices that can be added up by hand."""

from __future__ import annotations

from pathlib import Path

from assay.design.spec.model import DesignSpec
from assay.design.spec.reading import spec_of
from assay.toml import parse_toml

PARTS = """
currency = "USD"
kind = "quoted"
source = "a test"
date = "2026-01"

[[node]]
name = "small"
sockets = 1
cores = 4
peak = "100 Gflop/s"
dgemm = "80 Gflop/s"
bandwidth = "40 GB/s"
memory = "16 GiB"
price = 1000
power = "200 W"
units = 1
rates = { integer = "1 Gop/s" }

[[node]]
name = "large"
sockets = 2
cores = 8
peak = "200 Gflop/s"
dgemm = "160 Gflop/s"
bandwidth = "80 GB/s"
memory = "32 GiB"
price = 1900
power = "350 W"
units = 2
networks = ["ethernet"]
rates = { integer = "2 Gop/s" }

[[switch]]
name = "switch of 8"
ports = 8
price = 400
power = "50 W"
units = 1

[[cable]]
name = "copper"
price = 10
per_metre = 0
longest = 5

[[interconnect]]
name = "ethernet"
topology = "fat-tree"
latency = "30 us"
bandwidth = "100 MB/s"
adapter = 50
power = "5 W"
switches = ["switch of 8"]
cable = "copper"

[[interconnect]]
name = "torus"
topology = "torus-2d"
latency = "4 us"
bandwidth = "250 MB/s"
adapter = 300
power = "10 W"
cable = "copper"

[room]
rack = 500
rack_units = 20
rack_floor = 1.5
pdu = 100
pdu_power = "4 kW"
management = 20
assembly = 2
wage = 25
server = 3000
"""

# Accelerators, storage, rented nodes and memory modules, in addition to PARTS.
TENDER_PARTS = """
[[node]]
name = "host"
sockets = 2
cores = 8
peak = "200 Gflop/s"
dgemm = "160 Gflop/s"
bandwidth = "80 GB/s"
memory = "32 GiB"
channels = 4
dimms = 4
slots = 4
price = 3000
power = "300 W"
units = 4
rates = { integer = "2 Gop/s" }

[[accelerator]]
name = "device"
memory = "8 GB"
peak = "1 Tflop/s"
dgemm = "900 Gflop/s"
bandwidth = "500 GB/s"
link = "60 MB/s"
price = 2000
power = "250 W"
rates = { bf16 = "8 Top/s" }

[[memory]]
name = "four modules"
memory = "32 GiB"
dimms = 4
price = 300
power = "10 W"
nodes = ["host"]

[[memory]]
name = "two modules"
memory = "16 GiB"
dimms = 2
price = 150
power = "5 W"
nodes = ["host"]

[[disk]]
name = "slow disk"
capacity = "1 TB"
rate = "200 MB/s"
price = 50
power = "5 W"

[[disk]]
name = "fast disk"
capacity = "2 TB"
rate = "2 GB/s"
price = 200
power = "8 W"

[[storage]]
name = "small store"
capacity = "10 TB"
rate = "300 MB/s"
inodes = 1_000_000
price = 1000
power = "100 W"
units = 2

[[storage]]
name = "wide store"
capacity = "100 TB"
rate = "200 MB/s"
inodes = 500_000
price = 2500
power = "150 W"
units = 4

[[cloud]]
name = "rented"
node = "large"
network = "ethernet"
hour = 0.5
month = 10
most = 30
"""

SPEC = """
catalogues = ["parts.toml"]
[limits]
budget = 40000
nodes = [1, 40]
[workload]
integer = 1
"""

# All parts, and a specification that states everything.
BOTH = PARTS.replace("[room]", TENDER_PARTS + "[room]")
FULL = """
title = "All of it"
date = 2026-11-28
objective = "rate per cost"
catalogues = ["parts.toml"]
[limits]
budget = 90000
total_cost = 200000
power = "50 kW"
nodes = [1, 12]
[require]
capacity = "5 TB"
bandwidth = "100 MB/s"
inodes = 1000
scratch = "1 TB"
scratch_bandwidth = "100 MB/s"
[choose]
nodes = ["large", "host"]
accelerators = ["device"]
spares = "10%"
spare_accelerators = "10%"
[costs]
years = 5
energy = 0.2
pue = 1.4
load = "70%"
idle = "40%"
maintenance = "5%"
staff = 500
discount = "3%"
[later]
after = 1
prices = "-10%"
rates = "+10%"
[[program]]
name = "model"
ranks = 32
node = "large"
computing = "100 s"
messages = 1000
bytes = "1 MB"
[workload]
integer = 1
linpack = 1
"program.model" = 1
"""


def write_files(folder: Path, spec: str = SPEC, parts: str = PARTS) -> Path:
    """The specification and its catalogue, as files."""
    (folder / "parts.toml").write_text(parts, encoding="utf-8")
    path = folder / "cluster.toml"
    path.write_text(spec, encoding="utf-8")
    return path


def read(folder: Path, spec: str = SPEC, parts: str = PARTS) -> DesignSpec:
    """The specification, read."""
    path = write_files(folder, spec, parts)
    return spec_of(parse_toml(spec, path))
