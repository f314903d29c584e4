"""The steadiest of the equally fast placements."""
