"""Accounts of batch schedulers: the jobs that ran, and how much of a machine was in use."""
