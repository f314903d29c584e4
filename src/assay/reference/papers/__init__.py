"""The figures that the papers behind assay print: a TOML file per paper, types, search."""
