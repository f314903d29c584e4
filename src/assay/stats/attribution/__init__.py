"""Causes that a variation correlates with, and the share of it that each explains."""
