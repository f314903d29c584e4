"""A program simulated on a described cluster (`assay simulate`)."""
