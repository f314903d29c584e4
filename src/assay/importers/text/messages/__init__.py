"""Importers of message benchmarks."""
