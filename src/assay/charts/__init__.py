"""What all figures share: the specification, marks, colours, and drawing outside a browser."""
