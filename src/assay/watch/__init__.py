"""``assay watch``: follow a running program by its steps.

Its place in the layers is beside ``campaign/``: it drives a program, uses ``stats`` and
``system``, and only ``cli/`` imports it.
"""
