"""How alike its nodes are, and which to look at."""
