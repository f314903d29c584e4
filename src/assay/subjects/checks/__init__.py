"""The checks of a fleet's nodes: which fail, which decline, which are undecided."""
