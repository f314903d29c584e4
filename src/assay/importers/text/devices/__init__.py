"""Importers of accelerator benchmarks."""
