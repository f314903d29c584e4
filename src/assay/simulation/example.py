"""A description of a cluster to begin with; ``assay simulate --example`` prints it."""

EXAMPLE = """\
# A cluster for assay: assay simulate npb.cg.B --on FILE --ranks 64 --rate "300 Mop/s"
schema = 1
title = "120 nodes in a torus"

[topology]                   # a kind that labs also have
kind = "torus"
dimensions = [6, 4, 5]

[network]
latency = "3.7 us"           # half a round trip of a short message between neighbours
bandwidth = "230 MB/s"       # of an adapter, in each direction
hop = "0.1 us"               # additional latency of each further link

[memory]                     # messages within a node
latency = "1 us"
bandwidth = "600 MB/s"

[node]
cores = 2
speed = 1.0                  # relative to where the computing was measured
between_nodes = "1%"         # standard deviation of the nodes' speeds
over_time = "1%"             # of a node's speed, drawn in each interval
interval = "1 s"
"""
