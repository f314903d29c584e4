"""Batch schedulers: a job script each, submitted, asked after and cancelled through PSI/J."""
