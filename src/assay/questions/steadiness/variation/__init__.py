"""How results of a cell differ from run to run, and what walltime that asks for."""
