"""Reports on paper: PDF by a browser or by WeasyPrint."""
