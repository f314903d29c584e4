"""The command line: a module per command, no logic."""
