"""Importers of tools that print lines."""
