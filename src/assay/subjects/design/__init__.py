"""A cluster designed from a specification (`assay design`)."""
