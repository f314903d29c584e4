"""Reports for papers: tables, figures, methods and references in LaTeX."""
