"""One check of a node from begin to end."""
