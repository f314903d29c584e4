"""Machines described by measured, quoted or assumed figures, and what they would reach.

benchmarks/ and tests/ predict published machines with them; no command of assay does.
"""
