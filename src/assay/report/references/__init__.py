"""The papers' figures as terminal output and plain values (``assay references``)."""
