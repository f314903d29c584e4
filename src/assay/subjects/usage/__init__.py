"""How busy a machine was, and how long its queue was, from its scheduler's accounts."""
