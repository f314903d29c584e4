"""Whether a node may take the next job: facts, short measurements, and a decision by its fleet."""
