"""The fabric: groups of nodes, slow nodes and pairs, rings, bisections."""
