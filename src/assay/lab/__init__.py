"""Virtual clusters on one machine: hosts and switches are network namespaces.

They allow measurements over several hosts, with adapters of known rates, on a single machine. Token
buckets limit the rates, so the upper bound of each measurement over the network is known.
"""
