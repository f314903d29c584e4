"""Reports: findings become HTML, terminal text, Markdown and JSON."""
