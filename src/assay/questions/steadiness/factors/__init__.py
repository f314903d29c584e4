"""Factors that change variation: comparison of their levels."""
