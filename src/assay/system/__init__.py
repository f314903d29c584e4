"""The machine under test: its facts, and properties of it that disturb measurements.

Imports nothing: the check of a node needs single readers, and has to start fast.
"""
