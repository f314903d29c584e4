"""Samples of a program's call stacks: their model, their files, and the names of their places."""
