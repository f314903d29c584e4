"""Importers of documents of accelerator benchmarks."""
