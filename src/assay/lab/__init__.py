"""A virtual cluster on one machine: hosts are network namespaces, joined by bridges.

What it is for: measuring over several hosts, with adapters of known rates, where there is one
machine only. What its networks may do is set by a token bucket, so what a measurement over them
must not exceed is known beforehand.
"""
