"""The report on a simulation, and measured machines as clusters to simulate."""
