"""How results of a cell differ from run to run, and the walltime to request."""
