"""Following a running program by its own steps: what ``assay watch`` does.

It is next to ``campaign/``: it drives a program, uses ``stats`` and ``system``, and only
``cli/`` imports it.
"""
