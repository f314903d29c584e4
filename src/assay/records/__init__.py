"""The run directory: streams in, tables out."""
