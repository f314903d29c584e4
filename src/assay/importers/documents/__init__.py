"""Importers of tools that write JSON or XML."""
