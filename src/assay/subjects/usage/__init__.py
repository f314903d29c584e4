"""How busy a machine was, and what its queue cost, from its scheduler's accounts."""
