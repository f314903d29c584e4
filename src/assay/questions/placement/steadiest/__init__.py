"""The placement with the least slow launches among those that are equally fast."""
