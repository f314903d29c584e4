"""assay measures a cluster and says what it is worth, each number with its uncertainty."""

__version__ = "0.1.0"
