"""Analysis of a log's jobs: use, spans, parts, nodes and completeness."""
