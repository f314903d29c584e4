"""The run directory: stream in, tables out."""
