"""Preparation of the machine for a campaign: survey of hosts, builds, MPI smoke test."""
