"""assay measures clusters and answers questions about them; each number has its uncertainty."""

__version__ = "0.1.0"
