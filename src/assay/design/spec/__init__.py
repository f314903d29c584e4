"""Specifications of designs (docs/formats/design.md)."""
