"""How results have gone over months of runs."""
