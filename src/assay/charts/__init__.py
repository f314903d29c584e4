"""Common parts of figures: specifications, marks, colours, and drawing outside a browser."""
