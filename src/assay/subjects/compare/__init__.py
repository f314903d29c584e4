"""How runs differ: the cells that they share, their ratios, and a verdict for each."""
