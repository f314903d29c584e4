"""Causes of differences between placements: time breakdowns and predictions."""
