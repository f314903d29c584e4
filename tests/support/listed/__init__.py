"""Fits the model of listed systems (assay.models.linpack.listed), for benchmarks and tests."""
