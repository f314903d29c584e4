"""Accounts of batch schedulers: jobs that ran, and how much of a machine was in use."""
