"""Implementation of the commands that measure, from their options to their exit status."""
